"""Variational State Tabulation: pixels to a table, and planning in that table."""

from vast.envs import register_all

__version__ = "0.1.0"

register_all()
