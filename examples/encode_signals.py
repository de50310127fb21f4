"""Signals that are no spikes yet: an electroencephalogram by delta modulation, wines by Gaussian receptive fields.

Both are real and come with packages that gemsnn needs anyway: ten seconds of EEG from Matplotlib's sample data, four
electrodes at 80 samples per second; and 13 chemical measurements of 178 wines of three growers from scikit-learn.

python examples/encode_signals.py --out encode_signals.png
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import gemsnn
from gemsnn import encode

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=Path("encode_signals.png"), help="picture to write")
out = parser.parse_args().out

# A time series: a spike whenever an electrode's voltage has changed by a threshold. With one spike per step at most,
# steps must be short for the spikes to keep up: eight of them from one sample to the next.
samples = np.fromfile(get_sample_data("eeg.dat", asfileobj=False)).reshape(800, 4)
times = np.arange(0, 799, 1 / 8)
eeg = np.stack([np.interp(times, np.arange(800), electrode) for electrode in samples.T], axis=1)
threshold = 0.2 * eeg.std(axis=0)
spikes = encode.delta_modulation(eeg, threshold)
back = encode.delta_demodulation(spikes, threshold, eeg[0])
error = np.sqrt(((back - eeg) ** 2).mean(axis=0) / eeg.var(axis=0))
print(f"EEG: {spikes.mean():.2f} spikes per step and channel tell the signal up to {error.mean():.0%} of its deviation")

# A table: every measurement becomes the activity of five neurons, and the more active one is, the earlier it spikes.
X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
mean, deviation = X_train.mean(axis=0), X_train.std(axis=0)
fields = encode.ReceptiveFields(low=-2.5, high=2.5, n_fields=5)


def encoded(values):
    """(n, 25 steps, 65 inputs)"""
    return encode.latency(fields.encode((values - mean) / deviation), n_steps=25, least=0.1)


classifier = gemsnn.SpikingClassifier(n_hidden=20, rule={"learning_rate": 0.01}, random_state=0)
classifier.fit(encoded(X_train), y_train)
probabilities = classifier.predict_proba(encoded(X_test))
ece = gemsnn.metrics.expected_calibration_error(y_test, probabilities)
print(
    f"wines: {(probabilities.argmax(axis=1) == y_test).mean():.1%} of {len(y_test)} right, calibration error {ece:.3f}"
)

figure, axes = plt.subplots(1, 3, figsize=(14, 4), layout="constrained", width_ratios=[2, 1, 1])
part = slice(0, 2400)  # of 8 x 80 steps per second
gemsnn.plot.encoding(
    eeg[part],
    spikes[part],
    back[part],
    ["PG3", "PG5", "PG7", "PG9"],
    step_ms=12.5 / 8,
    axes=axes[0],
    title="EEG",
)
gemsnn.plot.receptive_fields(fields.centres, fields.deviation, axes=axes[1], title="how a measurement is shared")
gemsnn.plot.raster(encoded(X_test[:1])[0], ylabel="input", axes=axes[2], title=f"a wine of grower {y_test[0]}")
figure.savefig(out, dpi=100)
print(f"wrote {out}")
