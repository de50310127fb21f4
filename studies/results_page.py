"""Results as a page of the documentation: ``python studies/results_page.py DIR... --out docs/results.md``.

Each DIR is a reproduction directory; each becomes a column of the verdicts, in the order given, and a page of its own
with all its tables, in the folder ``results`` beside the page. The first figure is that of the first DIR. Figures are
copied to ``figures/results``. What other programs wrote into an older page (between ``begin`` and ``end`` comments) is
kept; what a person wrote between the ``discussion`` comments is kept as long as the results are those that it is about;
everything else is rewritten.
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
    """Write the page, a page of tables for each reproduction, and copy the figures."""
    columns: Columns = {}
    descriptions: list[str] = []
    names: set[str] = set()
    first = ""
    for folder in folders:
        results, claims = read_results(folder / "results.json")
        heading, name = _heading(results), _slug(results)
        if heading in columns:
            heading = f"{heading} ({folder.name})"
        if name in names:
            name = f"{name}-{folder.name}"
        names.add(name)
        columns[heading] = (results, claims)
        place, long_page = out.parent / "figures" / "results" / name, out.parent / "results" / f"{name}.md"
        place.mkdir(parents=True, exist_ok=True)
        long_page.parent.mkdir(exist_ok=True)
        drawn = {}
        for figure in ("figure-a", "figure-b", "figure-b-likelihood", "choices", "decoders", "reliability"):
            source = folder / "figures" / f"{figure}.svg"
            if source.exists():
                shutil.copyfile(source, place / source.name)
                drawn[figure] = place / source.name
        if not descriptions and "figure-a" in drawn:
            caption = f"{heading}. {_plain(_FIRST)}"
            first = f"![{caption}]({os.path.relpath(drawn['figure-a'], out.parent)})\n\n*{caption}*\n"
        beside = {figure: os.path.relpath(path, long_page.parent) for figure, path in drawn.items()}
        write_whole(long_page, section(heading, results, claims, beside).encode())
        of_this = [f"### {heading}", "", *_about(results), "", f"[All tables and figures](results/{name}.md)", ""]
        descriptions.append("\n".join(of_this))
    old = out.read_text() if out.exists() else ""
    kept = [f"## {heading}\n\n{block(old, name)}\n" for name, heading in KEPT.items() if block(old, name)]
    claims_part = ["## The paper's claims\n", kept_words(old, "discussion", fingerprint(folders)), _in_short(columns)]
    parts = [_HEAD, first, *claims_part, *kept, _RULES, _DATA, *descriptions, _MORE]
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


def _about(results: Results) -> list[str]:
    """The data, the protocol, the command and the versions, as lines of Markdown."""
    data, protocol, versions = results.about["data"], results.protocol, results.about["versions"]
    seeds = len({run.seed for run in results.runs})
    return [
        f"{_sentence(_text(data['description']))}: {data['n_train']} training and {data['n_test']} test recordings of "
        f"{', '.join(map(_text, data['classes']))}, T = {data['n_steps']}, {data['n_inputs']} inputs. {data['split']}",
        f"{protocol.n_hidden} hidden neurons, {seeds} seeds, {protocol.epochs} epochs, learning rate "
        f"{protocol.learning_rate:g}.",
        "",
        "```bash",
        *(elsewhere(command) for command in results.about["commands"]),
        "```",
        "",
        f"{results.about['when']}, with gemsnn {versions['gemsnn']}, Python {versions['python']}, NumPy "
        f"{versions['numpy']}, Numba {versions['numba']}, on {versions['processor']}.",
    ]


def section(heading: str, results: Results, claims: Sequence[dict[str, Any]], figures: dict[str, str]) -> str:
    """All that one reproduction measured, as a page."""
    few = results.protocol.few_compartments
    lines = [
        f"# {heading}: all tables",
        "",
        "Every verdict, figure and table of one reproduction; [Results](../results.md) has the summary.",
        "",
        *_about(results),
        "",
        "## Verdicts",
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
    lines += ["", "The row with the bold verdict is closest to what the paper did.", ""]
    captions = {
        "figure-a": "Figure A (the paper's Figure 3). Left: test log-likelihood (solid) and accuracy (dashed) against "
        "K, K^I = K, at each run's best iteration on the test set, as the paper chose. Right: broadcast load (solid) "
        "and hidden spikes per step (dashed).",
        "figure-b": f"Figure B (the paper's Figure 4). Over training; accuracy and ECE with K^I = {few}. The axis "
        "of the log-likelihood is logarithmic below -1.",
        "figure-b-likelihood": "The same networks read out by the likelihood decoder.",
        "choices": "The three ways of choosing the iteration; vote with K^I = K.",
        "decoders": "The decoders, at the iteration chosen on validation.",
        "reliability": "Reliability at the last iteration.",
    }
    for name, path in figures.items():
        lines += [f"![{_plain(captions[name])}]({path})", "", f"*{_plain(captions[name])}*", ""]
    for decoder in DecodedBy:
        title = results.protocol.name_of(decoder)
        lines += [f"## {_plain(title[0].upper() + title[1:])}", "", _numbers(results, decoder), ""]
    lines += ["## Cost of learning", "", _costs(results), ""]
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
    "Each row shows the analysis closest to the paper's; [below](#how-the-verdicts-are-made) are the rules, and the "
    "pages of [each reproduction](#data-and-commands) have all other analyses. Test log-likelihood in nats, and "
    "accuracy by vote with Kᴵ = K, at the iteration chosen on validation:"
)

_HEAD = """# Results

After reading this page you know which claims of the paper hold, on which data, and which learning rule to choose. The
experiments are those of `gemsnn reproduce`; one command repeats each of them.
"""

_RULES = """## How the verdicts are made

`python studies/results_page.py` writes the numbers, figures and verdicts of this page from the `results.json` that
`gemsnn reproduce` leaves. The protocol and the rules for the verdicts were fixed before the runs:

- *Supported*: the intervals of the improvement from the smallest to the largest K and of its slope over log K both lie
  above zero.
- *Not supported*: the interval of the improvement lies below a margin fixed in advance (0.5 nats, 1 % of accuracy, 0.01
  of ECE), so that a relevant improvement is excluded.
- *Inconclusive*: anything else.

Intervals are 95 % (Student's t over seeds); comparisons between values of K are paired by seed. The paper reports the
iteration that is best on the test set, which is optimistic. The iteration chosen on validation examples, held out of
the training set, is shown next to it and is not.

*The published code* is the first author's public code of 2020 (hrjang357/multi-sample-SNN). Where it differs from the
text of the paper, these runs follow the code: initial weights and biases are drawn from -0.1 to 0.1, readout neurons
have synapses onto each other, and the log-likelihood is estimated by the mean of log p over 20 realisations, a lower
bound, instead of the log of the mean of p.
"""

_DATA = """## Data and commands
"""

_MORE = """## Other studies

- [Learning rules](results/rules.md): every rule, K from 1 to 20, classes and completion
- [A proposal that sees the target](results/proposal.md): tried and not kept
- [The defaults of version 0.2](results/settings.md): each setting by itself, and other methods on the same data
- [Sets with a guarantee](results/guarantee.md): coverage, size of the sets, time and spikes saved
- [The simulated camera](results/simulator.md), compared with real recordings

```{toctree}
:hidden:
:glob:
:maxdepth: 1

results/*
```
"""

if __name__ == "__main__":
    main()
