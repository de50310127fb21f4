"""Choose settings by cross-validation, with scikit-learn's own tools.

Three classes, each with its own firing rates; examples differ in how clearly they show them, so some cannot be told
apart and a good classifier says so. Accuracy sees only the answers; the log loss sees the probabilities, too.

python examples/cross_validation.py --out cross_validation.png
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import gemsnn

EXAMPLES, STEPS, N_INPUTS, FOLDS = 120, 30, 60, 4
SCORES = {"accuracy": "accuracy", "neg_log_loss": "negative log loss"}
DECODERS = ("vote", "likelihood", "per-step")

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=Path("cross_validation.png"), help="picture to write")
out = parser.parse_args().out

rng = np.random.default_rng(0)
y = rng.integers(3, size=EXAMPLES)
rates = rng.normal(0.15, 0.1, size=(3, N_INPUTS)).clip(0.01, 0.6)
clarity = rng.uniform(size=(EXAMPLES, 1))
X = rng.random((EXAMPLES, STEPS, N_INPUTS)) < (clarity * rates[y] + (1 - clarity) * rates.mean(axis=0))[:, None]

search = GridSearchCV(
    gemsnn.SpikingClassifier(n_hidden=10, inference_compartments=20, schedule={"epochs": 5}),
    {"decoder": DECODERS, "rule__learning_rate": [3e-4, 1e-3, 3e-3]},
    scoring=list(SCORES),
    refit="neg_log_loss",  # choose by the probabilities, not by the answers alone
    cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0),
)
search.fit(X, y)
print("best by the log loss on held-out examples:", search.best_params_)

results = search.cv_results_
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for panel, (score, label) in zip(axes, SCORES.items(), strict=True):
    for colour, decoder in zip(("tab:blue", "tab:orange", "tab:green"), DECODERS, strict=True):
        rows = np.flatnonzero(results["param_decoder"] == decoder)
        learning_rates = results["param_rule__learning_rate"][rows].astype(float)
        folds = np.array([results[f"split{fold}_test_{score}"][rows] for fold in range(FOLDS)])
        panel.plot(learning_rates, folds.mean(axis=0), "o-", color=colour, label=decoder)
        panel.plot(np.tile(learning_rates, FOLDS), folds.ravel(), "o", color=colour, alpha=0.3, markersize=4)
        print(f"{label}, {decoder}: " + ", ".join(f"{mean:.3f}" for mean in folds.mean(axis=0)))
    panel.set(xscale="log", xlabel="learning rate", title=f"{label}: {FOLDS} folds and their mean")
    panel.set_xticks(learning_rates, labels=[f"{rate:g}" for rate in learning_rates])
    panel.minorticks_off()
axes[0].legend(title="decoder")
figure.savefig(out, dpi=100)
print(f"wrote {out}")
