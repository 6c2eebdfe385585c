"""LSH: VaST's table and planning, with codes by fixed random projections instead of a model."""
