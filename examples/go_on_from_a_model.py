"""A classifier learns digits that a simulated camera saw, and then a third digit, with and without replay.

    python examples/go_on_from_a_model.py --out go_on_from_a_model.png

The readout grows by one neuron. Learning the new digit alone, the network forgets the old ones; with old recordings
replayed in between it keeps them.
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import gemsnn
from gemsnn.events import open_prepared, simulate_prepared
from gemsnn.training import TrainingConfig, load_model

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", default="go_on_from_a_model.png")
options = parser.parse_args()

choices = gemsnn.events.mnist_dvs_preprocessing().model_copy(update={"downsample": 2})  # 13 x 13 pixels: quick


def right(model, data):
    """Share of the test recordings of each digit that the model classifies correctly."""
    answers = model.predict([data.test[n] for n in range(len(data.test))])
    truth = np.array([data.classes[label] for label in data.test.labels])
    return {digit: float((answers.label[truth == digit] == digit).mean()) for digit in data.classes}


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    for name, digits in (("old", (0, 1)), ("new", (2,)), ("all", (0, 1, 2))):
        simulate_prepared(folder / f"{name}.h5", digits=digits, per_class=(30, 20), preprocessing=choices)
    config = TrainingConfig.make(n_hidden=40, epochs=6, validation_fraction=0)
    found = {}
    with (
        open_prepared(folder / "old.h5") as old,
        open_prepared(folder / "new.h5") as new,
        open_prepared(folder / "all.h5") as everything,
    ):
        gemsnn.train(config, old, folder / "runs/old")
        model = load_model(folder / "runs/old")
        for name, begin in (
            ("the new digit alone", gemsnn.FromModel(model)),
            ("with old ones replayed", gemsnn.FromModel(model, replay=old, replay_share=0.6)),
        ):
            gemsnn.train(begin.config(epochs=12), new, folder / "runs" / name, from_model=begin)
            found[name] = right(load_model(folder / "runs" / name), everything)

for name, shares in found.items():
    print(f"{name}: " + ", ".join(f"digit {digit} {share:.0%}" for digit, share in shares.items()))

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for offset, (name, shares) in zip((-0.2, 0.2), found.items(), strict=True):
    axes.bar(np.arange(3) + offset, [100 * share for share in shares.values()], 0.36, label=name)
axes.set(
    xticks=range(3), xticklabels=["0 (old)", "1 (old)", "2 (new)"], ylabel="classified correctly (%)", ylim=(0, 105)
)
axes.legend(loc="lower center", frameon=False)
figure.savefig(options.out)
print(f"wrote {options.out}")
