"""Claims on a page: one verdict each for who passes by, and everything behind it folded away."""

from __future__ import annotations

from collections.abc import Sequence

from gemsnn.common.page import escape
from gemsnn.common.words import counted, with_interval
from gemsnn.experiments.claims import Claim, Evidence
from gemsnn.experiments.results import Results

MARKS = {"supported": ("yes", "✓"), "not supported": ("no", "✗"), "inconclusive": ("open", "?")}


def introduction(results: Results) -> str:
    """What the claims are about, for a reader who does not know the paper."""
    protocol = results.protocol
    seeds = len({run.seed for run in results.runs})
    Ks = ", ".join(map(str, results.compartments))
    return (
        "<p>Every neuron can run several <em>compartments</em>: copies of it with the same weights, each with chances "
        "of its own. While the network learns, the copies that explain the desired output best teach most. "
        "<b>K</b> is the number of compartments. A paper (Jang &amp; Simeone, ICASSP 2022) says what more of them "
        f"bring, and cost. To see whether that holds, {len(results.runs)} networks were trained: every K of {Ks} with "
        f"{counted(seeds, 'seed')} (a seed decides everything random).</p>"
        f"<p>A pair in brackets is a <b>{100 * protocol.confidence:g} % interval</b>: in so many of a hundred such "
        "experiments it holds the true value. <b>Supported</b>: the interval says so. <b>Not supported</b>: it says "
        "that there is no effect worth the name, or the opposite. <b>Inconclusive</b>: it is too wide to tell, and "
        "more seeds are needed. The rules were fixed before the runs.</p>"
    )


def verdicts(claims: Sequence[Claim]) -> str:
    """A line for each claim; its evidence, the other ways to look at it and the rule unfold."""
    counts = ", ".join(f"<b>{sum(claim.verdict == verdict for claim in claims)}</b> {verdict}" for verdict in MARKS)
    return f"<p>Of {counted(len(claims), 'claim')}: {counts}.</p>" + "".join(map(_card, claims))


def _card(claim: Claim) -> str:
    kind, mark = MARKS[claim.verdict]
    first, *others = claim.evidence
    words = f"<p>In the paper's terms: {formula(claim.claim)}</p>" if claim.plain else ""
    also = "<p>Looked at another way:</p>" if others else ""
    return (
        f'<details class="claim {kind}"><summary><span class="mark" aria-hidden="true">{mark}</span>'
        f'<span class="words"><b>{formula(claim.plain or claim.claim)}</b>'
        f'<span class="effect">{_effect(first)}</span></span>'
        f'<span class="tag {kind}">{claim.verdict}</span></summary>'
        f'{words}<div class="evidence">{_row(first)}</div>'
        f'{also}<div class="evidence">{"".join(map(_row, others))}</div>'
        f"<p>{escape(claim.source)}. {escape(claim.rule[0].upper() + claim.rule[1:])}.</p></details>"
    )


def _row(item: Evidence) -> str:
    kind, _ = MARKS[item.verdict]
    also = f'<span class="also">{formula(item.also)}</span>' if item.also else ""
    return (
        f'<div class="row"><span class="what">{formula(item.what)}</span>'
        f'<span class="effect">{_effect(item)}{also}</span>'
        f'<span class="tag {kind}">{item.verdict}</span></div>'
    )


def _effect(item: Evidence) -> str:
    return f"{formula(item.effect)}: <b>{small(with_interval(item.estimate))}</b>"


def formula(text: str) -> str:
    """Text, with the exponents that the claims use as such."""
    return escape(text).replace("K^I", "K<sup>I</sup>").replace("K^a", "K<sup>a</sup>")


def small(text: str) -> str:
    """A number in full size, what follows it smaller."""
    number, space, rest = text.partition(" ")
    return f"{number} <small>{rest}</small>" if space else number


STYLE = """
.claim { background: var(--card); border: 1px solid var(--line); border-left: 5px solid var(--c); border-radius: 10px;
  margin: .5rem 0; padding: 0 1.1rem; }
.claim > *:last-child { margin-bottom: .9rem; }
.yes { --c: var(--yes); --cb: var(--yes-bg); } .no { --c: var(--no); --cb: var(--no-bg); }
.open { --c: var(--open); --cb: var(--open-bg); }
.claim > summary { display: flex; gap: .8rem; align-items: center; padding: .7rem 0; margin: 0; color: var(--ink);
  font-size: 1rem; list-style: none; }
.claim > summary::-webkit-details-marker { display: none; }
.claim .words { flex: 1; min-width: 0; } .claim .words > b { font-weight: 600; }
.claim .words .effect { display: block; color: var(--soft); font-size: .88rem; }
.claim > p { font-size: .92rem; margin: .5rem 0; max-width: 85ch; }
.mark { flex: none; width: 1.9rem; height: 1.9rem; border-radius: 50%; display: grid; place-items: center;
  font-weight: 700; background: var(--cb); color: var(--c); }
.evidence { margin: .3rem 0 .6rem; font-size: .9rem; }
.row { display: grid; grid-template-columns: minmax(0, 1.1fr) minmax(0, 1.7fr) 7.6rem; gap: .2rem 1rem;
  padding: .4rem 0; border-top: 1px solid var(--line); align-items: baseline; }
.effect b { color: var(--ink); font-variant-numeric: tabular-nums; white-space: nowrap; }
.effect small { font-weight: 400; }
.also { display: block; font-size: .93em; color: var(--soft); }
.tag { justify-self: end; background: var(--cb); color: var(--c); border-radius: 99px; padding: .05rem .65rem;
  font-size: .82rem; white-space: nowrap; }
@media (max-width: 640px) {
  .row { grid-template-columns: minmax(0, 1fr) auto; }
  .row .effect { grid-column: 1 / -1; grid-row: 2; }
  .claim { padding: 0 .8rem; } .claim > summary { flex-wrap: wrap; gap: .3rem .8rem; align-items: flex-start; }
  .claim .words { flex-basis: calc(100% - 2.7rem); } .claim > summary > .tag { margin-left: 2.7rem; }
}
"""
