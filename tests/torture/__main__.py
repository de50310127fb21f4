"""``python -m torture SECONDS``; see ``__init__.py``."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

from torture import TORTURES
from torture.torture import Torture
from torture.watch import Outcome, run_child, watched


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m torture", description="Mutated files, odd networks and kills.")
    parser.add_argument("seconds", nargs="?", type=float, default=60.0, help="in all; 60 if not given")
    parser.add_argument("--only", help=f"one of {', '.join(kind.name for kind in TORTURES)}")
    parser.add_argument(
        "--seed", type=int, help="of the first trial; then there is only one, unless --trials says more"
    )
    parser.add_argument("--trials", type=int, help="how many trials of each torture at most")
    parser.add_argument("--report", type=Path, help="write the counts to this JSON file")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        run_child(_named(given.only), given.child, given.seconds, given.seed, given.trials)
        return
    chosen = [_named(given.only)] if given.only else list(TORTURES)
    trials = 1 if given.seed is not None and given.trials is None else given.trials
    first = time.time_ns() // 1000 if given.seed is None else given.seed
    whole = sum(kind.share for kind in chosen)
    outcomes: dict[str, Outcome] = {}
    for kind in chosen:
        outcomes[kind.name] = found = watched(kind, given.seconds * kind.share / whole, first, trials)
        print(_line(kind.name, found), flush=True)
        for failure in found.failures:
            print(failure, flush=True)
    if given.report:
        given.report.write_text(json.dumps({name: vars(found) for name, found in outcomes.items()}, indent=1) + "\n")
    sys.exit(any(found.failures for found in outcomes.values()))


def _named(name: str) -> type[Torture]:
    if ":" in name:
        module, _, attribute = name.partition(":")
        kind: type[Torture] = getattr(importlib.import_module(module), attribute)
        return kind
    for kind in TORTURES:
        if kind.name == name:
            return kind
    sys.exit(f"there is no torture {name!r}; there are {', '.join(kind.name for kind in TORTURES)}")


def _line(name: str, found: Outcome) -> str:
    counts = ", ".join(f"{count:,} {what}" for what, count in sorted(found.counts.items()))
    return f"{name}: {found.trials:,} trials in {found.seconds:.0f} s, {len(found.failures)} failures; {counts}"


main()
