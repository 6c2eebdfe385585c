"""Doom mazes: text to geometry to WAD, the engine that runs them, and the rules of the tasks.

Reading and drawing a maze needs no engine: only `engine.py` imports vizdoom.
"""
