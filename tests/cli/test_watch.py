"""`gemsnn watch` on real files: a recording, a folder of them, a prepared file."""

import json
import re

import numpy as np
import pytest

from gemsnn.events import mnist_dvs_preprocessing, open_prepared, simulate_prepared, write_prepared
from gemsnn.training import RunDirectory, TrainingConfig, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A calibrated run on zeros and ones, its data, and the recordings as files."""
    folder = tmp_path_factory.mktemp("recordings")
    choices = mnist_dvs_preprocessing(4).model_copy(update={"n_steps": 12})
    simulate_prepared(
        folder / "d.h5", digits=(0, 1), per_class=(3, 4), preprocessing=choices, aedat_folder=folder / "a"
    )
    with open_prepared(folder / "d.h5") as data:
        train(TrainingConfig.make(n_hidden=4, epochs=1, validation_fraction=0.0), data, folder / "run")
    return folder


@pytest.fixture
def run(trained, tmp_path):
    import shutil

    return shutil.copytree(trained / "run", tmp_path / "run")


def embedded(page):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())
    return json.loads(text)


def test_a_prepared_file_is_a_gallery_with_the_least_certain_first(gemsnn, run, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = gemsnn("watch", run, trained / "d.h5", "--most", 5)
    assert (code, err) == (0, "")
    assert out.startswith("watch.html: 5 recordings, 0.")
    scenes = embedded(tmp_path / "watch.html")["scenes"]
    model = RunDirectory(run).load_model()
    with open_prepared(trained / "d.h5") as data:
        sure = model.predict(data.test.read(range(8))).confidence
    order = np.argsort(sure, kind="stable")[:5]
    assert [scene["confidence"] for scene in scenes] == sure[order].tolist()
    assert [int(scene["name"].split(":")[0].split()[1]) for scene in scenes] == order.tolist()
    assert {scene["truth"] for scene in scenes} <= {"0", "1"}
    assert "promise" not in scenes[0]
    assert "3 more confident recordings not shown" in (tmp_path / "watch.html").read_text()


def test_a_calibrated_model_shows_its_sets(gemsnn, run, trained, tmp_path):
    gemsnn("calibrate", run, "--data", trained / "d.h5", "--alpha", 0.5, "--checkpoints", 2)
    assert gemsnn("watch", run, trained / "d.h5", "--out", tmp_path / "sets.html", "--set-size", 1)[0] == 0
    scene = embedded(tmp_path / "sets.html")["scenes"][0]
    assert scene["promise"]["checkpoints"] == [6, 12]
    assert isinstance(scene["stopped"], int)
    code, _, err = gemsnn("watch", run, trained / "d.h5", "--out", tmp_path / "no.html", "--decoder", "vote")
    assert (code, "no sets: the model was calibrated for" in err) == (0, True)
    assert "promise" not in embedded(tmp_path / "no.html")["scenes"][0]


def test_a_recording_and_a_folder_of_recordings(gemsnn, run, trained, tmp_path):
    files = sorted((trained / "a").rglob("*.aedat"))
    assert gemsnn("watch", run, files[0], "--out", tmp_path / "one.html")[0] == 0
    (scene,) = embedded(tmp_path / "one.html")["scenes"]
    assert (scene["name"], scene["on_grid"], scene["step_ms"], scene["steps"]) == (str(files[0]), True, 25.0, 12)
    mine = tmp_path / "mine" / "1"
    mine.mkdir(parents=True)
    (mine / "good.aedat").write_bytes(files[0].read_bytes())
    (mine / "other.aedat").write_bytes(files[1].read_bytes())
    (mine / "cut.aedat").write_bytes(files[2].read_bytes()[:-3])
    (mine / "bad.npy").write_bytes(b"nothing of the kind")
    code, _, err = gemsnn("watch", run, tmp_path / "mine", "--out", tmp_path / "folder.html")
    assert code == 1
    assert "bad.npy" in err
    assert "1 of 4 recordings could not be read" in err
    assert "warning: " in err
    assert "cut.aedat: cut inside a record" in err
    scenes = embedded(tmp_path / "folder.html")["scenes"]
    assert {scene["name"] for scene in scenes} == {str(mine / f"{name}.aedat") for name in ("good", "other", "cut")}
    assert {scene["truth"] for scene in scenes} == {"1"}  # as the folder says


def test_mistakes_are_told(gemsnn, run, trained, tmp_path):
    (tmp_path / "nothing.aedat").write_bytes(b"")
    code, _, err = gemsnn("watch", run, tmp_path / "gone.aedat", "--out", tmp_path / "page.html")
    assert (code, "gone.aedat" in err) == (2, True)
    write_prepared(tmp_path / "other.h5", np.zeros((4, 5, 3)), [0, 1, 0, 1], split=0.5)
    code, _, err = gemsnn("watch", run, tmp_path / "other.h5", "--out", tmp_path / "page.html")
    assert (code, "does not fit the model" in err) == (2, True)
    code, _, err = gemsnn("watch", run, trained / "d.h5", "--out", tmp_path / "no" / "folder" / "page.html")
    assert (code, "cannot be written" in err) == (2, True)
    assert not (tmp_path / "page.html").exists()


def test_live_serves_the_page_while_the_recording_plays_and_ends_with_ctrl_c(run, trained):
    import http.client
    import os
    import signal
    import subprocess
    import sys

    file = min((trained / "a").rglob("*.aedat"))
    code = "import gemsnn.cli; gemsnn.cli.main()"
    command = [sys.executable, "-u", "-c", code, "watch", str(run), str(file), "--live", "--speed", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as served:
        try:
            line = served.stdout.readline()
            port = re.match(r"open http://127\.0\.0\.1:(\d+)/ in a browser; it plays once", line)[1]
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=300)
            connection.request("GET", "/")
            assert 'id="watch"' in connection.getresponse().read().decode()
            connection.request("GET", "/events")
            answer, steps = connection.getresponse(), []
            while (line := answer.readline()) != b"event: end\n":
                if line == b"event: step\n":
                    steps.append(json.loads(answer.readline().decode().removeprefix("data: ")))
            assert served.stdout.readline() == "the stream has ended; Ctrl-C closes the page\n"
            served.send_signal(signal.SIGINT)
            assert served.wait(30) == 0, served.stderr.read()
        finally:
            served.kill()
    assert len(steps) == 12
    model = RunDirectory(run).load_model()
    from gemsnn.events import read_recording

    expected = model.predict([model.bin(read_recording(file))])
    assert model.classes[steps[-1]["answer"]] == expected.label[0]
    assert steps[-1]["probabilities"] == expected.probabilities[0].tolist()


def test_a_stream_of_a_calibrated_model_stops_where_predict_says_it_would(gemsnn, run, trained):
    gemsnn("calibrate", run, "--data", trained / "d.h5", "--alpha", 0.5, "--checkpoints", 2)
    for file in sorted((trained / "a").rglob("*.aedat"))[:4]:
        predicted = json.loads(gemsnn("predict", run, file, "--json")[1])
        code, out, _ = gemsnn("stream", run, file, "--speed", 0, "--json")
        answers = [json.loads(line) for line in out.splitlines()]
        assert code == 0
        assert (answers[-1]["step"], answers[-1]["set"]) == (predicted["stopped_after"], predicted["set"])
    out = gemsnn("stream", run, file, "--speed", 0, "--json", "--set-size", 2)[1]
    assert len(out.splitlines()) == 1  # two classes are few enough from the first step on
