"""Classify simulated event-camera recordings of digits, and see which answers the network is unsure of.

python examples/classify_with_uncertainty.py --out classify_with_uncertainty.png
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gemsnn

DIGITS = (0, 1, 2)

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=Path("classify_with_uncertainty.png"), help="picture to write")
out = parser.parse_args().out

# A DVS watches moving digits; its events become 80 time steps of input spikes: 26 x 26 cells, OFF and ON.
preprocessing = gemsnn.events.mnist_dvs_preprocessing()
recordings = list(gemsnn.events.simulate_digits(DIGITS, per_class=(30, 20), seed=0))
X = np.array([preprocessing.bin(recording.events) for recording in recordings])
y = np.array([recording.digit for recording in recordings])
train = np.array([recording.split == "train" for recording in recordings])

classifier = gemsnn.SpikingClassifier(n_hidden=50, inference_compartments=20, network={"grid": (26, 26)})
classifier.fit(X[train], y[train])
tested = [recording for recording in recordings if recording.split == "test"]
truth, probabilities = y[~train], classifier.predict_proba(X[~train])
predicted = classifier.classes_[probabilities.argmax(axis=1)]
accuracy = gemsnn.metrics.accuracy(truth, predicted)
ece = gemsnn.metrics.expected_calibration_error(truth, probabilities)
print(f"{len(truth)} test recordings: accuracy {accuracy:.3f}, expected calibration error {ece:.3f} (10 bins)")

# Draw the least and the most certain answers.
order = probabilities.max(axis=1).argsort()
shown = [*order[:5], *order[-3:]]
figure, axes = plt.subplots(2, len(shown), figsize=(12, 3.8), height_ratios=[1.6, 1], layout="constrained")
for (picture, bars), i in zip(axes.T, shown, strict=True):
    planes = preprocessing.upright(preprocessing.planes(tested[i].events))  # MNIST-DVS lies on its side
    gemsnn.plot.picture(planes[:4].sum(axis=0), axes=picture, title=f"shows a {truth[i]}")
    colours = ["tab:green" if digit == truth[i] else "tab:red" for digit in DIGITS]
    bars.bar([str(digit) for digit in DIGITS], probabilities[i], color=colours)
    bars.set(ylim=(0, 1), yticks=[0, 0.5, 1], yticklabels=[0, 0.5, 1] if i == shown[0] else [])
    bars.spines[["top", "right"]].set_visible(False)
axes[1, 0].set_ylabel("probability")
figure.suptitle(f"The five least and the three most certain answers of {len(truth)}: accuracy {100 * accuracy:.0f} %")
figure.savefig(out, dpi=100)
print(f"wrote {out}")
