"""Compiled kernels on disk are used only if we wrote them, whole, where nobody else can write."""

import os
import pickle
import random
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import gemsnn
from gemsnn.compiling import kernel_files
from gemsnn.compiling.jit import jit


def scaled_sum(values, factor):
    total = 0.0
    for value in values:
        total += factor * value
    return total


def anew():
    """The function as a new process would have it: whether its kernel was found on disk, and what it gives."""
    kernel_files._prepared.cache_clear()
    function = jit()(scaled_sum)
    result = function((1.0, 2.0), 2.0)
    return bool(sum(function.stats.cache_hits.values())), result


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    yield tmp_path / "gemsnn"
    kernel_files._prepared.cache_clear()


@pytest.fixture
def kernel(cache):
    """The one file of the function."""
    assert anew() == (False, 6.0)
    assert anew() == (True, 6.0)
    (path,) = cache.glob("*scaled_sum*.nbc")
    return path


def test_a_flipped_bit_anywhere_in_a_kernel_is_seen_and_it_is_compiled_anew(kernel):
    whole = kernel.read_bytes()
    chosen = random.Random(0)
    places = [0, 31, 32, 33, len(whole) - 1, *(chosen.randrange(len(whole)) for _ in range(10))]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chosen.randrange(8)
        kernel.write_bytes(damaged)
        assert anew() == (False, 6.0), place
        assert anew() == (True, 6.0), "it is not kept again"


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[:40], lambda b: b[:-1], lambda b: b + b"\0"])
def test_a_kernel_that_is_cut_short_or_goes_on_is_compiled_anew(kernel, damage):
    kernel.write_bytes(damage(kernel.read_bytes()))
    assert anew() == (False, 6.0)
    assert anew() == (True, 6.0)


def test_a_kernel_under_the_name_of_another_is_compiled_anew(kernel, cache):
    jit()(scaled_sum)((1, 2), 2)
    (other,) = set(cache.glob("*scaled_sum*.nbc")) - {kernel}
    shutil.copy(other, kernel)
    assert anew() == (False, 6.0)


def test_damage_is_reported_once_and_names_the_file(kernel, capsys, monkeypatch):
    monkeypatch.setattr(kernel_files._Warning, "shown", False)
    for _ in range(2):
        kernel.write_bytes(kernel.read_bytes()[:-1])
        anew()
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert f"{kernel}: is damaged" in printed


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (os.mkdir, (str(self.mark),))


def test_a_planted_pickle_is_never_unpickled(kernel, cache, tmp_path):
    whole = kernel.read_bytes()
    trap = pickle.dumps(Trap(tmp_path / "sprung"))
    for planted in (trap, whole[:32] + trap, bytes(32) + trap, whole + trap):
        kernel.write_bytes(planted)
        assert anew() == (False, 6.0)
    # even signed, as by someone who has read the secret while the folder was open to all
    where = kernel_files.folder()
    kernel.write_bytes(kernel_files._signature(where.secret, b"something else", trap) + trap)
    cache.chmod(0o777)
    assert anew() == (False, 6.0)
    cache.chmod(0o700)
    assert anew() == (False, 6.0)
    assert not (tmp_path / "sprung").exists()
    pickle.loads(trap)
    assert (tmp_path / "sprung").exists(), "the trap does not work"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(kernel, cache, mode):
    cache.chmod(mode)
    assert anew() == (False, 6.0)
    assert anew() == (False, 6.0)
    assert "is writable by others; set NUMBA_CACHE_DIR" in kernel_files.folder().problem
    cache.chmod(0o755)
    assert anew() == (True, 6.0), "others may read"


def test_a_kernel_that_others_can_write_to_is_compiled_anew_and_replaced(kernel):
    kernel.chmod(0o664)
    assert anew() == (False, 6.0)
    assert anew() == (True, 6.0)


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@AS_ROOT
def test_a_folder_of_someone_else_is_not_used(kernel, cache):
    os.chown(cache, 12345, 12345)
    assert anew() == (False, 6.0)
    assert anew() == (False, 6.0)
    assert f"{cache} belongs to someone else" in kernel_files.folder().problem


@AS_ROOT
def test_a_kernel_of_someone_else_is_compiled_anew_and_replaced(kernel):
    os.chown(kernel, 12345, 12345)
    assert anew() == (False, 6.0)
    assert kernel.stat().st_uid == os.geteuid()
    assert anew() == (True, 6.0)


@AS_ROOT
def test_a_secret_of_someone_else_is_replaced_and_what_it_signed_is_compiled_anew(kernel, cache):
    os.chown(cache / "secret", 12345, 12345)
    assert anew() == (False, 6.0)
    assert (cache / "secret").stat().st_uid == os.geteuid()
    assert anew() == (True, 6.0)


def test_the_secret_is_the_users_alone(kernel, cache):
    secret = cache / "secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE(kernel.stat().st_mode) == 0o600
    assert {path.name for path in cache.iterdir()} == {"secret", kernel.name}, "a partial file stays"
    known = secret.read_bytes()
    for spoil in (lambda: secret.chmod(0o644), lambda: secret.write_bytes(known[:7]), secret.unlink):
        spoil()
        assert anew() == (False, 6.0)
        assert anew() == (True, 6.0)
        assert len(secret.read_bytes()) == 32
        assert secret.read_bytes() != known


