"""Results as a page of the documentation: ``python -m gemsnn.experiments.results_page DIR... --out docs/results.md``.

Each DIR is a reproduction directory. Figures are copied beside the page; what stands between the two ``discussion``
comments of an older page is kept, everything else is written anew.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gemsnn.common.files import write_whole
from gemsnn.common.words import plus_minus, printable, with_interval
from gemsnn.errors import GemsnnError
from gemsnn.experiments.claims import CHOICE_NAMES
from gemsnn.experiments.results import CHOICES, DecoderName, Results, read_results
from gemsnn.experiments.statistics import Estimate

BEGIN, END = "<!-- discussion: begin -->", "<!-- discussion: end -->"
NOTHING_YET = "\n\n"
SCALES = {"log_likelihood": (1, 2), "accuracy": (100, 1), "ece": (1, 3), "nll": (1, 3), "brier": (1, 3)}
"""How a figure is shown: times what, with how many digits."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m gemsnn.experiments.results_page", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="reproduction directories")
    parser.add_argument("--out", type=Path, default=Path("docs/results.md"), help="the page to write")
    given = parser.parse_args(arguments)
    try:
        write_page(given.folders, given.out)
    except GemsnnError as error:
        sys.exit(f"error: {error}")
    print(f"wrote {given.out}")


def write_page(folders: Sequence[Path], out: Path) -> None:
    """Write the page and copy its figures."""
    kept = _discussion(out)
    parts = [_HEAD, f"{BEGIN}{kept}{END}\n"]
    for folder in folders:
        results, claims = read_results(folder / "results.json")
        name = _slug(results)
        place = out.parent / "figures" / "results" / name
        place.mkdir(parents=True, exist_ok=True)
        drawn = {}
        for figure in ("figure-a", "figure-b", "figure-b-likelihood", "choices", "decoders", "reliability", "example"):
            source = folder / "figures" / f"{figure}.svg"
            # A picture of a real recording would be a part of somebody else's data.
            if source.exists() and (figure != "example" or results.about["data"]["simulated"]):
                shutil.copyfile(source, place / source.name)
                drawn[figure] = os.path.relpath(place / source.name, out.parent)
        parts.append(section(results, claims, drawn))
    write_whole(out, "\n".join(parts).encode())


def section(results: Results, claims: Sequence[dict[str, Any]], figures: dict[str, str]) -> str:
    """What one reproduction found, as Markdown."""
    data, protocol = results.about["data"], results.protocol
    described = _text(data["description"])
    kind = "Simulated recordings" if data["simulated"] else f"{described} (real recordings)"
    few = protocol.few_compartments
    seeds = len({run.seed for run in results.runs})
    lines = [
        f"## {kind}",
        "",
        f"{_sentence(described)}: {data['n_train']} training and {data['n_test']} test recordings of "
        f"{', '.join(map(_text, data['classes']))}, T = {data['n_steps']}, {data['n_inputs']} inputs. {data['split']}",
        f"{protocol.n_hidden} hidden neurons, {seeds} seeds, {protocol.epochs} epochs, learning rate "
        f"{protocol.learning_rate:g}.",
        "",
        "```bash",
        *results.about["commands"],
        "```",
        "",
        f"{results.about['when']}, with gemsnn {results.about['versions']['gemsnn']}, Python "
        f"{results.about['versions']['python']}, NumPy {results.about['versions']['numpy']}, Numba "
        f"{results.about['versions']['numba']}, on {results.about['versions']['processor']}.",
        "",
        "### Verdicts",
        "",
        "| claim | looked at | effect | mean and 95 % interval | verdict |",
        "|---|---|---|---|---|",
    ]
    for claim in claims:
        for place, item in enumerate(claim["evidence"]):
            verdict = f"**{item['verdict']}**" if place == 0 else item["verdict"]
            first = _plain(claim["claim"]) if place == 0 else ""
            also = f"; {item['also']}" if item["also"] else ""
            interval = with_interval(Estimate(**item["estimate"]))
            lines.append(
                f"| {first} | {_plain(item['what'])} | {_plain(item['effect'] + also)} | {interval} | {verdict} |"
            )
    lines += ["", "The line with the bold verdict is nearest to what the paper did.", ""]
    captions = {
        "figure-a": "Figure A (the paper's Figure 3). Left: test log-likelihood (solid) and accuracy (dashed) against "
        "K, K^I = K, at each run's best iteration on the test set, as the paper chose. Right: broadcast load (solid) "
        "and hidden spikes per step (dashed).",
        "figure-b": f"Figure B (the paper's Figure 4). Over training; accuracy and ECE with K^I = {few}. The axis "
        "of the log-likelihood is logarithmic below -1.",
        "figure-b-likelihood": "The same networks read out by the likelihood decoder.",
        "choices": "The three ways to choose the iteration; vote with K^I = K.",
        "decoders": "The decoders, at the iteration chosen on validation.",
        "reliability": "Reliability at the last iteration.",
        "example": "A test example, and the spikes of the network with most compartments.",
    }
    for name, path in figures.items():
        lines += [f"![{_plain(captions[name])}]({path})", "", f"*{_plain(captions[name])}*", ""]
    decoders: list[tuple[DecoderName, str]] = [
        ("vote", "Vote, K^I = K"),
        ("few", f"Vote, K^I = {few}"),
        ("likelihood", "Likelihood decoder"),
    ]
    for decoder, title in decoders:
        lines += [f"### {_plain(title)}", "", *_numbers(results, decoder), ""]
    lines += ["### Cost of learning", "", *_costs(results), ""]
    if results.failed:
        lines += [
            f"{len(results.failed)} runs failed and are missing: {', '.join(f['name'] for f in results.failed)}.",
            "",
        ]
    return "\n".join(lines)


