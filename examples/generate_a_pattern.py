"""Learn to generate a spatio-temporal spike pattern: no classes, and no inputs either.

The visible neurons are connected to each other and to hidden neurons. While learning they are clamped to the pattern;
afterwards the network runs freely, every spike drawn by the neurons themselves, for twice as long as it has learned.
Nothing holds a free run in place: now and then one loses the thread and falls silent.

python examples/generate_a_pattern.py --out generate_a_pattern.png
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gemsnn

STEPS, N_HIDDEN, N_VISIBLE, PRESENTATIONS = 120, 40, 20, 150

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=Path("generate_a_pattern.png"), help="picture to write")
out = parser.parse_args().out

# The pattern: two waves that run through the population, one twice as fast as the other.
t = np.arange(STEPS)
pattern = np.zeros((STEPS, N_VISIBLE), dtype=bool)
for period, phase in ((40, 0.0), (20, 1.5)):
    place = (N_VISIBLE - 1) / 2 * (1 + 0.9 * np.sin(2 * np.pi * t / period + phase))
    pattern[t, place.round().astype(int)] = True

# Every neuron feeds every other one; what it did itself is its self-memory.
n_neurons = N_HIDDEN + N_VISIBLE
topology = gemsnn.Topology(0, N_HIDDEN, N_VISIBLE, mask=~np.eye(n_neurons, dtype=bool))
network = gemsnn.Network(topology, synaptic_filter=gemsnn.RaisedCosine(n_basis=5, duration=15))
parameters = network.init(seed=0, visible_bias=-2.0)

rule, no_inputs = gemsnn.GEM(learning_rate=0.05), np.zeros((STEPS, 0))
log_likelihood = []
for presentation in range(PRESENTATIONS):
    result = gemsnn.learn(network, parameters, rule, no_inputs, pattern, n_compartments=5, example=presentation)
    parameters = result.parameters
    log_likelihood.append(gemsnn.log_likelihood(network, parameters, no_inputs, pattern))
print(f"log-likelihood of the pattern: {log_likelihood[0]:.1f} at first, {log_likelihood[-1]:.1f} in the end")

# Each compartment is an independent run of the same weights.
free = gemsnn.sample(network, parameters, np.zeros((2 * STEPS, 0)), n_compartments=3, seed=1)
agreement = (free[:STEPS, :, N_HIDDEN:] == pattern[:, None]).mean(axis=(0, 2))
print("share of cells as in the pattern, each free run:", ", ".join(f"{share:.3f}" for share in agreement))

figure, axes = plt.subplots(5, 1, figsize=(9, 9), height_ratios=[1, 1, 1, 1, 1.2], layout="constrained")
axes[0].imshow(pattern.T, aspect="auto", cmap="Greys", interpolation="nearest", extent=(0, STEPS, N_VISIBLE, 0))
axes[0].set(title="the pattern to learn (visible neurons)", xlim=(0, 2 * STEPS), yticks=[])
for k, panel in enumerate(axes[1:4]):
    spikes = free[:, k, N_HIDDEN:].T
    panel.imshow(spikes, aspect="auto", cmap="Greys", interpolation="nearest", extent=(0, 2 * STEPS, N_VISIBLE, 0))
    panel.axvline(STEPS, color="tab:red", linewidth=1)
    panel.set(title=f"free run {k + 1}", yticks=[])
axes[0].text(STEPS + 3, N_VISIBLE / 2, "below, right of the red line:\nlonger than anything learned", color="tab:red")
axes[3].set_xlabel("time step")
axes[4].plot(range(1, PRESENTATIONS + 1), log_likelihood)
axes[4].set(xlabel="presentations of the pattern", ylabel="log-likelihood", yscale="symlog")
figure.savefig(out, dpi=100)
print(f"wrote {out}")
