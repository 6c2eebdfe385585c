"""Runs, interventions and the experiments of the paper."""
