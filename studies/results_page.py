"""Results as a page of the documentation: ``python studies/results_page.py DIR... --out docs/results.md``.

Each DIR is a reproduction directory; each becomes a column of the verdicts, and a part with all its tables. Figures are
copied beside the page. What other programs wrote into an older page (between ``begin`` and ``end`` comments) is kept;
what a person wrote between the ``discussion`` comments is kept as long as the results are those that it is about;
everything else is written anew.
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

from pages import block, elsewhere, fingerprint, kept_words, table

from gemsnn.common.files import write_whole
from gemsnn.common.words import plus_minus, printable, with_interval
from gemsnn.errors import GemsnnError
from gemsnn.experiments.protocol import DecodedBy
from gemsnn.experiments.results import CHOICE_NAMES, CHOICES, Results, read_results
from gemsnn.experiments.statistics import Estimate

KEPT = {"rules": "Which rule teaches hidden neurons?", "proposal": "A proposal that sees the target"}
"""Parts that other programs write, by the name in their comments, and their headings."""
KEPT_LAST = {"rules-tables": "Which rule: the study in full"}
"""Those that stand at the end."""
SCALES = {"log_likelihood": (1, 2), "accuracy": (100, 1), "ece": (1, 3), "nll": (1, 3), "brier": (1, 3)}
"""How a figure is shown: times what, with how many digits."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python studies/results_page.py", description=__doc__)
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
    columns: Columns = {}
    sections: list[str] = []
    first = ""
    for folder in folders:
        results, claims = read_results(folder / "results.json")
        name = _slug(results)
        place = out.parent / "figures" / "results" / name
        place.mkdir(parents=True, exist_ok=True)
        drawn = {}
        for figure in ("figure-a", "figure-b", "figure-b-likelihood", "choices", "decoders", "reliability"):
            source = folder / "figures" / f"{figure}.svg"
            if source.exists():
                shutil.copyfile(source, place / source.name)
                drawn[figure] = os.path.relpath(place / source.name, out.parent)
        if not sections and "figure-a" in drawn:
            first = f"![{_plain(_FIRST)}]({drawn['figure-a']})\n\n*{_plain(_FIRST)}*\n"
        heading = _heading(results)
        columns[heading if heading not in columns else f"{heading} ({folder.name})"] = (results, claims)
        sections.append(section(results, claims, drawn))
    old = out.read_text() if out.exists() else ""
    kept, kept_last = (
        [f"## {heading}\n\n{block(old, name)}\n" for name, heading in parts.items() if block(old, name)]
        for parts in (KEPT, KEPT_LAST)
    )
    claims_part = ["## The paper's claims\n", kept_words(old, "discussion", fingerprint(folders)), _in_short(columns)]
    parts = [_HEAD, first, *claims_part, *kept, _RULES, *sections, *kept_last]
    write_whole(out, "\n".join(part for part in parts if part).encode())


Columns = dict[str, tuple[Results, list[dict[str, Any]]]]


def _in_short(columns: Columns) -> str:
    """One line for each claim, and one for each K, with a column for each reproduction."""
    names = [claim["claim"] for _, claims in columns.values() for claim in claims]
    rows = []
    for name in dict.fromkeys(names):
        cells = []
        for _, claims in columns.values():
            found = [claim["evidence"][0] for claim in claims if claim["claim"] == name]
            cells.append(_said(found[0]) if found else "")
        rows.append([_plain(name), *cells])
    Ks = sorted({K for results, _ in columns.values() for K in results.compartments})
    of_K = [[str(K), *(_at(results, K) for results, _ in columns.values())] for K in Ks]
    return f"{table(['claim', *columns], rows)}\n\n{_BELOW}\n\n{table(['K', *columns], of_K)}\n"


def _at(results: Results, K: int) -> str:
    if K not in results.compartments:
        return ""
    value, share = (results.estimate(K, metric, "chosen_on_validation") for metric in ("log_likelihood", "accuracy"))
    return f"{plus_minus(value, 1, 2)}, {plus_minus(share, 100, 1)} %"


def _said(item: dict[str, Any]) -> str:
    return f"**{item['verdict']}**: {_plain(item['effect'])} {with_interval(Estimate(**item['estimate']))}"


