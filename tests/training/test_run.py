import contextlib
import json
import shutil

import pytest
import toy

from gemsnn import CheckpointError, ConfigError, WriteError
from gemsnn.events import open_prepared
from gemsnn.training import CheckpointWarning, RunDirectory, load_model, read_config, train


def stopped_at(position, config, data, directory, **options):
    """Train until so many examples are learned."""
    trainers = []

    def watch(run, trainer):
        trainers.append(trainer)
        return ()

    outcome = train(
        config,
        data,
        directory,
        resume=True,
        observers=watch,
        stop=lambda: bool(trainers) and trainers[0].position >= position,
        **options,
    )
    assert outcome.status == "interrupted"


def test_a_finished_run_leaves_all_that_it_promises(finished_run, data_file):
    run = RunDirectory(finished_run)
    assert run.finished
    config, where = read_config(run.config)
    assert config == toy.config()
    assert where == data_file
    summary, records = run.read_summary(), run.read_metrics()
    assert summary["status"] == "finished"
    assert summary["final"] == records[-1]
    assert summary["best"] in records
    assert summary["best_on_test"] in records
    # Two compartments; the three read-out neurons are one circuit, which reports one loss.
    assert summary["communication"] == {"to_processor": 2 * 1, "to_neurons": 2 * 9, "sent_back": 2 * 6 * 3}
    for name in ("best", "best_on_test", "final"):
        assert load_model(run.model_path(name)).about["evaluation"] == summary[name]
    assert run.load_model().about["evaluation"] == summary["best"]


def test_times_are_kept_apart_from_results(finished_run):
    timing = [json.loads(line) for line in (finished_run / "timing.jsonl").read_text().splitlines()]
    records = RunDirectory(finished_run).read_metrics()
    assert [line["position"] for line in timing] == [record["position"] for record in records]
    assert sum(line["examples"] for line in timing) == records[-1]["position"]
    assert all(line["learning_seconds"] > 0 and line["evaluation_seconds"] > 0 for line in timing)


def test_the_models_are_those_of_their_evaluation(finished_run, data):
    """Train once more and compare the weights at the position that the file names."""
    from gemsnn.training import trainer_of

    for name in ("best", "best_on_test", "final"):
        model = RunDirectory(finished_run).load_model(name)
        trainer = trainer_of(toy.config(), data)
        trainer.run(stop=lambda trainer=trainer, model=model: trainer.position >= model.about["position"])
        assert trainer.parameters() == model.parameters


@pytest.mark.parametrize("positions", [(1,), (7, 10, 11), (20,), (57,)])
def test_an_interrupted_run_ends_in_the_same_bits(finished_run, data, tmp_path, positions):
    run = tmp_path / "run"
    for position in positions:
        stopped_at(position, toy.config(), data, run)
        assert not RunDirectory(run).finished
    assert train(toy.config(), data, run, resume=True).status == "finished"
    assert toy.results(run) == toy.results(finished_run)
    assert read_config(run / "config.toml") == read_config(finished_run / "config.toml")


def test_an_evaluation_that_was_written_down_is_not_made_again(data, tmp_path):
    class Fall:
        """Ends the run in the middle, as soon as an evaluation is written down."""

        def learned(self, trainer, event, /):
            pass

        def evaluated(self, trainer, event, /):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(toy.config(), data, tmp_path / "run", observers=[Fall()])
    progress = RunDirectory(tmp_path / "run").checkpoints.read_newest().state.progress
    assert progress.evaluated == progress.position == 10


def test_resuming_a_finished_run_changes_nothing(finished_run, data, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished_run, run)
    assert train(toy.config(), data, run, resume=True).status == "finished"
    assert toy.results(run) == toy.results(finished_run)


def test_settings_of_the_machine_may_change_on_the_way(finished_run, data, tmp_path):
    run = tmp_path / "run"
    stopped_at(13, toy.config(), data, run)
    train(toy.config(threads=2, checkpoint_seconds=0), data, run, resume=True)
    assert toy.results(run) == toy.results(finished_run)


def test_a_run_that_stops_early_says_so_and_stays_stopped(data, tmp_path):
    config = toy.config(rule={"learning_rate": 0}, patience=2, epochs=50)
    assert train(config, data, tmp_path / "run").status == "stopped early"
    assert RunDirectory(tmp_path / "run").read_summary()["status"] == "stopped early"
    assert train(config, data, tmp_path / "run", resume=True).status == "stopped early"
    assert len(RunDirectory(tmp_path / "run").read_metrics()) == 3


@pytest.mark.parametrize("how", ["cut", "flipped"])
def test_with_the_newest_checkpoint_damaged_the_run_goes_on_from_the_one_before(finished_run, data, tmp_path, how):
    run = tmp_path / "run"
    stopped_at(25, toy.config(checkpoint_seconds=0), data, run)
    newest = RunDirectory(run).checkpoints.paths()[0]
    content = bytearray(newest.read_bytes())
    if how == "cut":
        del content[-10:]
    else:
        content[-10] ^= 1
    newest.write_bytes(content)
    with pytest.warns(CheckpointWarning, match="damaged.*the one before"):
        train(toy.config(), data, run, resume=True)
    assert toy.results(run) == toy.results(finished_run)


def test_with_every_checkpoint_damaged_nothing_is_overwritten(data, tmp_path):
    run = tmp_path / "run"
    stopped_at(25, toy.config(checkpoint_seconds=0), data, run)
    for path in RunDirectory(run).checkpoints.paths():
        path.write_bytes(path.read_bytes()[:100])
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(CheckpointError, match="every checkpoint is damaged"):
        train(toy.config(), data, run, resume=True)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_checkpoints_that_are_gone_are_told(data, tmp_path):
    run = tmp_path / "run"
    stopped_at(5, toy.config(), data, run)
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(CheckpointError, match="no checkpoints here"):
        train(toy.config(), data, run, resume=True)


