"""VaST: the paper's agent."""
