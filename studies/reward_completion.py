"""Half a recording is given, the other half produced: by likelihood, or by van Rossum reward after likelihood."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from task_data import real_data

from gemsnn.events import (
    complete_prepared,
    find_nmnist,
    import_recordings,
    mnist_dvs_preprocessing,
    nmnist_preprocessing,
    open_prepared,
    simulate_prepared,
)
from gemsnn.training import TrainingConfig, trainer_of

TASKS = ("N-MNIST", "simulated digits")
DIGITS, PER_CLASS, EPOCHS = (0, 1, 2), (40, 20), 8
N_MNIST_TEST = 0.5
LIKELIHOOD_RATES = {"N-MNIST": 3e-3, "simulated digits": 1e-3}  # the best ones of the study of rules
FEEDBACK = {"kind": "feedback", "gain": 1.0, "target_rate": 1.0}
METHODS: dict[str, tuple[int, dict[str, Any] | None]] = {  # K, and the rule of the second part
    "likelihood": (1, None),
    "Feedback, K = 1": (1, FEEDBACK),
    "MB, K = 5": (5, {"kind": "mb", "kappa": 0.0, "baseline": "leave-one-out"}),
}


def data_file(folder: Path, task: str, seed: int) -> Path:
    """The prepared file; it is made unless it is there."""
    file = folder / "data" / f"{task.replace(' ', '-')}-{seed}.h5"
    if file.exists():
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    whole, partial = file.with_suffix(".whole.h5"), file.with_suffix(".partial.h5")
    if task == "N-MNIST":
        choices = nmnist_preprocessing().model_copy(update={"downsample": 2, "polarity": "merged"})
        inventory = find_nmnist(real_data() / "n-mnist", DIGITS)
        import_recordings(
            inventory, whole, preprocessing=choices, split="stratified", test_fraction=N_MNIST_TEST, seed=seed
        )
    else:
        choices = mnist_dvs_preprocessing().model_copy(update={"polarity": "merged"})
        simulate_prepared(whole, digits=DIGITS, per_class=PER_CLASS, seed=seed, preprocessing=choices, workers=1)
    complete_prepared(whole, partial, half="right")
    whole.unlink()
    partial.rename(file)
    return file


def measured(folder: Path, task: str, method: str, rate: float, seed: int) -> dict[str, Any]:
    """Figures of the test recordings at the end of training; nothing is chosen on them.

    Where the objective changes after a third of the run, the likelihood's rate stays what it is, and ``rate`` is the
    second part's.
    """
    K, rule = METHODS[method]
    by_likelihood = {**FEEDBACK, "learning_rate": rate if rule is None else LIKELIHOOD_RATES[task]}
    config = TrainingConfig.make(
        topology={"kind": "fully-connected"},
        readout="bernoulli",
        synaptic_filter={"kind": "exponential", "time_constants": (2.0, 10.0, 80.0), "duration": 80},
        visible_memory=False,
        mean_free=False,
        shift=0,
        n_hidden=60,
        n_compartments=K,
        rule=by_likelihood,
        objective={"kind": "likelihood"} if rule is None else {"kind": "van-rossum"},
        objective_rule=None if rule is None else {**rule, "learning_rate": rate},
        epochs=EPOCHS,
        learning_rate_schedule="cosine",
        validation_fraction=0.15,
        eval_every=10**9,  # only at the end
        inference_compartments=5,
        likelihood_samples=5,
        threads=1,
        seed=seed,
    )
    with open_prepared(data_file(folder, task, seed)) as data:
        trainer, seconds = trainer_of(config, data), 0.0
        while not trainer.evaluation_due:
            begin = time.process_time()
            trainer.learn_next()
            seconds += time.process_time() - begin
        record = trainer.evaluate().record
    validation, test = record["validation"], record["test"]
    return {
        "score": -validation["over_silence"]["5"],
        "over_silence": test["over_silence"],
        "spikes": test["visible_spikes_per_step"] / test["target_spikes_per_step"],
        "log_likelihood": test["log_likelihood"],
        "hidden_spikes": test["hidden_spikes_per_step"],
        "seconds": seconds,
    }