def test_a_changed_configuration_is_refused_with_what_differs(data, tmp_path):
    run = tmp_path / "run"
    stopped_at(5, toy.config(), data, run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(
        ConfigError, match=r"n_hidden was 6 and is now 7; rule\.learning_rate was 0\.01 and is now 0\.5"
    ):
        train(toy.config(n_hidden=7, rule={"learning_rate": 0.5}), data, run, resume=True)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_other_data_is_refused(data, tmp_path):
    run = tmp_path / "run"
    stopped_at(5, toy.config(), data, run)
    with (
        open_prepared(toy.prepared(tmp_path / "other.h5", seed=1)) as other,
        pytest.raises(ConfigError, match=rf"the data had fingerprint {data.fingerprint[:12]}"),
    ):
        train(toy.config(), other, run, resume=True)


def test_a_directory_with_a_run_is_not_overwritten(finished_run, data):
    with pytest.raises(CheckpointError, match="holds a run already; continue it with --resume"):
        train(toy.config(), data, finished_run)


def test_resuming_where_nothing_is_begins(finished_run, data, tmp_path):
    train(toy.config(), data, tmp_path / "run", resume=True)
    assert toy.results(tmp_path / "run") == toy.results(finished_run)


def test_what_was_evaluated_after_the_checkpoint_is_evaluated_again(finished_run, data, tmp_path):
    """As after a kill between the line in metrics.jsonl and the checkpoint, or in the middle of the line."""
    run = tmp_path / "run"
    stopped_at(13, toy.config(), data, run)
    for leftover in (b'{"position": 20}\n', b'{"posit'):
        with (run / "metrics.jsonl").open("ab") as file:
            file.write(leftover)
    train(toy.config(), data, run, resume=True)
    assert toy.results(run) == toy.results(finished_run)


@pytest.mark.parametrize("change", [lambda text: text.replace(b'"position"', b'"Position"', 1), lambda text: b""])
def test_metrics_that_were_changed_since_are_not_built_upon(data, tmp_path, change):
    run = tmp_path / "run"
    stopped_at(13, toy.config(), data, run)
    metrics = run / "metrics.jsonl"
    metrics.write_bytes(change(metrics.read_bytes()))
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: was changed since"):
        train(toy.config(), data, run, resume=True)


def test_a_line_still_being_written_is_not_read(finished_run, tmp_path):
    shutil.copytree(finished_run, tmp_path / "run")
    run = RunDirectory(tmp_path / "run")
    whole = run.read_metrics()
    run.summary.unlink()  # as while it runs
    with run.metrics.open("ab") as file:
        file.write(b'{"position": 12')
    assert run.read_metrics() == whole


def test_impossible_settings_leave_no_trace(data, tmp_path):
    with pytest.raises(ConfigError):
        train(toy.config(validation_fraction=0.001, validation_limit=1).changed(n_hidden=-1), data, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_place_that_cannot_be_written_is_told(data, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="cannot be written"):
        train(toy.config(), data, tmp_path / "file" / "run")


def test_models_of_a_run_that_has_none_yet_are_told(data, tmp_path):
    with pytest.raises(CheckpointError, match="no training run here"):
        RunDirectory(tmp_path).load_model()
    stopped_at(5, toy.config(), data, tmp_path / "run")
    with pytest.raises(CheckpointError, match="has it reached its first evaluation"):
        RunDirectory(tmp_path / "run").load_model()
    with pytest.raises(CheckpointError, match="not finished"):
        RunDirectory(tmp_path / "run").read_summary()


def test_without_validation_the_model_is_the_final_one(data, tmp_path):
    train(toy.config(validation_fraction=0), data, tmp_path / "run")
    run = RunDirectory(tmp_path / "run")
    assert not run.model_path("best").exists()
    assert run.load_model().about["position"] == run.read_summary()["position"]
    assert run.read_summary()["best"] is None


def test_a_finished_runs_metrics_are_believed_only_as_they_were_written(finished_run, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished_run, copy)
    run = RunDirectory(copy)
    lines = run.metrics.read_bytes().splitlines(keepends=True)
    changed = lines[-1].replace(b"accuracy", b"accuracx", 1)
    for content in (b"".join(lines[:-1]), b"".join([*lines[:-1], changed]), b"".join([*lines, lines[-1]]), b""):
        run.metrics.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"metrics\.jsonl: cannot be believed: it was changed"):
            run.read_metrics()
    run.metrics.unlink()
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: cannot be believed"):
        run.read_metrics()


def test_a_changed_summary_is_not_believed(finished_run, tmp_path):
    run = RunDirectory(tmp_path / "copy")
    shutil.copytree(finished_run, run.path)
    whole = run.summary.read_bytes()
    expected = run.read_summary()
    for place in range(0, len(whole), 7):
        run.summary.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with contextlib.suppress(CheckpointError):
            assert run.read_summary() == expected
    # Nor can it be passed off as one of an older gemsnn, which had no checksum.
    older = json.dumps({**json.loads(whole), "version": 1, "position": 7})
    run.summary.write_text(older)
    with pytest.raises(CheckpointError, match="it was changed since it was written"):
        run.read_summary()


def test_a_summary_of_the_first_version_is_refused(finished_run, tmp_path):
    run = RunDirectory(tmp_path / "copy")
    shutil.copytree(finished_run, run.path)
    old = {**run.read_summary(), "version": 1}
    del old["metrics_sha256"]
    run.summary.write_text(json.dumps(old, indent=1))
    with pytest.raises(CheckpointError, match=r"no checksum: changed, or written by gemsnn 0\.1"):
        run.read_summary()
