import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from gemsnn import CheckpointError
from gemsnn.training.tensors import DamagedFileError, read_tensors, write_tensors

ARRAYS = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4),
    "sums": np.array([1 / 3, -0.0, 1e-300]),
    "mask": np.array([[True, False]]),
    "none": np.zeros((0, 3), dtype=np.float32),
}
HEADER = {"position": 7, "text": "\u00fc", "number": 0.1, "nested": {"list": [1, None, True]}}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file.safetensors"
    write_tensors(path, "gemsnn test", 3, HEADER, ARRAYS)
    return path


def test_what_was_written_is_read_to_the_bit(file):
    header, arrays = read_tensors(file, "gemsnn test", 3)
    assert {name: header[name] for name in HEADER} == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def test_equal_content_gives_equal_bytes(file, tmp_path):
    for i in range(5):
        other = tmp_path / f"{i}.safetensors"
        write_tensors(other, "gemsnn test", 3, HEADER, dict(reversed(ARRAYS.items())))
        assert other.read_bytes() == file.read_bytes()


def test_other_programs_can_read_the_arrays(file):
    from safetensors.numpy import load_file

    assert np.array_equal(load_file(file)["weights"], ARRAYS["weights"])


def test_a_file_cut_short_anywhere_is_damaged(file):
    whole = file.read_bytes()
    for length in range(0, len(whole), 7):
        file.write_bytes(whole[:length])
        with pytest.raises(DamagedFileError, match=r"file\.safetensors: damaged"):
            read_tensors(file, "gemsnn test", 3)


def test_no_flipped_bit_goes_unnoticed(file):
    """Two bits make no difference: they turn the JSON escape of a letter into capitals, which means the same.

    Five does not divide eight, so every fifth bit falls on every place of a byte.
    """
    whole, unnoticed = file.read_bytes(), []
    for bit in range(0, 8 * len(whole), 5):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        try:
            header, arrays = read_tensors(file, "gemsnn test", 3)
        except DamagedFileError:
            continue
        unnoticed.append(bit)
        assert {name: header[name] for name in HEADER} == HEADER
        assert all(arrays[name].tobytes() == array.tobytes() for name, array in ARRAYS.items())
    assert len(unnoticed) <= 2


def test_a_file_from_the_future_is_refused_by_name_and_is_not_called_damaged(file):
    with pytest.raises(CheckpointError, match=r"file\.safetensors: gemsnn test version 3 is from the future") as error:
        read_tensors(file, "gemsnn test", 2)
    assert not isinstance(error.value, DamagedFileError)


def test_a_file_from_an_earlier_version_is_read(file):
    assert read_tensors(file, "gemsnn test", 4)[0]["version"] == 3


def test_a_file_of_another_kind_is_refused(file, tmp_path):
    with pytest.raises(DamagedFileError, match="holds a 'gemsnn test, version 3'"):
        read_tensors(file, "gemsnn model", 3)
    from safetensors.numpy import save_file

    save_file({"weights": ARRAYS["weights"]}, file)
    with pytest.raises(DamagedFileError, match="not one of ours"):
        read_tensors(file, "gemsnn test", 3)


def test_a_missing_file_is_told():
    with pytest.raises(CheckpointError, match=r"nowhere\.safetensors: there is no such file"):
        read_tensors(Path("nowhere.safetensors"), "gemsnn test", 3)


class Trap:
    """Does harm when unpickled."""

    def __reduce__(self):
        return pytest.fail, ("a file was unpickled",)


def test_nothing_is_unpickled(file):
    file.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(DamagedFileError):
        read_tensors(file, "gemsnn test", 3)
    np.save(file.with_suffix(".npy"), np.array([Trap()], dtype=object), allow_pickle=True)
    file.write_bytes(file.with_suffix(".npy").read_bytes())
    with pytest.raises(DamagedFileError):
        read_tensors(file, "gemsnn test", 3)


def test_a_header_that_json_cannot_hold_is_never_written(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write_tensors(tmp_path / "x.safetensors", "gemsnn test", 1, {"number": float("nan")}, ARRAYS)
    assert not list(tmp_path.iterdir())
    json.dumps(HEADER, allow_nan=False)
