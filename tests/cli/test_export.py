import json

import pytest
import toy
from c_programs import answers, build, needs_gcc

from gemsnn.events import open_prepared
from gemsnn.export import read_nir
from gemsnn.training import RunDirectory, train


@pytest.fixture(scope="module")
def run(data_file, tmp_path_factory):
    directory = tmp_path_factory.mktemp("run") / "run"
    with open_prepared(data_file) as data:
        train(toy.config(decoder="per-step"), data, directory)
    return directory


@needs_gcc
def test_a_run_as_c_classifies_as_predict_does(gemsnn, run, data_file, tmp_path):
    code, out, err = gemsnn("export", run, "--to", "c", "--out", tmp_path)
    assert code == 0, err
    assert "wrote" in out
    model = RunDirectory(run).load_model()
    with open_prepared(data_file) as data:
        inputs = [data.test[n] for n in range(len(data.test))]
    found = answers(build(tmp_path), inputs, range(len(inputs)))
    expected = model.predict_anytime(inputs, keys=range(len(inputs)))
    for (labels, _), answer in zip(found, expected, strict=True):
        assert labels == [str(model.classes[c]) for c in answer.classes]


def test_it_says_what_it_costs_on_data(gemsnn, run, data_file, tmp_path):
    words = ("export", run, "--to", "c", "--out", tmp_path, "--data", data_file, "--compartments", 5)
    accuracy = (
        f"{json.loads(gemsnn('evaluate', run, '--data', data_file, '--compartments', 5, '--json')[1])['accuracy']:.2%}"
    )
    for weights in ("float32", "int8"):
        code, out, err = gemsnn(*words, "--weights", weights)
        assert code == 0, err
        line = next(line for line in out.splitlines() if "accuracy" in line)
        assert f"{accuracy[:-1]} % in Python" in line
        assert "as exported" in line
        assert weights == "int8" or line.count(accuracy[:-1]) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--decoder", "louder"), "louder"),
        (("--weights", "int4"), "int4"),
        (("--to", "rust"), "rust"),
        (("--data", "nowhere.h5"), "nowhere.h5"),
    ],
)
def test_mistakes_are_one_message(gemsnn, run, tmp_path, options, said):
    code, _, err = gemsnn("export", run, *(() if "--to" in options else ("--to", "c")), "--out", tmp_path, *options)
    assert code == 2
    assert said in err
    assert "Traceback" not in err


def test_a_run_as_nir_comes_back_and_says_how_it_does_without_noise(gemsnn, data_file, tmp_path):
    kind = {"kind": "exponential", "time_constants": [2.0], "duration": 10}
    with open_prepared(data_file) as data:
        train(toy.config(synaptic_filter=kind, somatic_filter=kind), data, tmp_path / "run")
    out = tmp_path / "model.nir"
    code, printed, err = gemsnn("export", tmp_path / "run", "--to", "nir", "--out", out, "--data", data_file)
    assert code == 0, err
    assert "as exported" in next(line for line in printed.splitlines() if "accuracy" in line)
    model = RunDirectory(tmp_path / "run").load_model()
    assert read_nir(out).parameters == model.parameters
    code, _, err = gemsnn("export", tmp_path / "run", "--to", "nir", "--out", out, "--weights", "int8")
    assert (code, "leave it out" in err) == (2, True)