def _numbers(results: Results, decoder: DecoderName) -> list[str]:
    lines = [
        "| iteration | K | log-likelihood | accuracy, % | ECE | NLL | Brier |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for choice in CHOICES:
        for place, K in enumerate(results.compartments):
            cells = [
                plus_minus(results.estimate(K, metric, choice, decoder), factor, digits)
                for metric, (factor, digits) in SCALES.items()
            ]
            lines.append(f"| {CHOICE_NAMES[choice] if place == 0 else ''} | {K} | {' | '.join(cells)} |")
    return lines


def _costs(results: Results) -> list[str]:
    lines = [
        "| K | reals to the neurons per step | reals to the processor per step | hidden spikes per step |",
        "|---:|---:|---:|---:|",
    ]
    for K in results.compartments:
        runs = results.of(K)
        spikes = plus_minus(results.estimated([run.spikes_per_step for run in runs]), 1, 1)
        lines.append(f"| {K} | {runs[0].to_neurons} | {runs[0].to_processor} | {spikes} |")
    return lines


def _plain(text: str) -> str:
    """A bar would end a table's cell."""
    return text.replace("|X|", "X").replace("|H|", "H").replace("|", "\\|").replace("K^I", "Kᴵ").replace("K^a", "Kᵃ")


def _text(name: object) -> str:
    """A name from outside as what it is, never as Markdown or HTML."""
    return html.escape(re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", printable(name)), quote=False)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _slug(results: Results) -> str:
    data = results.about["data"]
    name = "simulated" if data["simulated"] else str(data["description"])
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def _discussion(page: Path) -> str:
    old = page.read_text() if page.exists() else ""
    if BEGIN not in old or END not in old:
        return NOTHING_YET
    return old[old.index(BEGIN) + len(BEGIN) : old.index(END)]


_HEAD = """# Results

The paper's experiments, carried out by `gemsnn reproduce`. The numbers, figures and verdicts of this page are written
by `python -m gemsnn.experiments.results_page` from the `results.json` that it leaves.

The protocol and the rules of the verdicts were fixed before the runs: *supported* if the intervals of the improvement
from the smallest to the largest K and of its slope over log K both lie above zero; *not supported* if the first lies
below a margin fixed in advance (0.5 nats, 1 % of accuracy, 0.01 of ECE), so that an improvement worth the name is
excluded; *inconclusive* otherwise. Intervals are 95 %, Student's t over seeds; comparisons between K are paired over
seeds. The paper reports the best iteration on the test set, which flatters; the iteration chosen on validation examples
held out of the training set, which does not, stands beside it.
"""

if __name__ == "__main__":
    main()
