"""A network of your own: a recurrent graph from networkx, and what its feedback is good for.

A cue, five steps long, says which way a wave of spikes shall run around a ring of visible neurons. The synapses are
few and local: every neuron hears its neighbours only. The wave goes on after the cue has ended, so the ring itself has
to remember the direction; the same graph without its feedback (the synapses between visible neurons) cannot.

It needs networkx: pip install "gemsnn[graphs]"

python examples/custom_recurrent_graph.py --out custom_recurrent_graph.png
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import gemsnn

SIZE, STEPS, CUE_STEPS, PRESENTATIONS = 16, 64, 5, 400
CUES = {"clockwise": 1, "anticlockwise": -1}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=Path("custom_recurrent_graph.png"), help="picture to write")
out = parser.parse_args().out


def ring(feedback: bool) -> nx.DiGraph:
    """Two cues feed hidden neurons and the ring; hidden and visible neurons are neighbours around it."""
    graph = nx.DiGraph()
    graph.add_nodes_from(CUES, role="input")
    graph.add_nodes_from((("hidden", i) for i in range(SIZE)), role="hidden")
    graph.add_nodes_from((("visible", i) for i in range(SIZE)), role="visible")
    for i in range(SIZE):
        for cue in CUES:
            graph.add_edge(cue, ("hidden", i))
            graph.add_edge(cue, ("visible", i))
        graph.add_edge(("hidden", i), ("visible", i))
        if feedback:
            for step in (-3, -2, -1, 1, 2, 3):
                graph.add_edge(("visible", i), ("visible", (i + step) % SIZE))
            graph.add_edge(("visible", i), ("hidden", i))
    return graph


def cue_and_wave(direction: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (T, 2) and desired visible spikes (T, SIZE): three neurons wide, a step around the ring a time step."""
    inputs, wave = np.zeros((STEPS, 2)), np.zeros((STEPS, SIZE))
    inputs[:CUE_STEPS, list(CUES.values()).index(direction)] = 1
    t = np.arange(STEPS)
    for offset in (-1, 0, 1):
        wave[t, (direction * t + offset) % SIZE] = 1
    wave[:1] = 0  # a spike is heard one step later
    return inputs, wave


def train(graph: nx.DiGraph) -> tuple[gemsnn.Network, gemsnn.Parameters]:
    network = gemsnn.Network(gemsnn.Topology.from_networkx(graph))
    parameters = network.init(seed=0, visible_bias=-2.0)
    for presentation in range(PRESENTATIONS):
        inputs, wave = cue_and_wave((1, -1)[presentation % 2])
        rule = gemsnn.GEM(learning_rate=0.05)
        result = gemsnn.learn(network, parameters, rule, inputs, wave, n_compartments=5, example=presentation)
        parameters = result.parameters
    return network, parameters


figure = plt.figure(figsize=(12, 5.4), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[1, 1.7])
panels = right.subplots(3, 2, sharex=True, sharey=True)
rows = {"the waves to learn": None, "free run, with feedback": ring(True), "free run, without feedback": ring(False)}
for row, (title, graph) in zip(panels, rows.items(), strict=True):
    trained = None if graph is None else train(graph)
    for panel, (cue, direction) in zip(row, CUES.items(), strict=True):
        inputs, wave = cue_and_wave(direction)
        if trained is not None:
            network, parameters = trained
            estimate = gemsnn.log_likelihood(network, parameters, inputs, wave)
            print(f"{title}, {cue}: {network.topology}, log-likelihood of the wave {estimate:.1f}")
            wave = gemsnn.sample(network, parameters, inputs, seed=1)[:, 0, network.n_hidden :]
        panel.imshow(wave.T, aspect="auto", cmap="Greys", interpolation="nearest")
        panel.axvspan(-0.5, CUE_STEPS - 0.5, color="tab:orange", alpha=0.4)
        panel.set(title=f"{title}: {cue}", yticks=[])
for panel in panels[-1]:
    panel.set_xlabel("time step (orange: the cue)")

graph = ring(True)
angle = 2 * np.pi * np.arange(SIZE) / SIZE
place = {("visible", i): (np.sin(a), np.cos(a)) for i, a in enumerate(angle)}
place |= {("hidden", i): (0.6 * np.sin(a), 0.6 * np.cos(a)) for i, a in enumerate(angle)}
place |= {"clockwise": (0.12, 0), "anticlockwise": (-0.12, 0)}
colour = {"input": "tab:orange", "hidden": "lightgrey", "visible": "black"}
axes = left.subplots()
nx.draw_networkx_edges(graph, place, ax=axes, alpha=0.25, node_size=80, arrowsize=6, connectionstyle="arc3,rad=0.15")
nx.draw_networkx_nodes(
    graph, place, ax=axes, node_size=80, node_color=[colour[role] for _, role in graph.nodes(data="role")]
)
axes.set(title=f"the graph: {graph.number_of_edges()} synapses\norange: cues, grey: hidden, black: visible")
axes.set_aspect("equal")
axes.axis("off")
figure.savefig(out, dpi=100)
print(f"wrote {out}")
