"""Three kinds of pictures become recordings of a simulated event camera, and a classifier learns to tell them apart.

    python examples/learn_from_pictures.py --out learn_from_pictures.png

The pictures are drawn here; a folder of your own PNG or JPEG files does as well: gemsnn.events.simulate_pictures.
"""

import argparse

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import gemsnn
from gemsnn import plot
from gemsnn.events import Variation, mnist_dvs_preprocessing, simulate

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", default="learn_from_pictures.png")
options = parser.parse_args()

KINDS = ("disc", "cross", "bars")


def drawn(kind, rng):
    """(60, 60): a white shape on black, of another size and place each time."""
    size = rng.uniform(14, 26)
    row, column = np.mgrid[:60, :60] - rng.uniform(26, 34, size=2)[:, None, None]
    inside = np.maximum(abs(row), abs(column)) < size
    shapes = {
        "disc": np.hypot(row, column) < size,
        "cross": inside & (np.minimum(abs(row), abs(column)) < size / 4),
        "bars": inside & (row // (size / 3) % 2 == 0),
    }
    return shapes[kind].astype(float)


class Recordings:
    """A data set as PyTorch has them: its items are pairs of events and a label."""

    def __init__(self, per_kind, seed, vary):
        self.per_kind, self.seed, self.vary = per_kind, seed, vary

    def __len__(self):
        return len(KINDS) * self.per_kind

    def __getitem__(self, index):
        kind = KINDS[index % len(KINDS)]
        picture = drawn(kind, np.random.default_rng([self.seed, index]))
        return simulate(picture, np.random.SeedSequence([self.seed, index, 1]), vary=self.vary), kind


seen = Recordings(per_kind=15, seed=0, vary=Variation())
unseen = Recordings(per_kind=10, seed=1, vary=None)
choices = mnist_dvs_preprocessing().model_copy(update={"downsample": 2})  # 13 x 13 pixels: quick
classifier = gemsnn.SpikingClassifier(n_hidden=40, schedule={"epochs": 12}, preprocessing=choices).fit(seen)
print(f"{classifier.score(unseen):.0%} of {len(unseen)} recordings of other pictures classified correctly")

figure, axes = plt.subplots(2, 3, figsize=(7, 4.8), layout="constrained")
for place, kind in enumerate(KINDS):
    axes[0, place].imshow(drawn(kind, np.random.default_rng([1, place])), cmap="gray")
    axes[0, place].set(title=kind, xticks=[], yticks=[])
    events = unseen[place][0]
    frames = choices.upright(choices.planes(events))
    both = np.concatenate([0 * frames, frames], axis=1) if frames.shape[1] == 1 else frames
    plot.picture(both.sum(axis=0, dtype=float), axes=axes[1, place], title=f"{len(events)} events")
figure.savefig(options.out)
print(f"wrote {options.out}")
