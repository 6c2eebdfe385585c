"""The interactive explorer: a page in the browser on the table of a saved run.

May import everything below it; only the command imports it. `server.py` is the door, on loopback
only; each page that is open has a `Conversation`, with a what-if of its own. `page/` is plain
JavaScript without a build step.
"""
