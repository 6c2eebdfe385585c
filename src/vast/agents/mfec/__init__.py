"""MFEC: model-free episodic control, the best return that ever followed (Blundell et al. 2016)."""
