"""The agents: VaST and those it is compared with, behind the same verbs."""
