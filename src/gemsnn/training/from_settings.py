"""Builds the parts of a training run from its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gemsnn.common.threads import usable_threads
from gemsnn.errors import ConfigError, DataError
from gemsnn.events.importing import read_background
from gemsnn.learning import TraceMeans
from gemsnn.model import Network, Parameters
from gemsnn.model.spike_list import SpikeList
from gemsnn.training.adapted import merged_polarities
from gemsnn.training.augmentation import DEFAULT_SHIFT, SMALLEST_SIDE, Augmentation, Shift
from gemsnn.training.config import TrainingConfig
from gemsnn.training.data import Data, are_classes
from gemsnn.training.evaluations import Evaluations, criterion
from gemsnn.training.from_model import OWN_PARTS, FromModel, fingerprint
from gemsnn.training.nothing import DEFAULT_SHARE, LessonsAboutNothing
from gemsnn.training.partition import Partition, example_weights
from gemsnn.training.randomness import epoch_order
from gemsnn.training.step_size import suited_learning_rate
from gemsnn.training.trainer import Trainer, TrainingState


def trainer_of(
    config: TrainingConfig,
    data: Data,
    state: TrainingState | None = None,
    *,
    network: Network | None = None,
    parameters: Parameters | None = None,
    from_model: FromModel | None = None,
    background: Sequence[SpikeList] = (),
    engine: str = "compiled",
) -> Trainer:
    """The trainer that settings describe; its rule has a learning rate, measured on the data if settings give none.

    Parameters
    ----------
    config, data
        All settings, and ``gemsnn.events.open_prepared(...)`` or anything of that shape.
    state
        State to resume from; default: the beginning.
    network, parameters
        A custom network and initial parameters, in place of those that the settings describe.
    from_model
        A trained model, whose network, weights and means the run starts with.
    background
        Spikes of the background, in addition to the folder in the settings.
    engine
        What computes learning and evaluations: ``"compiled"`` or ``"reference"``.
    """
    data = merged_polarities(data) if config.merge_polarities else data
    begun = None
    if from_model is not None:
        if network is not None or parameters is not None:
            raise ConfigError("from_model brings a network and its weights: leave network and parameters out")
        begun = from_model.begin(config, data)
        network, parameters, data = begun.network, begun.parameters, begun.data
    partition = partition_of(config, data)
    if network is None:
        network = config.network(data.n_inputs, data.n_visible, are_classes(data.train))
    if parameters is None:
        parameters = config.initial_parameters(network)
    replay = () if begun is None or begun.replay is None else (begun.replay,)
    means = None if begun is None else begun.means
    rule, objective_rule = config.rule, config.objective_rule or config.rule
    if None in (rule.learning_rate, objective_rule.learning_rate):
        order = partition.training[epoch_order(len(partition.training), config.seed, 0)]
        suited = suited_learning_rate(network, data.train, order, config.mean_free)
        rule, objective_rule = (
            replace(one, learning_rate=suited) if one.learning_rate is None else one for one in (rule, objective_rule)
        )
    return Trainer(
        network,
        parameters.astype(np.dtype(config.dtype)),
        rule,
        data,
        partition,
        n_compartments=config.n_compartments,
        schedule=config.schedule,
        augmentation=(*replay, *augmentation_of(config, data, background)),
        evaluations=evaluations_of(config),
        means=means_of(config, network) if means is None else means,
        seed=config.seed,
        first=0 if begun is None else begun.examples,
        threads=usable_threads(config.threads),
        engine=engine,
        objective=config.objective,
        likelihood_first=config.likelihood_first,
        objective_rule=objective_rule,
        state=state,
    )


def identity_of(
    config: TrainingConfig, trainer: Trainer, own_parts: bool = False, from_model: FromModel | None = None
) -> dict[str, Any]:
    """What determines a run's results, besides the data, as JSON values.

    ``own_parts``: whether network or parameters are custom; the trainer must be at its beginning.
    """
    identity = config.identity()
    for part in trainer.augmentation:
        if isinstance(part, LessonsAboutNothing) and part.background:
            identity["background recordings"] = part.fingerprint
    if own_parts:
        identity[OWN_PARTS] = fingerprint(trainer.network, trainer.state.parameters)
    if from_model is not None:
        identity["from_model"] = from_model.identity(trainer.data)
    return identity


def partition_of(config: TrainingConfig, data: Data) -> Partition:
    """What is learned from, and what is held out."""
    return Partition.stratified(
        data,
        example_weights(config.class_weight, data),
        fraction=config.validation_fraction,
        validation_limit=config.validation_limit,
        test_limit=config.test_limit,
        seed=config.seed,
    )


def evaluations_of(config: TrainingConfig) -> Evaluations:
    """When to evaluate, and how."""
    patience = config.patience
    if patience is None and config.epochs is not None:
        patience = 0  # an explicit number of epochs is not cut short
    return Evaluations(
        (config.main_decoder, *config.extra_decoders),
        config.eval_every,
        config.eval_at,
        criterion(config.select_by, config.patience),
        patience,
        config.likelihood_samples,
        config.likelihood_mean,
        config.n_bins,
    )


def augmentation_of(
    config: TrainingConfig, data: Data, background: Sequence[SpikeList] = ()
) -> tuple[Augmentation, ...]:
    """The augmentation and the additional lessons that settings ask for."""
    shift = shift_of(config.shift, config.grid or data.grid, data.n_inputs, data.target_grid is not None)
    nothing = nothing_of(config, data, background)
    return tuple(part for part in (shift, nothing) if part is not None)


def nothing_of(config: TrainingConfig, data: Data, background: Sequence[SpikeList] = ()) -> LessonsAboutNothing | None:
    """The lessons about nothing that settings ask for, if any."""
    labels, share = data.train.labels, config.nothing_share
    if labels is None or data.train.load(0)[1] is not None:
        if share or background or config.background is not None:
            raise ConfigError("lessons about nothing need examples that have classes, but these have spike patterns")
        return None
    if config.background is not None:
        if data.preprocessing is None:
            raise DataError(f"{config.background}: the examples are no recordings, so these cannot be prepared alike")
        background = (*background, *read_background(config.background, data.preprocessing))
    if share is None:
        share = DEFAULT_SHARE if labels.ndim == 1 or background else 0.0
    if share == 0:
        return None
    grid, several = config.grid or data.grid, labels.ndim == 2
    return LessonsAboutNothing(share, data.n_inputs, grid, several, tuple(background))


def shift_of(largest: int | None, grid: tuple[int, int] | None, n_inputs: int, targets_stay: bool) -> Shift | None:
    """The shift that settings ask for, if any.

    Parameters
    ----------
    largest
        None: the default on a grid of at least 16 x 16, otherwise no shift.
    grid
        Rows and columns, if known.
    n_inputs
        Of the data: one or more planes of rows x columns.
    targets_stay
        Whether the targets are pictures, which would have to move too: then nothing moves.
    """
    if targets_stay and largest:
        raise ConfigError(f"shift = {largest}: the targets are pictures and would not move along; set it to 0")
    if grid is None:
        if largest:
            raise ConfigError(
                f"shift = {largest}: how the inputs are arranged is not known; set grid to (rows, columns), or shift "
                "to 0"
            )
        return None
    if n_inputs % (grid[0] * grid[1]):
        raise ConfigError(f"grid = {grid}: {n_inputs} inputs are not planes of {grid[0]} rows and {grid[1]} columns")
    if largest is None:
        largest = DEFAULT_SHIFT if min(grid) >= SMALLEST_SIDE and not targets_stay else 0
    if largest >= min(grid):
        raise ConfigError(f"shift = {largest}: must be smaller than the grid's sides, {grid[0]} and {grid[1]}")
    return Shift(largest, grid) if largest else None


def means_of(config: TrainingConfig, network: Network) -> TraceMeans | None:
    """Initial means; None without mean-free learning."""
    return TraceMeans.zero(network) if config.mean_free else None
