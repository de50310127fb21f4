import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gemsnn import CheckpointError
from gemsnn.training.files import remove_partial_files, write_whole

CONTENTS = (b"a" * 3_000_000, b"b" * 1_000_000)


def test_a_reader_never_meets_a_file_that_is_written_in_part(tmp_path):
    path = tmp_path / "file"
    write_whole(path, CONTENTS[0])
    done = threading.Event()

    def write() -> None:
        for i in range(40):
            write_whole(path, CONTENTS[i % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        content = path.read_bytes()
        assert content in CONTENTS
        seen.add(len(content))
    writer.join()
    assert list(tmp_path.iterdir()) == [path]


def test_content_is_on_the_disk_before_the_name_points_to_it(tmp_path):
    """The order of the system calls: write, fsync the file, rename, fsync the directory."""
    script = "import sys; from pathlib import Path; from gemsnn.training.files import write_whole\n"
    script += "write_whole(Path(sys.argv[1]), b'content')"
    calls = tmp_path / "calls"
    tracer = ["strace", "-f", "-o", str(calls), "-e", "trace=write,fsync,rename,renameat,renameat2"]
    try:
        subprocess.run([*tracer, sys.executable, "-c", script, str(tmp_path / "file")], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("strace is not installed")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"strace cannot trace here: {error.stderr.decode()[-200:]}")
    lines = calls.read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if '"content"' in line)
    names = [line.split("(")[0].split()[-1] for line in lines[begin:] if "resumed" not in line]
    assert names[:4] in (["write", "fsync", rename, "fsync"] for rename in ("rename", "renameat", "renameat2"))


def test_what_cannot_be_written_leaves_the_old_content_and_nothing_else(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()  # a directory of that name cannot be replaced by a file
    with pytest.raises(CheckpointError, match=r"folder: cannot be written: .*; mend that, then continue with --resume"):
        write_whole(path, b"content")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(CheckpointError, match="No such file or directory"):
        write_whole(Path(tmp_path / "nowhere" / "file"), b"content")


def test_only_half_written_files_are_cleared_away(tmp_path):
    keep = [tmp_path / "model.safetensors", tmp_path / ".hidden", tmp_path / "my.partial"]
    for path in (*keep, tmp_path / f".model.safetensors.{os.getpid()}.partial"):
        path.write_bytes(b"")
    remove_partial_files(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(keep)
