"""From the spikes of a step to its learning signals, in all forms of learning."""

from __future__ import annotations

from typing import Any

from gemsnn.compiling.jit import FASTMATH, part
from gemsnn.engine.firing import add_up, weigh
from gemsnn.engine.objective_functions import ObjectiveArrays
from gemsnn.engine.rule_functions import RuleNumbers
from gemsnn.engine.steps import Steps


@part(fastmath=FASTMATH, error_model="numpy")
def make_post_factors(
    n_hidden: int, sends_back: bool, spikes: Any, probabilities: Any, factors: Any, post: Any, post_factor: Any
) -> None:
    """Write the post factors (K, n) of a step that learns: of hidden neurons the rule's, of visible ones the error.

    Where errors are sent back, those of visible neurons are p (1 - p). ``factors`` is scratch.
    """
    K, n = spikes.shape
    post_factor(spikes, probabilities, factors)
    for k in range(K):
        row = post[k]
        for i in range(n_hidden):
            row[i] = factors[k, i]
        if sends_back:
            for i in range(n_hidden, n):
                row[i] = probabilities[k, i] * (1 - probabilities[k, i])
        else:
            for i in range(n_hidden, n):
                row[i] = (1.0 if spikes[k, i] else 0.0) - probabilities[k, i]


@part(fastmath=FASTMATH, error_model="numpy")
def weigh_compartments(
    rule: RuleNumbers,
    objective: ObjectiveArrays,
    steps: Steps,
    step: int,
    log_probability: Any,
    log_weights: Any,
    importance: Any,
    report: Any,
) -> None:
    """Visible neurons report, the processor weighs the compartments; both become part of the step's information."""
    learns, reports, likelihood = steps.learns[step], steps.report[step], steps.log_likelihood[step]
    add_up(log_probability, likelihood)
    if learns and objective.reports:
        report(
            objective.settings, steps.spikes[step], steps.targets[step], log_probability, objective.memory,
            objective.of_visible, reports,
        )  # fmt: skip
    else:
        for k in range(reports.shape[0]):
            reports[k] = likelihood[k]
    weigh(rule.kappa, rule.beta, learns, reports, log_weights, importance)
    for k in range(reports.shape[0]):
        steps.log_weights[step, k], steps.importance[step, k] = log_weights[k], importance[k]


@part(fastmath=FASTMATH, error_model="numpy")
def send_signals(
    rule: RuleNumbers,
    objective: ObjectiveArrays,
    spikes: Any,
    log_weights: Any,
    importance: Any,
    memory: Any,
    visible: Any,
    hidden: Any,
    broadcast: Any,
    slopes: Any,
) -> None:
    """Write what the processor sends to visible and to hidden neurons, (K,) each; ``memory`` is the processor's."""
    K = importance.shape[0]
    if objective.sends_back:
        slopes(objective.settings, spikes, objective.memory, objective.slope, objective.at_once)
        for k in range(K):
            importance[k] = 1 / K
    broadcast(rule.settings, log_weights, importance, memory, visible, hidden)
    if objective.free:
        for k in range(K):
            visible[k] = hidden[k]
