"""Doom mazes: text to geometry to WAD, the engine that runs them, and the tasks' rules.

Reading and drawing a maze needs no engine; only `engine.py` imports vizdoom.
"""
