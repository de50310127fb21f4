"""Whatever is in a file, a reader returns good events or raises `DataError`: never another exception, never a hang.

`make torture` tries many more mutations of the same kinds.
"""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsnn import DataError
from gemsnn.events import DamageWarning, mnist_dvs_preprocessing, nmnist_preprocessing, read_recording
from gemsnn.events.aedat import encode_aedat, parse_aedat
from gemsnn.events.nmnist import encode_nmnist, parse_nmnist
from gemsnn.events.records import EVENT_DTYPE, Events

Parser = Callable[[bytes, str], Events]
CHUNKS = (
    b"\x00",
    b"\xff" * 8,
    b"#",
    b"\r\n",
    b"\n",
    b"#!AER-DAT2.0\r\n",
    b"#!AER-DAT3.1\r\n",
    b"#!AER-DAT",
    b"# x\r\n",
)


def mutations(data: bytes, n: int, seed: int) -> Iterator[bytes]:
    """Flip bits, overwrite, insert, delete, repeat and cut, up to six times each."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        mutant = bytearray(data)
        for _ in range(int(rng.integers(1, 7))):
            kind, size = int(rng.integers(0, 7)), len(mutant)
            # Half of the changes go to the head of the file, where the header is.
            at = int(rng.integers(0, max(1, size if rng.random() < 0.5 else min(size, 120))))
            length = int(rng.integers(1, 17))
            if kind == 0 and size:
                mutant[min(at, size - 1)] ^= 1 << int(rng.integers(0, 8))
            elif kind == 1:
                mutant[at : at + length] = rng.bytes(length)
            elif kind == 2:
                mutant[at:at] = rng.bytes(length)
            elif kind == 3:
                del mutant[at : at + length]
            elif kind == 4:
                mutant[at:at] = mutant[at : at + 4 * length]
            elif kind == 5:
                mutant[at:at] = CHUNKS[int(rng.integers(0, len(CHUNKS)))]
            elif rng.random() < 0.3:
                del mutant[at:]
        yield bytes(mutant)


def check(parse: Callable[[], Events], side: int) -> bool:
    """Run a reader; whether it gave events. They must then be good ones."""
    complaint = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamageWarning)
            events = parse()
    except DataError as error:
        complaint = str(error)
    if complaint:
        assert "fuzzed" in complaint
        return False
    assert events.dtype == EVENT_DTYPE
    assert len(events)
    assert (np.diff(events["t"]) >= 0).all()
    assert events["t"][0] >= 0
    for field in ("x", "y"):
        assert events[field].min() >= 0
        assert events[field].max() < side
    assert set(np.unique(events["p"])) <= {0, 1}
    return True


def fuzz(parse: Parser, data: bytes, n: int, side: int, seed: int = 0) -> None:
    read = sum(check(lambda mutant=mutant: parse(mutant, "fuzzed"), side) for mutant in mutations(data, n, seed))
    assert 0 < read < n, "the mutations should leave some files readable and some not"


def test_mutated_aedat_recordings(dvs_events: Events) -> None:
    fuzz(parse_aedat, encode_aedat(dvs_events, comments=("a line", "another")), 2_000, 128)


def test_mutated_aedat_1_recordings(dvs_events: Events) -> None:
    records = np.empty(len(dvs_events), dtype=[("address", ">u2"), ("time", ">u4")])
    records["address"] = (dvs_events["y"].astype(int) << 8) | (dvs_events["x"].astype(int) << 1)
    records["time"] = dvs_events["t"]
    fuzz(parse_aedat, records.tobytes(), 1_000, 128)


def test_mutated_nmnist_recordings(nmnist_events: Events) -> None:
    fuzz(parse_nmnist, encode_nmnist(nmnist_events), 2_000, 34)


def test_mutated_real_recordings(real_data: Path) -> None:
    for i, file in enumerate(sorted((real_data / "mnist-dvs").rglob("*.aedat"))[:5]):
        fuzz(parse_aedat, file.read_bytes()[: 216 + 8 * 400], 200, 128, seed=i)
        fuzz(parse_aedat, file.read_bytes(), 20, 128, seed=i)
    for i, file in enumerate(sorted((real_data / "n-mnist").rglob("*.bin"))[:5]):
        fuzz(parse_nmnist, file.read_bytes(), 200, 34, seed=i)


@pytest.mark.parametrize("suffix", [".aedat", ".bin"])
def test_mutated_files_on_disk_through_reader_and_binning(
    tmp_path: Path, suffix: str, dvs_events: Events, nmnist_events: Events
) -> None:
    aedat = suffix == ".aedat"
    data = encode_aedat(dvs_events) if aedat else encode_nmnist(nmnist_events)
    choices = mnist_dvs_preprocessing() if aedat else nmnist_preprocessing()
    file = tmp_path / f"fuzzed{suffix}"
    for mutant in mutations(data, 300, seed=5):
        file.write_bytes(mutant)
        if check(lambda: read_recording(file), 128 if aedat else 34):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DamageWarning)
                assert choices.bin(read_recording(file)).shape == (choices.n_steps, choices.n_inputs)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.binary(max_size=100).map(lambda tail: b"#!AER-DAT2.0\r\n" + tail)))
def test_arbitrary_bytes(data: bytes) -> None:
    check(lambda: parse_aedat(data, "fuzzed"), 128)
    check(lambda: parse_nmnist(data, "fuzzed"), 34)
