"""NEC: neural episodic control, a memory of values with learned keys (Pritzel et al. 2017)."""
