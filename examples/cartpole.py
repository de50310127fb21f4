"""Balance a pole by rewards alone: CartPole of gymnasium, learned by a spiking network that acts at random.

Position, speed, angle and angular speed become input spikes through place cells. Two visible neurons form a
winner-take-all circuit: exactly one spikes per step, and the one that wins most of four steps is the action. The only
thing that the network is ever told is -1 when the pole has fallen. Twenty compartments act in twenty environments and
share their weights.

Draws the returns; --page writes an animation of the learned policy. Needs: pip install gemsnn[gymnasium]

python examples/cartpole.py --out cartpole.png --page cartpole.html
"""

import argparse
import json
from pathlib import Path

import gymnasium
import matplotlib.pyplot as plt
import numpy as np

import gemsnn

K = 20  # compartments, each in an environment of its own
STEPS = 4  # of the network per action: a trace sees spikes up to the step before
CELLS = 12  # place cells for each of the four numbers
LIMITS = np.array([2.4, 3.0, 0.21, 3.0])

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=Path("cartpole.png"), help="picture to write")
parser.add_argument("--page", type=Path, help="animation to write")
parser.add_argument("--actions", type=int, default=10_000, help="of each compartment")
given = parser.parse_args()

network = gemsnn.Network(
    gemsnn.Topology.fully_connected(4 * CELLS, 0, 2),
    gemsnn.Exponential((1.5,), duration=12),
    visible_memory=False,
    circuits=[[0, 1]],
)
# The eligibility remembers some fifty actions; the running mean that rewards are compared with, more than that.
rule = gemsnn.MB(learning_rate=0.1, kappa=0.0, gamma=0.995, baseline=0.995)
stream = gemsnn.Stream(network, network.init(seed=0), rule, n_compartments=K, objective=gemsnn.Reward())
rng = np.random.default_rng(0)


def spikes(states):
    """(K, 4 * CELLS) random spikes of the place cells, most probable where a cell's place is the state."""
    places = np.linspace(-1, 1, CELLS)
    at = np.clip(states / LIMITS, -1, 1)[:, :, None]
    probability = 0.8 * np.exp(-0.5 * ((at - places) / (places[1] - places[0])) ** 2)
    return rng.random((len(states), 4 * CELLS)) < probability.reshape(len(states), -1)


def act(of, states):
    """(K,) actions: the visible neuron with most spikes; the last one's where both have as many."""
    counts = 0
    for _ in range(STEPS):
        fired = of.step(spikes(states)).spikes[:, -2:]
        counts = counts + fired
    return np.where(counts[:, 0] == counts[:, 1], fired[:, 1], counts.argmax(axis=1)).astype(int)


# ---- learning

environments = [gymnasium.make("CartPole-v1") for _ in range(K)]
states = np.array([environment.reset(seed=k)[0] for k, environment in enumerate(environments)])
lengths, returns = np.zeros(K, dtype=int), []
for _ in range(given.actions):
    actions, fallen, over = act(stream, states), np.zeros(K, dtype=bool), np.zeros(K, dtype=bool)
    for k, environment in enumerate(environments):
        states[k], _, fallen[k], late, _ = environment.step(actions[k])
        over[k] = fallen[k] or late
    lengths += 1
    stream.reward(np.where(fallen, -1.0, 0.0))
    if over.any():
        stream.end(over)
        returns += lengths[over].tolist()
        lengths[over] = 0
        for k in np.flatnonzero(over):
            states[k] = environments[k].reset()[0]

late = returns[-100:]
print(f"{len(returns)} episodes; the last {len(late)} lasted {np.mean(late):.0f} steps on average, of 500 at most")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(returns, ".", markersize=2, alpha=0.4)
axes.plot(np.arange(len(late) - 1, len(returns)), np.convolve(returns, np.ones(len(late)) / len(late), "valid"))
axes.set(xlabel="episode", ylabel="steps until the pole fell", ylim=(0, 510))
figure.savefig(given.out, dpi=150)

# ---- the learned policy: without rewards, the weights stay as they are

player = gemsnn.Stream(network, stream.parameters, rule, n_compartments=1, seed=1, objective=gemsnn.Reward())
environment = gymnasium.make("CartPole-v1")
state, frames, over = environment.reset(seed=1000)[0], [], False
while given.page and not over:
    (action,) = act(player, state[None])
    frames.append([round(float(state[0]), 3), round(float(state[2]), 3), int(action)])
    state, _, fell, late, _ = environment.step(int(action))
    over = fell or late

PAGE = """<!doctype html><meta charset="utf-8"><title>CartPole</title>
<canvas id="c" width="640" height="260"></canvas><p id="t"></p><script>
const frames = FRAMES, c = document.getElementById("c").getContext("2d");
let n = 0;
setInterval(() => {
  const [x, angle, action] = frames[n % frames.length], at = 320 + x * 120;
  c.clearRect(0, 0, 640, 260); c.lineWidth = 2; c.strokeRect(32, 220, 576, 1);
  c.fillStyle = "#345"; c.fillRect(at - 30, 195, 60, 25);
  c.lineWidth = 8; c.strokeStyle = "#c72"; c.beginPath(); c.moveTo(at, 195);
  c.lineTo(at + 150 * Math.sin(angle), 195 - 150 * Math.cos(angle)); c.stroke(); c.strokeStyle = "#345";
  c.fillText(action ? "\\u2192" : "\\u2190", at - 5, 245);
  document.getElementById("t").textContent = `step ${n % frames.length + 1} of ${frames.length}`;
  n += 1;
}, 20);
</script>
"""
if given.page:
    given.page.write_text(PAGE.replace("FRAMES", json.dumps(frames)), encoding="utf-8")
    print(f"wrote {given.page}: the learned policy, {len(frames)} steps")
print(f"wrote {given.out}")
