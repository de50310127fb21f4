"""Complete recordings: the left half of a digit is given, the network learns to produce the right half.

There are many ways to complete a digit, and the model is a distribution over them: this is a task for several
compartments. Targets are spike patterns here, one visible neuron per pixel, and not classes.

python examples/complete_recordings.py --out complete_recordings.png
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gemsnn
from gemsnn.events import complete_prepared, mnist_dvs_preprocessing, open_prepared, simulate_prepared
from gemsnn.events.completion import whole_pictures
from gemsnn.training import TrainingConfig, train

N_HIDDEN, COMPARTMENTS, SAMPLES = 60, 2, 20

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=Path("complete_recordings.png"), help="picture to write")
out = parser.parse_args().out

# With the default gain of 10, made for classes, the errors of hundreds of visible neurons are too much.
rule = {"kind": "feedback", "gain": 1.0, "learning_rate": 3e-3}
config = TrainingConfig.make(n_hidden=N_HIDDEN, n_compartments=COMPARTMENTS, epochs=5, rule=rule, likelihood_samples=3)
merged = mnist_dvs_preprocessing(4).model_copy(update={"polarity": "merged"})

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    simulate_prepared(folder / "whole.h5", digits=(0, 1), per_class=(100, 10), preprocessing=merged)
    complete_prepared(folder / "whole.h5", folder / "halves.h5", half="right")
    with open_prepared(folder / "halves.h5") as data:
        trainer = train(config, data, folder / "run").trainer
        model, best = trainer.model(), trainer.state.progress.best
        rows = []
        for index in (0, len(data.test) // 2):  # one recording of each digit
            given, truth = data.test[index], data.test.target(index)
            spikes = gemsnn.sample(model.network, model.parameters, given, n_compartments=SAMPLES, seed=1)
            produced = spikes[..., N_HIDDEN:].swapaxes(0, 1)  # (SAMPLES, T, n_visible)
            halves = {"given": np.zeros_like(truth), "truth": truth, "a sample": produced[0], "another": produced[1]}
            pictures = {name: whole_pictures(data, given, other).sum(axis=0) for name, other in halves.items()}
            every = [whole_pictures(data, given, one).sum(axis=0) for one in produced]
            rows.append(pictures | {f"mean of {SAMPLES}": np.mean(every, axis=0)})

print(f"mean log-likelihood of the right half of unseen recordings: {best['test']['log_likelihood']:.0f} nats")

figure, axes = plt.subplots(len(rows), len(rows[0]), figsize=(11, 2.4 * len(rows)), layout="constrained")
for row, pictures in zip(axes, rows, strict=True):
    for panel, (title, picture) in zip(row, pictures.items(), strict=True):
        gemsnn.plot.picture(picture, axes=panel, title=title)
figure.suptitle("blue: given; orange: the truth, or produced by the network")
figure.savefig(out, dpi=100)
print(f"wrote {out}")