def test_kernels_not_used_for_the_longest_time_are_removed_beyond_a_size(kernel, cache, monkeypatch):
    old, new, other = cache / "m.old-0.nbc", cache / "m.new-0.nbc", cache / "notes"
    for path, age in ((old, 1000), (new, 10), (other, 5000)):
        path.write_bytes(bytes(1000))
        os.utime(path, (kernel.stat().st_mtime - age,) * 2)
    monkeypatch.setattr(kernel_files, "LARGEST", kernel.stat().st_size + 1500)
    kernel_files._remove_unused.cache_clear()
    jit()(scaled_sum)((1, 2), 2)  # something new is kept
    assert kernel.exists()
    assert new.exists()
    assert not old.exists()
    assert other.exists()


# ---- as processes see it

PROGRAM = """
import sys
import numpy as np
from gemsnn.engine.philox import write_numbers
for dtype in sys.argv[1:] or ("float32", "float64"):  # compiles twice
    found = np.zeros((1, 1, 3), dtype=dtype)
    write_numbers(np.zeros(2, np.uint64), 0, 0, True, found)
    assert np.all((0 < found) & (found < 1))
"""


def run(program=PROGRAM, **environment) -> str:
    """What a new process writes to standard error."""
    inherited = {name: text for name, text in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=inherited | {name: str(text) for name, text in environment.items()},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("variables", "where"),
    [
        ({"HOME": "home"}, "home/.cache/gemsnn"),
        ({"HOME": "home", "XDG_CACHE_HOME": "xdg"}, "xdg/gemsnn"),
        ({"HOME": "home", "XDG_CACHE_HOME": "xdg", "NUMBA_CACHE_DIR": "numba"}, "numba/gemsnn"),
    ],
)
def test_kernels_are_kept_in_the_users_own_cache_folder(tmp_path, variables, where):
    first = run(**{name: tmp_path / folder for name, folder in variables.items()})
    assert first == "gemsnn: compiling the engine for this machine (once; the result is kept on disk)\n"
    assert run(**{name: tmp_path / folder for name, folder in variables.items()}) == ""
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {tmp_path / where}
    assert not list(Path(gemsnn.__file__).parent.rglob("*.nbc"))


def test_importing_and_reading_files_leaves_no_cache_folder(tmp_path):
    run("import gemsnn.cli.app, gemsnn.learning, gemsnn.events.pixels", HOME=tmp_path)
    assert not list(tmp_path.iterdir())


def test_processes_that_compile_at_the_same_time_do_not_get_into_each_others_way(tmp_path):
    """Each looks for kernels on disk before the other has written its own; both make the secret."""
    slow = "import os, time; link, replace = os.link, os.replace\n"
    slow += "def slowly(do): return lambda *files: (time.sleep(1), do(*files))[1]\n"
    slow += "os.link, os.replace = slowly(link), slowly(replace)\n"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    all_of_them = [
        subprocess.Popen([sys.executable, "-c", slow + PROGRAM, *dtype], env=environment, stderr=subprocess.DEVNULL)
        for dtype in (["float32"], ["float64"], ["float64", "float32"])
    ]
    assert [process.wait(300) for process in all_of_them] == [0, 0, 0]
    assert run(NUMBA_CACHE_DIR=tmp_path) == "", "a kernel was lost, or was not what it should be"


def test_where_nothing_can_be_written_everything_works_and_it_is_said_that_compiling_is_repeated(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for place in (tmp_path / "file", "/proc"):
        printed = run(NUMBA_CACHE_DIR=place)
        assert f"at every start: {place}/gemsnn is not writable" in printed
        assert printed.count("\n") == 1


def test_a_folder_that_others_can_write_to_is_named_once_and_left_alone(tmp_path):
    folder = tmp_path / "gemsnn"
    folder.mkdir()
    folder.chmod(0o777)
    printed = run(NUMBA_CACHE_DIR=tmp_path)
    assert f"(at every start: {folder} is writable by others; set NUMBA_CACHE_DIR to a folder of yours)" in printed
    assert printed.count("\n") == 1
    assert not list(folder.iterdir())


def test_a_kernel_is_compiled_anew_when_a_function_of_another_file_that_it_calls_has_changed(tmp_path):
    """As after an upgrade over an older version, whose compiled kernels stay in the folder."""
    copy = tmp_path / "gemsnn"
    shutil.copytree(Path(gemsnn.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "import numpy as np, sys; from gemsnn.engine.event_writing import _filter_finite; change = np.zeros((1, 1));"
        "_filter_finite(np.ones((1, 1)), 0, 1, 1, 0, np.ones((1, 1)), change); print(change[0, 0], file=sys.stderr)"
    )
    environment = {"PYTHONPATH": tmp_path, "NUMBA_CACHE_DIR": tmp_path / "cache"}
    assert run(program, **environment).endswith("1.0\n")
    assert run(program, **environment) == "1.0\n"
    rows = copy / "engine" / "rows.py"
    rows.write_text(rows.read_text().replace("total[c] = 0\n    four = number", "total[c] = 41\n    four = number"))
    assert run(program, **environment).endswith("42.0\n")