def section(results: Results, claims: Sequence[dict[str, Any]], figures: dict[str, str]) -> str:
    """What one reproduction found, as Markdown."""
    data, protocol = results.about["data"], results.protocol
    described = _text(data["description"])
    few = protocol.few_compartments
    seeds = len({run.seed for run in results.runs})
    lines = [
        f"## {_heading(results)}",
        "",
        f"{_sentence(described)}: {data['n_train']} training and {data['n_test']} test recordings of "
        f"{', '.join(map(_text, data['classes']))}, T = {data['n_steps']}, {data['n_inputs']} inputs. {data['split']}",
        f"{protocol.n_hidden} hidden neurons, {seeds} seeds, {protocol.epochs} epochs, learning rate "
        f"{protocol.learning_rate:g}.",
        "",
        "```bash",
        *(elsewhere(command) for command in results.about["commands"]),
        "```",
        "",
        f"{results.about['when']}, with gemsnn {results.about['versions']['gemsnn']}, Python "
        f"{results.about['versions']['python']}, NumPy {results.about['versions']['numpy']}, Numba "
        f"{results.about['versions']['numba']}, on {results.about['versions']['processor']}.",
        "",
        "### Verdicts",
        "",
    ]
    rows = []
    for claim in claims:
        for place, item in enumerate(claim["evidence"]):
            verdict = f"**{item['verdict']}**" if place == 0 else item["verdict"]
            first = _plain(claim["claim"]) if place == 0 else ""
            also = f"; {item['also']}" if item["also"] else ""
            interval = with_interval(Estimate(**item["estimate"]))
            rows.append([first, _plain(item["what"]), _plain(item["effect"] + also), interval, verdict])
    lines += [table(["claim", "looked at", "effect", "mean and 95 % interval", "verdict"], rows)]
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
    }
    for name, path in figures.items():
        lines += [f"![{_plain(captions[name])}]({path})", "", f"*{_plain(captions[name])}*", ""]
    for decoder in DecodedBy:
        title = results.protocol.name_of(decoder)
        lines += [f"### {_plain(title[0].upper() + title[1:])}", "", _numbers(results, decoder), ""]
    lines += ["### Cost of learning", "", _costs(results), ""]
    if results.failed:
        lines += [
            f"{len(results.failed)} runs failed and are missing: {', '.join(f['name'] for f in results.failed)}.",
            "",
        ]
    return "\n".join(lines)


def _numbers(results: Results, decoder: DecodedBy) -> str:
    rows = []
    for choice in CHOICES:
        for place, K in enumerate(results.compartments):
            cells = [
                plus_minus(results.estimate(K, metric, choice, decoder), factor, digits)
                for metric, (factor, digits) in SCALES.items()
            ]
            rows.append([CHOICE_NAMES[choice] if place == 0 else "", str(K), *cells])
    return table(["iteration", "K", "log-likelihood", "accuracy, %", "ECE", "NLL", "Brier"], rows)


def _costs(results: Results) -> str:
    rows = []
    for K in results.compartments:
        runs = results.of(K)
        spikes = plus_minus(results.estimated([run.spikes_per_step for run in runs]), 1, 1)
        rows.append([str(K), str(runs[0].to_neurons), str(runs[0].to_processor), spikes])
    sent = [f"reals to the {whom} per step" for whom in ("neurons", "processor")]
    return table(["K", *sent, "hidden spikes per step"], rows)


def _plain(text: str) -> str:
    """A bar would end a table's cell."""
    return text.replace("|X|", "X").replace("|H|", "H").replace("|", "\\|").replace("K^I", "Kᴵ").replace("K^a", "Kᵃ")


def _text(name: object) -> str:
    """A name from outside as what it is, never as Markdown or HTML."""
    return html.escape(re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", printable(name)), quote=False)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _heading(results: Results) -> str:
    data, choices = results.about["data"], results.protocol.choices
    kind = "Simulated recordings" if data["simulated"] else f"{_text(data['description'])} (real recordings)"
    return kind if choices == "the paper's text" else f"{kind}, {choices}"


def _slug(results: Results) -> str:
    data, choices = results.about["data"], results.protocol.choices
    name = "simulated" if data["simulated"] else str(data["description"])
    name += "" if choices == "the paper's text" else f" {choices}"
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


_FIRST = (
    "The paper's Figure 3, reproduced. Left: test log-likelihood (solid) and accuracy by vote (dashed) against K, with "
    "K^I = K, at each run's best iteration on the test set, as the paper chose. Right: broadcast load (solid) and "
    "hidden spikes per step (dashed)."
)
_BELOW = (
    "Each line shows what is nearest to what the paper did; [below](#how-the-verdicts-are-made) are the rules, and all "
    "other ways to look at it. Test log-likelihood in nats, and accuracy by vote with Kᴵ = K, at the iteration chosen "
    "on validation:"
)

_HEAD = """# Results

The paper's experiments, carried out by `gemsnn reproduce`, and what came of asking further.
"""

_RULES = """## How the verdicts are made

The numbers, figures and verdicts of this page are written by `python studies/results_page.py` from the
`results.json` that `gemsnn reproduce` leaves. The protocol and the rules of the verdicts were fixed before the runs:
*supported* if the intervals of the improvement from the smallest to the largest K and of its slope over log K both lie
above zero; *not supported* if the first lies below a margin fixed in advance (0.5 nats, 1 % of accuracy, 0.01 of ECE),
so that an improvement worth the name is excluded; *inconclusive* otherwise. Intervals are 95 %, Student's t over seeds;
comparisons between K are paired over seeds. The paper reports the best iteration on the test set, which flatters; the
iteration chosen on validation examples held out of the training set, which does not, stands beside it.

Where it says *the published code*, the first author's public code of 2020 (hrjang357/multi-sample-SNN) was followed
where it differs from the paper's text: initial weights and biases are drawn from -0.1 to 0.1, read-out neurons have
synapses onto each other, and the log-likelihood is estimated by the mean of log p over 20 realisations, which is a
lower bound, and not by the log of the mean p.
"""

if __name__ == "__main__":
    main()
