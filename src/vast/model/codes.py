"""Codes of d bits as unsigned 64-bit integers, the keys of the table's states (paper, sec. 2.3).

Bit i of the key is dimension i of the code. The Hamming distance of two keys is therefore that of
their codes, and a key means the same code whatever d is.
"""

import numpy as np
from numpy.typing import NDArray

MAX_BITS = 64


def pack(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return the keys of codes: [..., d] booleans to [...] keys."""
    *shape, d = bits.shape
    _check(d)
    as_bytes = np.zeros((*shape, MAX_BITS // 8), np.uint8)
    packed = np.packbits(bits, axis=-1, bitorder="little")
    as_bytes[..., : packed.shape[-1]] = packed
    return as_bytes.view("<u8")[..., 0].astype(np.uint64)


def unpack(keys: NDArray[np.uint64], d: int) -> NDArray[np.bool_]:
    """Return the codes of keys: [...] keys to [..., d] booleans."""
    _check(d)
    as_bytes = np.ascontiguousarray(keys, "<u8")[..., None].view(np.uint8)
    return np.unpackbits(as_bytes, axis=-1, count=d, bitorder="little").astype(np.bool_)


def _check(d: int) -> None:
    if not 1 <= d <= MAX_BITS:
        raise ValueError(f"the number of bits of a code must be between 1 and {MAX_BITS}, got {d}")
