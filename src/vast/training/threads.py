"""The number of threads of torch and NumPy: with small networks on busy cores one is fastest."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def limited_threads(number: int) -> Iterator[None]:
    """Use this many threads inside a `with` block."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        with threadpool_limits(number, "blas"):
            yield
    finally:
        torch.set_num_threads(before)
