"""LSH: VaST's table and planning, with codes by fixed random projections instead of a model."""

from vast.agents.lsh.config import LSHConfig
from vast.agents.lsh.mind import LSH

__all__ = ["LSH", "LSHConfig"]
