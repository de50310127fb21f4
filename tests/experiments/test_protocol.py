import numpy as np
import pytest

from gemsnn.errors import ConfigError
from gemsnn.experiments import FULL, QUICK, Protocol
from gemsnn.experiments.protocol import PUBLISHED_CODE


def test_the_full_protocol_has_the_papers_sizes() -> None:
    assert FULL.compartments == (1, 2, 5, 10, 20)
    assert len(FULL.seeds) >= 5
    assert (FULL.n_hidden, FULL.learning_rate, FULL.kappa, FULL.gamma) == (200, 1e-3, 0.9, 0.9)
    assert (FULL.realisations, FULL.few_compartments, FULL.curves, FULL.confidence) == (20, 2, (1, 20), 0.95)


def test_the_quick_protocol_differs_in_size_only() -> None:
    sizes = {"name", "seeds", "compartments", "n_hidden", "epochs", "evaluation_points", "per_class"}
    different = {field for field in Protocol.model_fields if getattr(QUICK, field) != getattr(FULL, field)}
    assert different <= sizes


def test_the_published_codes_choices_are_settings_of_the_runs() -> None:
    labels = np.repeat([0, 1, 2], 10)
    protocol = Protocol.make("full", **PUBLISHED_CODE)
    assert (FULL.choices, protocol.choices) == ("the paper's text", "the published code")
    assert Protocol.make("full", lateral_outputs=True).choices == "other choices"
    config = protocol.training(5, 3, labels, 10)
    network = config.network(4, 3)
    assert network.topology.mask[-3:, -3:].tolist() == (1 - np.eye(3)).tolist()
    assert not network.topology.mask[:-3, -3:].any()
    parameters = config.initial_parameters(network)
    for array in (parameters.synaptic[network.topology.mask], parameters.somatic, parameters.bias):
        assert 0.05 < np.abs(array).max() <= 0.1
    usual, changed = (p.training(5, 3, labels, 10).identity() for p in (FULL, protocol))
    different = {name for name in usual if usual[name] != changed[name]}
    assert different == {"topology", "initial_uniform", "likelihood_mean"}


def test_evaluations_come_at_the_protocols_shares_of_the_run() -> None:
    labels = np.repeat([0, 1, 2], 40)  # 12 of which are held out
    protocol = Protocol.make("full", epochs=2, evaluation_points=(0.25, 0.5, 1.0))
    config = protocol.training(5, 3, labels, 10)
    assert config.eval_at == (540, 1080, 2160)
    assert (config.n_compartments, config.seed, config.threads) == (5, 3, 1)


def test_runs_of_one_seed_differ_in_K_only() -> None:
    labels = np.repeat([0, 1], 20)
    one, twenty = (FULL.training(K, 0, labels, 80).identity() for K in (1, 20))
    assert {name for name in one if one[name] != twenty[name]} == {"n_compartments"}


def test_a_changed_protocol_says_so() -> None:
    assert Protocol.make("quick", epochs=1).name == "quick, changed: epochs"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "epochs"),
        ({"epoch": 3}, "epoch: .*did you mean epochs"),
        ({"compartments": (1,)}, "at least two"),
        ({"seeds": (1, 1)}, "different values"),
        ({"curves": (1, 3)}, "among compartments"),
    ],
)
def test_impossible_protocols_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Protocol.make("full", **changes)
