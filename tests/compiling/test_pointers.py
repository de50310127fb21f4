"""Functions as arguments of a kernel: a new one needs no new kernel, and what it gives is what Python would give."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import types

import gemsnn
from gemsnn.compiling.jit import inlined, kernel
from gemsnn.compiling.pointers import layout_of, pointer, unpacking

SIGNATURE = types.void(types.float64[::1], types.float64[::1])


class Settings(NamedTuple):
    power: int
    shift: float
    negative: bool


@kernel()
def called(function, given, found):
    function(given, found)


def of(settings, formula):
    """As rules are handed to kernels: a formula with settings by name, made a function of arrays."""
    unpack, formula_of = unpacking(layout_of(settings)), inlined(formula)

    def written(given, found):
        by_name = unpack(given)
        for i in range(len(found)):
            found[i] = formula_of(by_name, i)

    return pointer(SIGNATURE, written, formula, type(settings).__name__)


def test_a_kernel_calls_each_function_that_it_is_given_and_is_compiled_once():
    def first(settings, i):
        return settings.shift + i**settings.power

    def second(settings, i):
        return -i if settings.negative else settings.shift

    for settings in (Settings(2, 0.5, True), Settings(3, -1.0, False)):
        for formula in (first, second):
            found = np.zeros(5)
            called(of(settings, formula), np.array(settings, dtype=np.float64), found)
            np.testing.assert_array_equal(found, [formula(settings, i) for i in range(5)])
    assert len(called.signatures) == 1


def test_a_function_that_numba_cannot_compile_is_an_error_that_names_it():
    def reads_a_file(settings, i):
        return open(str(i)).read()

    with pytest.raises(gemsnn.ConfigError, match="reads_a_file cannot be compiled"):
        of(Settings(1, 0.0, False), reads_a_file)
