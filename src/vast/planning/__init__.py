"""The tabular half: transitions counted in a table, and prioritized sweeping in it.

Knows nothing of pixels, networks or environments; imports only NumPy and Numba.
"""
