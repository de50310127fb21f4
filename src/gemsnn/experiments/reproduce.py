"""The whole reproduction: data, sweep, results, figures, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemsnn.common.files import write_whole
from gemsnn.events import PreparedData, open_prepared
from gemsnn.experiments import figures
from gemsnn.experiments.claims import CLAIMS, Claim, Judge, as_records, judge
from gemsnn.experiments.data import check_usable, needs_resplit, resplit_files, simulated_file
from gemsnn.experiments.protocol import Protocol
from gemsnn.experiments.report import report
from gemsnn.experiments.results import Results, gather, read_results, to_json, versions, write_results
from gemsnn.experiments.runs import Run
from gemsnn.experiments.sweep import Ended
from gemsnn.plot.panels import save


@dataclass(frozen=True)
class Plan:
    """The runs of a reproduction."""

    protocol: Protocol
    folder: Path
    runs: list[Run]
    data: dict[str, Any]
    """Description of the data for the report."""
    commands: list[str]
    """Commands that reproduce the results."""


def plan(
    protocol: Protocol,
    folder: Path,
    data: Path | None = None,
    *,
    resplit: bool | None = None,
    commands: Sequence[str] = (),
    advance: Callable[[], None] = lambda: None,
) -> Plan:
    """Prepare the data and list the runs; a finished run with other settings or data is refused.

    ``resplit`` draws another stratified split for each seed; None does so if the file's split was drawn at random.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = simulated_file(folder / "data", protocol, advance) if data is None else data
    with open_prepared(path) as prepared:
        again = needs_resplit(prepared) if resplit is None else resplit
        if not again:
            check_usable(prepared)
    if again:
        data_of = resplit_files(path, folder / "data", protocol.seeds, protocol.resplit_test_fraction)
    else:
        data_of = dict.fromkeys(protocol.seeds, path)
    runs = planned(protocol, folder, data_of)
    for run in runs:
        run.done()
    with open_prepared(data_of[protocol.seeds[0]]) as prepared:
        check_usable(prepared)
        described = _described(prepared, again, protocol)
    return Plan(protocol, folder, runs, described, list(commands))


def planned(protocol: Protocol, folder: Path, data_of: Mapping[int, Path]) -> list[Run]:
    """The runs of a protocol, every K with every seed; ``data_of`` is the prepared file of each seed."""
    runs = []
    for K in protocol.compartments:
        for seed in protocol.seeds:
            path = data_of[seed].absolute()
            with open_prepared(path) as data:
                settings = protocol.training(K, seed, data.train.labels, data.n_steps)
            labels = {"K": K, "seed": seed}
            cost = 6.0 + 3.0 * K  # of an example, up to a factor, as measured at the paper's size
            runs.append(Run(f"K{K:02d}-seed{seed}", settings, path, labels, folder.absolute(), cost))
    return runs


def _described(data: PreparedData, again: bool, protocol: Protocol) -> dict[str, Any]:
    simulated = bool(data.attributes.get("simulated", False))
    source = str(data.attributes.get("source", "unknown source"))
    if simulated:
        description = "a simulated event camera watching moving MNIST digits, no real recording among them"
    else:
        description = {"n-mnist": "N-MNIST", "mnist-dvs": "MNIST-DVS"}.get(source, source)
    if again:
        split = (
            f"Each seed draws its own stratified split ({100 * protocol.resplit_test_fraction:g} % test). The splits "
            "share recordings, so the intervals are narrower than with independent test sets."
        )
    else:
        split = (
            "One fixed split for all seeds: the intervals cover the randomness of training, not of the choice of "
            "recordings."
        )
    return {
        "simulated": simulated,
        "description": description,
        "file": data.path.name,
        "fingerprint": data.fingerprint,
        "n_train": len(data.train),
        "n_test": len(data.test),
        "classes": list(data.classes),
        "n_steps": data.n_steps,
        "n_inputs": data.n_inputs,
        "split": split,
        "attributes": data.attributes,
    }


@dataclass(frozen=True)
class Finished:
    """The results of a reproduction."""

    results: Results
    claims: list[Claim]
    report: Path


def conclude(what: Plan, ended: Sequence[Ended], claims: Collection[Judge] = CLAIMS.values()) -> Finished:
    """Write results.json, figures and report.html from the run directories."""
    about = {
        "data": what.data,
        "commands": what.commands,
        "versions": versions(),
        "when": time.strftime("Made on %Y-%m-%d at %H:%M %Z"),
    }
    return _write(gather(what.protocol, what.runs, ended, about), what.folder, claims)


def rewrite(folder: Path, claims: Collection[Judge] = CLAIMS.values()) -> Finished:
    """Write figures, verdicts and report again from a directory's results.json, without training."""
    results, _ = read_results(folder / "results.json")
    return _write(results, folder, claims)


def _write(results: Results, folder: Path, claims: Collection[Judge]) -> Finished:
    judged = judge(results, claims)
    write_results(folder / "results.json", to_json(results, as_records(judged)))
    (folder / "figures").mkdir(exist_ok=True)
    for name, panels in figures.all_figures(results).items():
        save(panels, folder / "figures" / name)
    page = folder / "report.html"
    write_whole(page, report(results, judged).encode())
    return Finished(results, judged, page)
