"""Speed and scaling, one script per subject.

Speeds are rates, and ratios of what takes turns in one run. What several scripts share is in
`report`, `timing`, `stopwatch`, `random_walk` and `worlds`.
"""
