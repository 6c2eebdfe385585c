"""Statistics, figures and reports of runs."""
