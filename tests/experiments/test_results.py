import json

import pytest
from made_up_results import made_up

from gemsnn.common.sealed import seal
from gemsnn.errors import DataError
from gemsnn.experiments import judge, read_results
from gemsnn.experiments.claims import as_records
from gemsnn.experiments.results import to_json, write_results


def test_the_three_choices_take_different_iterations() -> None:
    results = made_up(
        accuracy=lambda K, seed, i: [0.7, 0.9, 0.8, 0.6][i],
        validation_accuracy=lambda K, seed, i: [0.7, 0.8, 0.9, 0.6][i],
    )
    run = results.runs[0]
    assert [run.chosen(choice) for choice in ("best_on_test", "chosen_on_validation", "final")] == [1, 2, 3]
    assert results.value(run, "accuracy", "chosen_on_validation") == 0.8


def test_each_reading_has_figures_of_its_own() -> None:
    run = made_up().runs[0]
    few, likelihood = run.records[0]["test"]["extra_decoders"]
    few["accuracy"], likelihood["accuracy"] = 0.2, 0.3
    assert [run.figures(0, decoder)["accuracy"] for decoder in ("vote", "few", "likelihood")] == [0.9, 0.2, 0.3]
    assert {run.figures(0, decoder)["log_likelihood"] for decoder in ("vote", "few", "likelihood")} == {-10.0}


def test_spikes_are_averaged_over_all_examples() -> None:
    run = made_up().runs[0]
    run.records[0]["train"] |= {"examples": 30, "hidden_spikes_per_step": 1.0}
    run.records[1]["train"]["hidden_spikes_per_step"] = 9.0
    expected = (30 * 1 + 10 * 9 + 20 * run.records[2]["train"]["hidden_spikes_per_step"]) / 60
    assert run.spikes_per_step == pytest.approx(expected)


def test_seeds_without_every_K_are_left_out_of_pairs_but_not_of_means() -> None:
    results = made_up(accuracy=lambda K, seed, i: 0.1 * seed)
    results.runs.remove(next(run for run in results.runs if (run.n_compartments, run.seed) == (20, 4)))
    table = results.paired(lambda run: run.seed)
    assert table.tolist() == [[seed] * 5 for seed in (0, 1, 2, 3)]
    assert results.estimate(1, "accuracy", "final").n == 5
    assert results.estimate(20, "accuracy", "final").n == 4


def test_results_come_back_from_their_file(tmp_path) -> None:
    results = made_up(accuracy=lambda K, seed, i: 0.5 + 0.02 * K)
    claims = as_records(judge(results))
    write_results(tmp_path / "results.json", to_json(results, claims))
    again, claims_again = read_results(tmp_path / "results.json")
    assert again == results
    assert claims_again == json.loads(json.dumps(claims))
    assert judge(again) == judge(results)


def test_other_files_are_refused_by_name(tmp_path) -> None:
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(DataError, match=r"other\.json: not the results"):
        read_results(tmp_path / "other.json")
    other = tmp_path / "summary.json"
    other.write_bytes(seal({"format": "another", "version": 1}))
    with pytest.raises(DataError, match=r"summary\.json: not the results .*its format is 'another'"):
        read_results(other)
    with pytest.raises(DataError, match="missing"):
        read_results(tmp_path / "missing.json")


def test_results_of_another_version_are_refused(tmp_path) -> None:
    write_results(tmp_path / "results.json", to_json(made_up(), []) | {"version": 2})
    with pytest.raises(DataError, match=r"results\.json: from another version of gemsnn"):
        read_results(tmp_path / "results.json")
