"""Grids: the runs of an experiment, done in separate processes, on a cluster or by Slurm."""
