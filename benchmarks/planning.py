"""Speed of the planning core."""
