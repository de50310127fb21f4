"""Processor instructions that NumPy does not offer. Each has a Python body, for ``NUMBA_DISABLE_JIT=1``."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic


def instruction(in_python: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorates the definition of an intrinsic; ``in_python`` is called where Numba does not compile."""

    def decorate(define: Callable[..., Any]) -> Any:
        return in_python if config.DISABLE_JIT else intrinsic(define)  # type: ignore[attr-defined]

    return decorate


@instruction(lambda word: np.uint64(int(word).bit_count()))
def count_ones(typing_context: Any, word: Any) -> Any:
    """The number of bits of a word (uint64) that are 1."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@instruction(lambda word: np.uint64((int(word) & -int(word)).bit_length() - 1))
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """The number of bits below the lowest 1 of a word (uint64), which is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@instruction(lambda a, b: np.uint64(int(a) * int(b) >> 64))
def high_half(typing_context: Any, a: Any, b: Any) -> Any:
    """The high 64 bits of a product of two words (uint64)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@instruction(lambda exponent: struct.unpack("d", struct.pack("q", (int(exponent) + 1023) << 52))[0])
def power_of_two(typing_context: Any, exponent: Any) -> Any:
    """2 ** exponent as a float64, for a whole exponent from -1022 to 1023."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        biased = builder.add(arguments[0], ir.Constant(ir.IntType(64), 1023))
        return builder.bitcast(builder.shl(biased, ir.Constant(ir.IntType(64), 52)), ir.DoubleType())

    return types.float64(types.int64), generate


@instruction(lambda value: np.float32(value).view(np.int32))
def bits_of(typing_context: Any, value: Any) -> Any:
    """The bits of a float32, as an int32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@instruction(lambda bits: np.int32(bits).view(np.float32))
def float_of(typing_context: Any, bits: Any) -> Any:
    """The float32 that has these bits (int32)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate
