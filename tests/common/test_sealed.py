import contextlib
import json
import random

import pytest

from gemsnn.common.sealed import BrokenSealError, seal, unseal

CONTENT = {"a": [1, 2.5, None], "b": {"c": "ü", "d": -1e-300}, "e": True}


def test_what_was_sealed_comes_back():
    assert unseal(seal(CONTENT)) == CONTENT


def test_the_seal_is_a_field_of_an_ordinary_json_file():
    content = json.loads(seal(CONTENT))
    assert len(content.pop("sha256")) == 64
    assert content == CONTENT


def test_no_changed_byte_gives_other_content():
    whole = seal(CONTENT)
    rng = random.Random(0)
    for place in range(len(whole)):
        for _ in range(4):
            changed = bytearray(whole)
            changed[place] = rng.randrange(256)
            with contextlib.suppress(BrokenSealError):
                assert unseal(bytes(changed)) == CONTENT


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b"{}", b'{"a": 1}', b"\xff\xfe", b"[" * 100_000])
def test_anything_else_is_refused(text):
    with pytest.raises(BrokenSealError):
        unseal(text)
