"""The first run on a machine compiles, says so once, and keeps the result."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import gemsnn

PROGRAM = """
import numpy as np
from gemsnn.engine.direct_kernel import filter_spikes
for dtype in (np.float32, np.float64):  # compiles twice
    found = filter_spikes(np.ones((3, 2), dtype=np.uint8), np.ones((1, 2), dtype=dtype), 0)
    assert found.dtype == dtype
"""


def run_with_cache(folder) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stderr


def test_compiling_is_announced_once_and_only_when_it_happens(tmp_path):
    first, second = run_with_cache(tmp_path), run_with_cache(tmp_path)
    assert first.count("gemsnn: compiling the engine") == 1
    assert first.count("\n") == 1
    assert second == ""


ON_A_SLOW_DISK = """
import os, time, sys
import numpy as np
from gemsnn.engine.direct_kernel import filter_spikes
replace = os.replace
def slowly(*files):
    time.sleep(2)
    replace(*files)
os.replace = slowly
filter_spikes(np.ones((3, 2), dtype=np.uint8), np.ones((1, 2), dtype=sys.argv[1]), 0)
"""


def test_processes_that_compile_at_the_same_time_do_not_get_into_each_others_way(tmp_path):
    """Each looks for kernels on disk before the other has written its own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    both = [
        subprocess.Popen([sys.executable, "-c", ON_A_SLOW_DISK, dtype], env=environment, stderr=subprocess.DEVNULL)
        for dtype in ("float32", "float64")
    ]
    assert [process.wait(300) for process in both] == [0, 0]
    assert run_with_cache(tmp_path) == "", "a kernel was lost, or was not what it should be"


def test_a_file_that_is_not_what_its_name_says_is_compiled_anew(tmp_path):
    run_with_cache(tmp_path)
    one, other = tmp_path.glob("*/*filter_spikes*.nbc")
    shutil.copy(one, other)
    assert "compiling" in run_with_cache(tmp_path)
    assert run_with_cache(tmp_path) == "", "the wrong file stays"
    one.write_bytes(one.read_bytes()[:100])
    assert "compiling" in run_with_cache(tmp_path)


NOWHERE_TO_KEEP_IT = """
import numba.core.caching
numba.core.caching.CacheImpl._locator_classes = []  # as on a machine where no folder can be written to
"""


def test_without_a_folder_for_it_everything_works_and_it_is_said_that_compiling_is_repeated():
    program = NOWHERE_TO_KEEP_IT + PROGRAM + "import gemsnn.events.pixels, gemsnn.engine.compiled, gemsnn.learning"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "at every start: no folder for it is writable" in done.stderr


def test_a_kernel_is_compiled_anew_when_a_function_of_another_file_that_it_calls_has_changed(tmp_path):
    """As after an upgrade over an older version, whose compiled kernels stay in the folder."""
    copy = tmp_path / "gemsnn"
    shutil.copytree(Path(gemsnn.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "import numpy as np; from gemsnn.engine.event_writing import _filter_finite; change = np.zeros((1, 1));"
        "_filter_finite(np.ones((1, 1)), 0, 1, 1, 0, np.ones((1, 1)), change); print(change[0, 0])"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run() == "1.0\n"
    rows = copy / "engine" / "rows.py"
    rows.write_text(rows.read_text().replace("total[c] = 0\n    four = number", "total[c] = 41\n    four = number"))
    for kept in copy.glob("engine/__pycache__/*.nbc"):  # one that speaks of types that are gone
        kept.write_bytes(kept.read_bytes().replace(b"numba", b"nunca"))
    assert run() == "42.0\n"


def test_a_function_without_a_module_is_compiled_by_numba_as_if_we_were_not_there():
    import numba

    made = {}
    exec("def double(x): return 2 * x", {"__name__": None}, made)
    assert numba.njit(made["double"])(21) == 42
