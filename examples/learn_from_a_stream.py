"""Learn from an endless stream of spikes, one time step at a time, and watch a prediction firm up.

While a step comes with a target the network learns; without one it predicts. The stream keeps a constant amount of
memory however long it goes on, and says at every step what the evidence amounts to so far.

python examples/learn_from_a_stream.py --out learn_from_a_stream.png
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gemsnn

DIGITS, BIN_MS = (0, 1, 2), 25

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=Path("learn_from_a_stream.png"), help="picture to write")
out = parser.parse_args().out

preprocessing = gemsnn.events.mnist_dvs_preprocessing()
recordings = list(gemsnn.events.simulate_digits(DIGITS, per_class=(30, 12), seed=0))
train = [recording for recording in recordings if recording.split == "train"]
test = [recording for recording in recordings if recording.split == "test"]
np.random.default_rng(0).shuffle(train)

network = gemsnn.Network.fully_connected(preprocessing.n_inputs, n_hidden=30, n_visible=len(DIGITS))
rule = gemsnn.GEM(learning_rate=1e-3)
stream = gemsnn.Stream(network, network.init(seed=0), rule, n_compartments=10, seed=0)

# Learn: one recording after the other, as they come.
for recording in train:
    target = np.array(DIGITS) == recording.digit
    for spikes in preprocessing.bin(recording.events):
        stream.step(spikes, target)
    stream.reset()
print(f"learned from {len(train)} recordings")

# Predict: the answer after every step, from the votes of the compartments so far.
probabilities = np.empty((len(test), preprocessing.n_steps, len(DIGITS)))
for i, recording in enumerate(test):
    for t, spikes in enumerate(preprocessing.bin(recording.events)):
        probabilities[i, t] = stream.step(spikes).probabilities
    stream.reset()
time = BIN_MS * np.arange(1, preprocessing.n_steps + 1)
truth = np.array([recording.digit for recording in test])
right = probabilities.argmax(axis=2) == truth[:, None]
of_truth = probabilities[np.arange(len(test)), :, truth]
for t in (0, 4, 19, 79):
    print(f"after {time[t]:4d} ms: accuracy {right[:, t].mean():.2f}, mean p(truth) {of_truth[:, t].mean():.2f}")

# Draw, for each digit, the right answer that took longest to settle; and the accuracy over all.
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained", sharey=True)
for digit, panel in zip(DIGITS, axes, strict=False):
    slowest = min(np.flatnonzero((truth == digit) & right[:, -1]), key=lambda i: of_truth[i].mean())
    for other, line in zip(DIGITS, probabilities[slowest].T, strict=True):
        panel.plot(time, line, label=f"p({other})", linewidth=3 if other == digit else 1.5)
    panel.set(title=f"a hard {digit}", xlabel="time (ms)")
axes[0].set(ylabel="probability", ylim=(-0.03, 1.03))
axes[0].legend(loc="center right")
axes[3].plot(time, right.mean(axis=0), color="black", label="accuracy")
axes[3].plot(time, of_truth.mean(axis=0), color="black", linestyle=":", label="mean p(truth)")
axes[3].set(title=f"all {len(test)} test recordings", xlabel="time (ms)")
axes[3].legend(loc="lower right")
figure.savefig(out, dpi=100)
print(f"wrote {out}")
