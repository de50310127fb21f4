"""Results as a page of the documentation: ``python -m gemsnn.experiments.results_page DIR... --out docs/results.md``.

Each DIR is a reproduction directory; each becomes a column of the verdicts, and a part with all its tables. Figures are
copied beside the page. What other programs wrote into an older page (between ``begin`` and ``end`` comments) is kept;
what a person wrote between the ``discussion`` comments is kept as long as the results are those that it is about;
everything else is written anew.
"""

from __future__ import annotations

import argparse
import hashlib
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
from gemsnn.experiments.protocol import DecodedBy
from gemsnn.experiments.results import CHOICE_NAMES, CHOICES, Results, read_results
from gemsnn.experiments.statistics import Estimate

ABOUT = re.compile(r"<!-- of: (.*?) -->\n*")
KEPT = {"rules": "Which rule teaches hidden neurons?", "proposal": "A proposal that sees the target"}
"""Parts that other programs write, by the name in their comments, and their headings."""
KEPT_LAST = {"rules-tables": "Which rule: the study in full"}
"""Those that stand at the end."""
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
    columns: Columns = {}
    sections: list[str] = []
    first = ""
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
        if not sections and "figure-a" in drawn:
            first = f"![{_plain(_FIRST)}]({drawn['figure-a']})\n\n*{_plain(_FIRST)}*\n"
        heading = _heading(results)
        columns[heading if heading not in columns else f"{heading} ({folder.name})"] = (results, claims)
        sections.append(section(results, claims, drawn))
    old = out.read_text() if out.exists() else ""
    kept, kept_last = (
        [f"## {heading}\n\n{_block(old, name)}\n" for name, heading in parts.items() if _block(old, name)]
        for parts in (KEPT, KEPT_LAST)
    )
    claims_part = ["## The paper's claims\n", kept_words(old, "discussion", fingerprint(folders)), _in_short(columns)]
    parts = [_HEAD, first, *claims_part, *kept, _RULES, *sections, *kept_last]
    write_whole(out, "\n".join(part for part in parts if part).encode())


Columns = dict[str, tuple[Results, list[dict[str, Any]]]]


def _in_short(columns: Columns) -> str:
    """One line for each claim, and one for each K, with a column for each reproduction."""
    names = [claim["claim"] for _, claims in columns.values() for claim in claims]
    lines = [f"| claim | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for name in dict.fromkeys(names):
        cells = []
        for _, claims in columns.values():
            found = [claim["evidence"][0] for claim in claims if claim["claim"] == name]
            cells.append(_said(found[0]) if found else "")
        lines.append(f"| {_plain(name)} | {' | '.join(cells)} |")
    lines += ["", _BELOW, "", f"| K | {' | '.join(columns)} |", f"|---:|{'---:|' * len(columns)}"]
    for K in sorted({K for results, _ in columns.values() for K in results.compartments}):
        lines.append(f"| {K} | {' | '.join(_at(results, K) for results, _ in columns.values())} |")
    return "\n".join(lines) + "\n"


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
    for decoder in DecodedBy:
        title = results.protocol.name_of(decoder)
        lines += [f"### {_plain(title[0].upper() + title[1:])}", "", *_numbers(results, decoder), ""]
    lines += ["### Cost of learning", "", *_costs(results), ""]
    if results.failed:
        lines += [
            f"{len(results.failed)} runs failed and are missing: {', '.join(f['name'] for f in results.failed)}.",
            "",
        ]
    return "\n".join(lines)


def elsewhere(command: str) -> str:
    """A command for other machines, where folders have other places."""
    return re.sub(r"(--out|--data|--n-mnist) (\S+)", lambda given: f"{given[1]} {Path(given[2]).name}", command)


def _numbers(results: Results, decoder: DecodedBy) -> list[str]:
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


def _heading(results: Results) -> str:
    data, choices = results.about["data"], results.protocol.choices
    kind = "Simulated recordings" if data["simulated"] else f"{_text(data['description'])} (real recordings)"
    return kind if choices == "the paper's text" else f"{kind}, {choices}"


def _slug(results: Results) -> str:
    data, choices = results.about["data"], results.protocol.choices
    name = "simulated" if data["simulated"] else str(data["description"])
    name += "" if choices == "the paper's text" else f" {choices}"
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def fingerprint(folders: Sequence[Path]) -> str:
    """Of all results together."""
    digest = hashlib.sha256()
    for folder in folders:
        digest.update((folder / "results.json").read_bytes())
    return digest.hexdigest()[:12]


def kept_words(old: str, name: str, about: str) -> str:
    """What a person wrote about these results, between comments of that name; about others it would be wrong."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = old[old.index(begin) + len(begin) : old.index(end)] if begin in old and end in old else ""
    of = ABOUT.search(text)
    words = ABOUT.sub("", text).strip()
    if words and of and of[1] != about:
        print(f"The {name} in the page is about other results and was left out; git has it.")
        words = ""
    return f"{begin}\n\n<!-- of: {about} -->\n\n{words}\n\n{end}\n".replace("\n\n\n\n", "\n\n")


def _block(old: str, name: str) -> str:
    """What another program wrote, its comments included."""
    found = re.search(rf"<!-- begin: {name} -->\n.*?<!-- end: {name} -->", old, re.DOTALL)
    return found[0] if found else ""


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

The numbers, figures and verdicts of this page are written by `python -m gemsnn.experiments.results_page` from the
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
