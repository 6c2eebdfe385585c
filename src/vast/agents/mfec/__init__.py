"""MFEC: model-free episodic control, the best return that ever followed (Blundell et al. 2016)."""

from vast.agents.mfec.config import MFECConfig
from vast.agents.mfec.mind import MFEC

__all__ = ["MFEC", "MFECConfig"]
