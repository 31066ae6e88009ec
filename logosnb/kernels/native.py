"""What machine code needs and Python has no word for: addresses, atomic counters, calls by address.

In: addresses and numbers. Out: functions that compiled code calls. May not know: kernels' contents.

Every kernel has one signature, so that one compiled loop can run any sequence of them:

    status = kernel(bases, scalars, words, first, last, piece)

bases: the address of each tensor, bases[0] that of the stop flag; scalars: 64 bits each, an Int or the
bits of a Real; words: which of the bases and scalars this step takes, then its literals; first and
last: the part of its outermost loop to run; piece: which part this is, from 0. Status 0; or 1 where
the interpreter must name what stands there; or 2 where a kernel for finite numbers met others.
"""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import float32, float64, int64, njit, types
from numba.core import cgutils

if TYPE_CHECKING:
    from collections.abc import Callable

    intrinsic: Callable[[Any], Any]  # Numba's own type counts the typing context as an argument
else:
    from numba.extending import intrinsic

WORDS = types.CPointer(int64)
SIGNATURE = int64(WORDS, WORDS, WORDS, int64, int64, int64)
I64 = ir.IntType(64)


def _pointer_to(kind: Any) -> Any:
    @intrinsic
    def pointer(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(int64), generate

    return pointer


reals32, reals64, ints = _pointer_to(float32), _pointer_to(float64), _pointer_to(int64)


def _reinterpreted(source: Any, target: Any) -> Any:
    @intrinsic
    def reinterpreted(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(target))

        return target(source), generate

    return reinterpreted


real_of, bits_of = _reinterpreted(int64, float64), _reinterpreted(float64, int64)


@intrinsic
def asked(typing_context: Any, stop: Any) -> Any:
    """The flag at an address, loaded anew each time: another thread may have set it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(arguments[0], I64.as_pointer()), "acquire", 8)

    return int64(int64), generate


@intrinsic
def fetch_add(typing_context: Any, address: Any, value: Any) -> Any:
    """Add to the counter at an address; the value before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], I64.as_pointer())
        return builder.atomic_rmw("add", pointer, arguments[1], "seq_cst")

    return int64(int64, int64), generate


@intrinsic
def call(
    typing_context: Any, address: Any, bases: Any, scalars: Any, words: Any, first: Any, last: Any,
    piece: Any,
) -> Any:  # fmt: skip
    """The kernel at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kernel = ir.FunctionType(I64, [I64.as_pointer()] * 3 + [I64] * 3)
        return builder.call(builder.inttoptr(arguments[0], kernel.as_pointer()), arguments[1:])

    return int64(int64, *SIGNATURE.args), generate


@intrinsic
def pause(typing_context: Any) -> Any:
    """A moment in a loop that waits, where the processor has a word for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if platform.machine() in ("x86_64", "AMD64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            name = "llvm.x86.sse2.pause"
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.none(), generate


@intrinsic
def give_way(typing_context: Any, address: Any) -> Any:
    """Call the operating system's `yield` at an address, if there is one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [])
        with builder.if_then(cgutils.is_not_null(builder, arguments[0])):
            builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [])
        return context.get_dummy_value()

    return types.none(int64), generate


@njit
def set_bases(places: Any, addresses: Any, memory: Any) -> None:
    """The counters of a run at 0, and its bases from the addresses (sequence.py says what is where)."""
    start = memory.ctypes.data
    state, bases = ints(start), ints(start + places[2])
    for k in range(places[0]):
        state[k] = 0
    for base in range((places.shape[0] - 3) // 2):
        root = places[3 + 2 * base]
        bases[base] = (start if root < 0 else addresses[root]) + places[4 + 2 * base]


@cache
def yield_address() -> int:
    """Where the operating system's `yield` lies in this process; 0 where it is not known."""
    try:
        library, name = (
            (ctypes.WinDLL("kernel32"), "SwitchToThread")  # type: ignore[attr-defined]
            if os.name == "nt"
            else (ctypes.CDLL(None), "sched_yield")
        )
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except (OSError, AttributeError):
        return 0


def _gemm(kind: Any) -> Any:
    @intrinsic
    def gemm(
        typing_context: Any, address: Any, turn_a: Any, turn_b: Any, m: Any, n: Any, k: Any,
        alpha: Any, a: Any, wide_a: Any, b: Any, wide_b: Any, beta: Any, c: Any, wide_c: Any,
    ) -> Any:  # fmt: skip
        """BLAS gemm at an address, c ← alpha op(a) op(b) + beta c, in its own order by columns."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            narrow = ir.IntType(32)

            def held(value: Any) -> Any:
                slot = cgutils.alloca_once(builder, value.type)
                builder.store(value, slot)
                return slot

            def letter(flag: Any) -> Any:
                byte = ir.IntType(8)
                turned = builder.icmp_signed("!=", flag, ir.Constant(flag.type, 0))
                chosen = builder.select(
                    turned, ir.Constant(byte, ord("T")), ir.Constant(byte, ord("N"))
                )
                return held(chosen)

            places = {3, 4, 5, 8, 10, 13}
            pointers = [
                letter(value)
                if place in (1, 2)
                else held(builder.trunc(value, narrow))
                if place in places
                else value
                if place in (7, 9, 12)
                else held(value)
                for place, value in enumerate(arguments)
                if place
            ]
            kinds = [pointer.type for pointer in pointers]
            function = ir.FunctionType(ir.VoidType(), kinds).as_pointer()
            builder.call(builder.inttoptr(arguments[0], function), pointers)
            return context.get_dummy_value()

        array = types.CPointer(kind)
        signature = types.none(
            int64, int64, int64, int64, int64, int64, kind, array, int64, array, int64, kind, array,
            int64,
        )  # fmt: skip
        return signature, generate

    return gemm


gemm32, gemm64 = _gemm(float32), _gemm(float64)
