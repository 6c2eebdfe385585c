"""Statistics and pictures of what runs and tables hold."""
