import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gemsnn import WriteError
from gemsnn.common.files import remove_partial_files, replacing, write_whole

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
    script = "import sys; from pathlib import Path; from gemsnn.common.files import write_whole\n"
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
    with pytest.raises(WriteError, match=r"folder: cannot be written: it is a directory$"):
        write_whole(path, b"content")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(WriteError, match="No such file or directory"):
        write_whole(Path(tmp_path / "nowhere" / "file"), b"content")


def test_a_device_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WriteError, match=r"pipe: cannot be written: it is a device or a pipe, not a file"):
        write_whole(tmp_path / "pipe", b"content")
    assert (tmp_path / "pipe").is_fifo()


def test_what_a_planted_link_points_to_is_not_touched(tmp_path, monkeypatch):
    """Even with the random part of the name guessed."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    monkeypatch.setattr("secrets.token_hex", lambda n: "00" * n)
    link = tmp_path / f".file.{os.getpid()}.00000000.partial"
    link.symlink_to(victim)
    with pytest.raises(WriteError, match="file: cannot be written: File exists"):
        write_whole(tmp_path / "file", b"content")
    assert victim.read_bytes() == b"precious"
    assert link.is_symlink()


def test_a_stream_that_is_left_by_an_exception_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def interrupted() -> None:
        with replacing(path) as stream:
            stream.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_may_be_read_by_whoever_the_mask_of_the_process_allows(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", b"content")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_only_half_written_files_are_cleared_away(tmp_path):
    theirs = ("model.safetensors", ".hidden", "my.partial", ".mine.partial", ".notes.2024.partial")
    keep = [tmp_path / name for name in theirs]
    ours = tmp_path / f".model.safetensors.{os.getpid()}.00000000.partial"
    for path in (*keep, ours, tmp_path / ".a.12.0a1b2c3d.partial"):
        path.write_bytes(b"")
    keep.append(tmp_path / ".folder.12.0a1b2c3d.partial")
    keep[-1].mkdir()
    remove_partial_files(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(keep)
