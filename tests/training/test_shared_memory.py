"""Two processes see the same arrays, and no file is left."""

import os
import subprocess
import sys

import numpy as np
import pytest

from vast.training.shared_memory import SharedMemory, arrays_in, size_of

LAYOUT = {
    "one": ((3, 5), np.float32),
    "nothing": ((0,), np.uint8),
    "number": ((), np.int64),
    "flags": ((7,), np.bool_),
}
OTHER = """
import sys
import numpy as np
from tests.training.test_shared_memory import LAYOUT
from vast.training.shared_memory import arrays_in, attach
arrays = arrays_in(attach(sys.argv[1], int(sys.argv[2])), LAYOUT)
arrays["number"][...] += 1
arrays["one"][...] *= 2
arrays["flags"][-1] = True
"""


@pytest.mark.parametrize("named", [False, True])
def test_what_one_process_writes_the_other_reads(
    named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if named:  # as on systems that cannot make memory without a file
        monkeypatch.delattr(os, "memfd_create")
    shared = SharedMemory(size_of(LAYOUT))
    arrays = arrays_in(shared.memory, LAYOUT)
    arrays["one"][...] = np.arange(15).reshape(3, 5)
    arrays["number"][...] = 41
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", OTHER, shared.handle, str(size_of(LAYOUT))]
    with shared.popen(words, stderr=subprocess.PIPE, env=environment) as process:
        _, said = process.communicate()
    assert process.returncode == 0, said
    assert arrays["number"] == 42
    np.testing.assert_array_equal(arrays["one"], 2 * np.arange(15).reshape(3, 5))
    assert arrays["flags"].tolist() == [False] * 6 + [True]
    assert not [name for name in os.listdir("/dev/shm") if "vast" in name]


def test_arrays_begin_on_cache_lines_and_do_not_overlap() -> None:
    shared = SharedMemory(size_of(LAYOUT))
    arrays = arrays_in(shared.memory, LAYOUT)
    for array in arrays.values():
        array[...] = True
    assert all(array.ctypes.data % 64 == 0 for array in arrays.values() if array.size)
    assert arrays["one"].sum() == 15
    assert arrays["number"] == 1
    assert bytes(shared.memory).count(1) == 8  # seven flags and one number
