"""The experiments of the paper: what is run, and what is done to the world while it runs."""
