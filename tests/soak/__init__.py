"""Runs that are disturbed at random for half an hour: `make soak`.

    python -m tests.soak --minutes 30 --out runs/soak

`disasters.py`: what may happen to a run. `disk.py`: a disk that can be filled. `victims.py`: runs
in processes of their own, forked from one that has loaded everything (`warm.py`).
"""
