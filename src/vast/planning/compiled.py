"""How the inner loops are compiled: Numba options, a few machine instructions, one notice.

Numba compiles a kernel on its first call and caches the result on disk. It recompiles when the
kernel's own file has changed, but not when a file that the kernel calls into has changed. The cache
folder is therefore named after a hash of all the files with compiled functions.
"""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils, event
from numba.extending import intrinsic

from vast.kernel_cache import FOLDER, cached_njit, notice

F = TypeVar("F", bound=Callable[..., Any])

Int: TypeAlias = Any
Float: TypeAlias = Any
"""numbers in compiled code; Numba infers their widths"""

SOURCES = (
    *("compiled.py", "memory.py", "queues.py", "index.py", "edges.py"),
    *("kernels.py", "hamming.py", "nearby.py", "gate.py", "table_state.py"),
    *("logged_sweep.py", "playback.py"),
)
"""the files whose functions are compiled"""


def _cache_folder() -> Path:
    here = Path(__file__).parent
    digest = hashlib.sha256(b"".join((here / name).read_bytes() for name in SOURCES)).hexdigest()
    return FOLDER / f"kernels-{digest[:16]}"


def _options() -> dict[str, Any]:
    njit: Any = numba.njit
    documented = {"error_model": "numpy"}
    # Kernels own no arrays and need no reference counting; they run faster without it. The option
    # is private: with a Numba release that does not know it, only speed is lost.
    private = {"_nrt": False}
    try:
        njit(**private)(lambda: None)
    except Exception:
        return documented
    return documented | private


CACHE_FOLDER = _cache_folder()
OPTIONS = _options()


def compiled(**options: Any) -> Callable[[F], F]:
    """Return a decorator that makes Numba compile a function on its first call."""

    def decorate(function: F) -> F:
        return cached_njit(function, CACHE_FOLDER, **OPTIONS, **options)

    return decorate


part = compiled(forceinline=True)
"""a part of a kernel, inlined into every kernel that calls it"""
kernel = rare = compiled()
"""a compiled function called from Python, or called too rarely by kernels to be inlined"""
background_kernel = compiled(nogil=True)
"""a kernel that releases the interpreter lock while it runs"""


class _Notice(event.Listener):
    """Explains once why the very first call takes so long."""

    def __init__(self) -> None:
        self.given = False

    def on_start(self, event: Any) -> None:
        ours = event.data["dispatcher"].py_func.__module__.startswith(__package__)
        if ours and not self.given and not notice.given:
            self.given = True
            print(
                "vast: compiling the planning kernels, once after an install: about 30 s in all",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Notice())


# --- machine instructions that Numba does not expose ----------------------------------------------


def instruction(build: Callable[..., Any]) -> Any:
    """Turn a function that builds LLVM instructions into one that kernels can call."""
    return intrinsic(build)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Return the address of row `index` of an array."""
    fields = context.make_array(array_type)(context, builder, array)
    stride = cgutils.unpack_tuple(builder, fields.strides, array_type.ndim)[0]
    base = builder.ptrtoint(fields.data, ir.IntType(64))
    return builder.add(base, builder.mul(index, stride))


@instruction
def popcount(typing_context: Any, word: Any) -> Any:
    """Return the number of ones in an unsigned 64-bit word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@instruction
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line at row `index` of an array, which a backup is about to change."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte_pointer = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        address = _address(context, builder, signature.args[0], *args)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word]),
            "llvm.prefetch.p0",
        )
        to_write, keep_in_all_caches, data = word(1), word(3), word(1)
        builder.call(
            function,
            [builder.inttoptr(address, byte_pointer), to_write, keep_in_all_caches, data],
        )
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _word_pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    address = _address(context, builder, signature.args[0], args[0], args[1])
    return builder.inttoptr(address, ir.IntType(64).as_pointer())


@instruction
def atomic_load(typing_context: Any, words: Any, index: Any) -> Any:
    """Read words[index] (int64) as another thread last wrote it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _word_pointer(context, builder, signature, args)
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(words, types.intp), generate


@instruction
def atomic_add(typing_context: Any, words: Any, index: Any, amount: Any) -> Any:
    """Add to words[index] (int64) and return its previous value."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _word_pointer(context, builder, signature, args)
        return builder.atomic_rmw("add", pointer, args[2], "seq_cst")

    return types.int64(words, types.intp, types.int64), generate


@instruction
def atomic_replace(typing_context: Any, words: Any, index: Any, old: Any, new: Any) -> Any:
    """Put `new` into words[index] (int64) if it holds `old`; return whether it did."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _word_pointer(context, builder, signature, args)
        outcome = builder.cmpxchg(pointer, args[2], args[3], "seq_cst")
        return builder.extract_value(outcome, 1)

    return types.boolean(words, types.intp, types.int64, types.int64), generate


@instruction
def atomic_swap(typing_context: Any, words: Any, index: Any, value: Any) -> Any:
    """Put `value` into words[index] (int64) and return its previous value."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _word_pointer(context, builder, signature, args)
        return builder.atomic_rmw("xchg", pointer, args[2], "seq_cst")

    return types.int64(words, types.intp, types.int64), generate
