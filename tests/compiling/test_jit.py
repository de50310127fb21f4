"""Our decorator, beside what Numba does without us."""

import numba

from gemsnn.compiling.jit import jit, seconds_of_compiling


def test_a_function_without_a_module_is_compiled_by_numba_as_if_we_were_not_there():
    made = {}
    exec("def double(x): return 2 * x", {"__name__": None}, made)
    assert numba.njit(made["double"])(21) == 42


def test_a_function_without_a_file_is_compiled_and_not_kept():
    made = {}
    exec("def double(x): return 2 * x", {"__name__": __name__}, made)
    before = seconds_of_compiling()
    for _ in range(2):
        function = jit()(made["double"])
        assert function(21) == 42
        assert not sum(function.stats.cache_hits.values())
    assert seconds_of_compiling() > before
