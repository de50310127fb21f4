"""Tables with a kind become objects, or an error that names the table, the field and what is allowed."""

from dataclasses import dataclass

import pytest

from gemsnn import ConfigError
from gemsnn.common.kinds import from_table, merged


@dataclass
class Circle:
    radius: float
    colour: str | None = "red"

    def __post_init__(self):
        if self.radius < 0:
            raise ConfigError(f"radius must be at least 0, got {self.radius}")


@dataclass
class Point:
    pass


KINDS = {"circle": Circle, "point": Point}


def test_a_table_makes_an_object_of_its_kind():
    assert from_table("shape", {"kind": "circle", "radius": 2, "colour": "blue"}, KINDS) == Circle(2, "blue")


def test_a_kind_alone_is_a_table_of_defaults():
    assert from_table("shape", "point", KINDS) == Point()


def test_a_table_without_a_kind_is_of_the_default_kind():
    assert from_table("shape", {"radius": 2}, KINDS, "circle") == Circle(2)


def test_the_word_none_stands_for_none():
    assert from_table("shape", {"kind": "circle", "radius": 1, "colour": "none"}, KINDS) == Circle(1, None)


def test_a_table_is_left_as_it_was():
    table = {"kind": "circle", "radius": 1}
    from_table("shape", table, KINDS)
    assert table == {"kind": "circle", "radius": 1}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "square"}, r"shape\.kind = 'square': must be one of 'circle', 'point'"),
        ("square", r"shape\.kind = 'square': must be one of 'circle', 'point'"),
        ({"radius": 1}, r"shape\.kind = None: must be one of"),
        ({"kind": 3}, r"shape\.kind = 3: must be one of"),
        (7, r"shape = 7: must be a table with a kind, one of 'circle', 'point'"),
        ({"kind": "circle", "radios": 1}, r"shape\.radios: there is no such setting; did you mean radius\?"),
        ({"kind": "circle", "x": 1}, r"shape\.x: there is no such setting; the settings are radius, colour"),
        ({"kind": "point", "radius": 1}, r"shape\.radius: there is no such setting; the settings are none"),
        ({"kind": "circle"}, r"shape\.radius is missing: shape\.kind = 'circle' needs it"),
        ({"kind": "circle", "radius": -1}, r"shape\.radius must be at least 0, got -1"),
    ],
)
def test_what_makes_no_object_is_told_with_its_place(table, message):
    with pytest.raises(ConfigError, match=message):
        from_table("shape", table, KINDS)


def test_a_change_keeps_what_it_does_not_name():
    base = {"kind": "circle", "radius": 1, "colour": "blue"}
    assert merged(base, {"radius": 2}) == {"kind": "circle", "radius": 2, "colour": "blue"}
    assert merged(base, {"kind": "circle", "radius": 2}) == {"kind": "circle", "radius": 2, "colour": "blue"}
    assert merged(base, "circle") == base


def test_another_kind_starts_from_its_own_defaults():
    assert merged({"kind": "circle", "radius": 1}, {"kind": "point"}) == {"kind": "point"}
    assert merged({"kind": "circle", "radius": 1}, "point") == {"kind": "point"}


def test_a_name_can_be_followed_by_what_changes():
    assert merged("circle", {"radius": 3}) == {"kind": "circle", "radius": 3}


def test_an_object_takes_the_place_of_a_table():
    assert merged({"kind": "circle", "radius": 1}, Point()) == Point()
    assert merged(Circle(1), {"kind": "point"}) == {"kind": "point"}
