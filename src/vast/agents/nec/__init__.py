"""NEC: neural episodic control, a memory of values with learned keys (Pritzel et al. 2017)."""

from vast.agents.nec.config import NECConfig
from vast.agents.nec.mind import NEC

__all__ = ["NEC", "NECConfig"]
