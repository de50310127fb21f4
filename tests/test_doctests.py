"""The examples in the docstrings work as they are printed."""

import doctest
import importlib
import pkgutil

import pytest

import gemsnn


def modules_with_examples():
    names = ["gemsnn", *(module.name for module in pkgutil.walk_packages(gemsnn.__path__, "gemsnn."))]
    for name in names:
        if name.endswith("__main__"):
            continue
        module = importlib.import_module(name)
        if any(test.examples for test in doctest.DocTestFinder(exclude_empty=True).find(module)):
            yield name


@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_the_examples_of_a_module_give_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example may write a file
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.attempted > 0
    assert results.failed == 0, "see the printed differences"


def test_the_examples_are_found():
    found = set(modules_with_examples())
    assert {"gemsnn.learning.learn", "gemsnn.model.filters.filter", "gemsnn.metrics.calibration"} <= found
