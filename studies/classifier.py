"""The whole study of the classifier, from nothing to the page, in order of interest.

    python studies/classifier.py --out study --n-mnist DIR --page docs/results/settings.md

The default settings and the other methods on four sets of data first; then answers before the end, one setting at a
time, accuracy against spikes, and how long to learn. All of it can be killed at any time and goes on with the same
command. The page is written after every part, from what there is.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import anytime
import baselines
import page
import settings


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; made if it is not there")
    parser.add_argument("--n-mnist", type=Path, help="folder with N-MNIST's Train")
    parser.add_argument("--jobs", type=int, help="runs at a time; as many as cores, if not given")
    parser.add_argument("--page", type=Path, help="page to write tables and figures into")
    parser.add_argument("--readme", type=Path, help="file with a block called accuracy to write into as well")
    options = parser.parse_args(given)
    out, begin = options.out, time.monotonic()
    jobs = ["--jobs", str(options.jobs)] if options.jobs else []
    real = ["--n-mnist", str(options.n_mnist)] if options.n_mnist else []

    def others(data: Sequence[str], methods: Sequence[str]) -> None:
        files = [
            str(file)
            for name in data
            for split in range(settings.SPLITS[name])
            if (file := settings.data_file(out, name, split)).exists()
        ]
        if files and methods:
            baselines.main([*files, "--out", str(out / "baselines"), "--only", *methods, *jobs])

    def part(name: str) -> None:
        settings.main(["--out", str(out), *real, "--parts", name, *jobs])

    penalised = [method for method in baselines.METHODS if method not in baselines.MAIN]
    for what, do in {
        "the default settings": lambda: part("main"),
        "other methods": lambda: others(list(settings.SPLITS), baselines.MAIN),
        "answers before the end": lambda: anytime.main(["--out", str(out), *jobs]),
        "one setting at a time": lambda: part("rows"),
        "accuracy against spikes": lambda: part("curve"),
        "snnTorch's accuracy against spikes": lambda: others(["n-mnist-10"], penalised),
        "how long to learn": lambda: part("budget"),
        "one setting at a time, simulated": lambda: part("simulated rows"),
    }.items():
        print(f"== {what}, after {(time.monotonic() - begin) / 60:.0f} minutes", flush=True)
        do()
        if options.page:
            readme = ["--readme", str(options.readme)] if options.readme else []
            page.main([str(out), "--page", str(options.page), *readme])
    print(f"== done after {(time.monotonic() - begin) / 60:.0f} minutes", flush=True)


if __name__ == "__main__":
    main()
