"""How any agent is trained: the loop, episodes, test epochs, checkpoints, metrics.

Written against the small protocol of `protocol.py`: nothing here knows which agent it trains.
"""
