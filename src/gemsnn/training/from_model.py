"""Training that starts from a trained model: classes that stay, new classes, and replay against forgetting."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError, DataError
from gemsnn.learning import TraceMeans
from gemsnn.model import Circuit, Network, Parameters, Topology
from gemsnn.training.adapted import relabelled, with_inputs_of
from gemsnn.training.augmentation import Replay
from gemsnn.training.config import TrainingConfig
from gemsnn.training.data import Data
from gemsnn.training.model import Model

REPLAY_SHARE = 0.5
OWN_PARTS = "own network and parameters"
"""Key, among a run's settings, of parts that settings do not describe."""


class Beginning(NamedTuple):
    """The beginning of a run that starts from a model."""

    network: Network
    parameters: Parameters
    means: TraceMeans | None
    data: Data  #: with the classes of the network
    replay: Replay | None
    examples: int  #: number learned before


@dataclass(frozen=True, eq=False)
class FromModel:
    """A trained model to start from.

    Classes are matched by name. Classes of the data that the model does not have are added: the readout grows, all old
    weights stay as they are, and the new ones are initialised as in a new network. Classes of the model that the data
    do not have also stay, unless they are dropped.

    Parameters
    ----------
    model
        For example ``gemsnn.load_model("runs/first")``.
    rename
        New names of the model's classes, by old name.
    drop
        Classes of the model that are removed.
    replay
        Old data, whose training examples are replayed so that the network forgets less.
    replay_share
        Fraction of replayed examples among all that are learned.
    sort
        Sort all classes in ascending order; otherwise new ones come after those of the model.

    Examples
    --------
    >>> import tempfile, numpy as np, gemsnn
    >>> folder, rng = tempfile.TemporaryDirectory(), np.random.default_rng(0)
    >>> y = np.array(["low", "high"] * 20)
    >>> X = rng.random((40, 20, 8)) < np.where(y == "low", 0.1, 0.5)[:, None, None]
    >>> model = gemsnn.SpikingClassifier(n_hidden=5).fit(X, y).model_
    >>> y[::4] = "new"
    >>> gemsnn.events.write_prepared(f"{folder.name}/more.h5", X, y)
    >>> begin = gemsnn.FromModel(model)
    >>> with gemsnn.events.open_prepared(f"{folder.name}/more.h5") as data:
    ...     outcome = gemsnn.train(begin.config(epochs=2), data, f"{folder.name}/run", from_model=begin)
    >>> gemsnn.load_model(f"{folder.name}/run").classes
    ('high', 'low', 'new')
    >>> folder.cleanup()
    """

    model: Model
    rename: Mapping[Any, Any] = field(default_factory=dict)
    drop: Collection[Any] = ()
    replay: Data | None = None
    replay_share: float | None = None
    sort: bool = False

    def config(self, **changes: Any) -> TrainingConfig:
        """The settings that the model was trained with, with changes."""
        return config_of(self.model, changes)

    def begin(self, config: TrainingConfig, data: Data) -> Beginning:
        """The beginning of a run on ``data``; settings and data that do not fit the model are refused."""
        model = self.model
        check_settings(config, model)
        data = with_inputs_of(model, data)
        names = self._names()
        classes, indices = _classes(model, names, data, self.sort)
        several = bool(model.about.get("several_labels"))
        labels = data.train.labels
        if (labels is None) != (not model.classes) or (labels is not None and (labels.ndim == 2) != several):
            raise DataError(
                f"the model was trained on {_kind(None if not model.classes else 1 + several)}, the data have "
                f"{_kind(None if labels is None else labels.ndim)}: start anew, without the model"
            )
        network, parameters = with_readout(model.network, model.parameters, indices, config.initial_parameters)
        replay = self._replay(data, classes, names, network.n_visible)
        means = model.means if config.mean_free else None
        known = relabelled(data, classes) if classes else data
        return Beginning(network, parameters, means, known, replay, examples_of(model))

    def identity(self, data: Data) -> dict[str, Any]:
        """What determines the results of a run on ``data``, besides data and settings, as JSON values."""
        model, means = self.model, () if self.model.means is None else (self.model.means.value,)
        classes, indices = _classes(model, self._names(), data, self.sort)
        old = [None if index is None else str(model.classes[index]) for index in indices] if classes else []
        return {
            "fingerprint": fingerprint(model.network, model.parameters, *means),
            "classes": [str(label) for label in classes],
            "classes_before": old,
            "replay": None if self.replay is None else self.replay.fingerprint,
            "replay_share": None if self.replay is None else self._share,
        }

    def origin(self) -> dict[str, Any]:
        """What the new model stores about this one, as JSON values."""
        path = None if self.model.path is None else str(self.model.path.absolute())
        return {"path": path, "examples": examples_of(self.model)}

    def table(self) -> dict[str, Any] | None:
        """The table in the run's configuration file; None if the model, or data to replay, are not files."""
        if self.model.path is None or (self.replay is not None and not hasattr(self.replay, "path")):
            return None
        found: dict[str, Any] = {"model": str(self.model.path.absolute())}
        if self.replay is not None:
            found |= {"replay": str(Path(self.replay.path).absolute()), "replay_share": self._share}
        if self.rename:
            found["rename"] = [[str(before), str(now)] for before, now in self.rename.items()]
        if self.drop:
            found["drop"] = [str(label) for label in self.drop]
        return found

    @property
    def _share(self) -> float:
        return REPLAY_SHARE if self.replay_share is None else self.replay_share

    def _names(self) -> list[str | None]:
        """The new name of each class of the model; None for dropped ones."""
        old = [str(label) for label in self.model.classes]
        renamed = {str(before): str(now) for before, now in self.rename.items()}
        dropped = {str(label) for label in self.drop}
        for option, wanted in (("rename", list(renamed)), ("drop", list(dropped))):
            for name in wanted:
                if name not in old:
                    raise ConfigError(f"{option}: the model has no class {name}; {_listed(old)}")
        if both := renamed.keys() & dropped:
            raise ConfigError(f"class {min(both)} is to be renamed and dropped: choose one")
        names = [None if name in dropped else renamed.get(name, name) for name in old]
        kept = [name for name in names if name is not None]
        if twice := [name for name in kept if kept.count(name) > 1]:
            raise ConfigError(f"rename: two classes of the model would be called {twice[0]}; give each its own name")
        return names

    def _replay(self, data: Data, classes: tuple[Any, ...], names: list[str | None], n_visible: int) -> Replay | None:
        if self.replay is None:
            if self.replay_share is not None:
                raise ConfigError("replay_share needs replay: old data to be shown in between")
            return None
        path = str(getattr(self.replay, "path", "the data to replay"))
        old = with_inputs_of(self.model, self.replay, path)
        if classes:
            now = {str(label): name for label, name in zip(self.model.classes, names, strict=True)}
            called = [now.get(str(label), str(label)) for label in old.classes]
            known = {str(label) for label in classes}
            if unknown := [name for name in called if name is not None and name not in known]:
                raise DataError(
                    f"{path}: class {unknown[0]} is neither the model's nor among the new data's; {_listed(known)}"
                )
            old = relabelled(old, classes, [name or "" for name in called])
        elif old.n_visible != n_visible:
            raise DataError(f"{path}: patterns of {old.n_visible} visible neurons, but the model has {n_visible}")
        labels = old.train.labels
        indices = np.arange(len(old.train)) if labels is None or labels.ndim == 2 else np.flatnonzero(labels >= 0)
        if not len(indices):
            raise DataError(f"{path}: holds no training examples of the classes that are learned")
        return Replay(old.train, indices, self._share, n_visible)


def config_of(model: Model, changes: Mapping[str, Any]) -> TrainingConfig:
    """The settings that a model was trained with, with changes; the defaults if they are unknown."""
    settings = model.about.get("config")
    known = {name: value for name, value in (settings or {}).items() if name in TrainingConfig.model_fields}
    return TrainingConfig.of(None, known).changed(**changes)


def examples_of(model: Model) -> int:
    """Number of examples that a model has learned from, counting repetitions."""
    before = model.about.get("origin") or {}
    return int(model.about.get("position") or 0) + int(before.get("examples") or 0)


def check_settings(config: TrainingConfig, model: Model) -> None:
    """Refuse settings that describe another network than the model's."""
    network, own = model.network, model.about.get("config") or {}
    if OWN_PARTS in own:
        return
    hidden = config.topology.count_hidden(config.n_hidden)
    readouts = {"winner-take-all" if network.circuits.competing else "bernoulli", None}
    same = {
        f"n_hidden = {hidden}": (hidden == network.n_hidden, network.n_hidden),
        "synaptic_filter": (config.synaptic_filter == network.synaptic_filter, "another"),
        "somatic_filter": (config.somatic_filter == network.somatic_filter, "another"),
        "topology": (own.get("topology", config.topology.settings()) == config.topology.settings(), "another"),
        f"visible_memory = {config.visible_memory}": (config.visible_memory == network.visible_memory, "the other"),
        f"readout = {config.readout}": (config.readout in readouts, "another"),
        f"dtype = {config.dtype}": (config.dtype == model.parameters.dtype, model.parameters.dtype),
    }
    for asked, (fits, has) in same.items():
        if not fits:
            raise ConfigError(
                f"{asked}: the model to start from has {has}, and its network stays; leave the setting as it was, or "
                "start anew without the model"
            )


def _classes(model: Model, names: list[str | None], data: Data, sort: bool) -> tuple[tuple[Any, ...], list[int | None]]:
    """Labels of the visible neurons, and the index of each among the model's classes."""
    if not model.classes:
        if data.n_visible != model.network.n_visible:
            raise DataError(
                f"the model has {model.network.n_visible} visible neurons, the data's patterns {data.n_visible}: a "
                "readout grows by classes only"
            )
        return (), list(range(model.network.n_visible))
    known = {str(label): label for label in (*model.classes, *data.classes)}
    indices: list[int | None] = [index for index, name in enumerate(names) if name is not None]
    kept = [name for name in names if name is not None]
    new = [str(label) for label in data.classes if str(label) not in kept]
    dropped = {str(label) for label, name in zip(model.classes, names, strict=True) if name is None}
    if again := [name for name in new if name in dropped]:
        raise ConfigError(f"drop: {again[0]} is a class of the data, too; keep it, or leave it out of the data")
    if len(kept) + len(new) < 2:
        raise ConfigError(f"only {len(kept) + len(new)} class would be left; at least two are needed")
    labels = [known.get(name, name) for name in (*kept, *new)]
    if len({type(label) for label in labels}) > 1:  # whole numbers and strings: all as strings
        labels = [str(label) for label in labels]
    indices += [None] * len(new)
    order = sorted(range(len(labels)), key=labels.__getitem__) if sort else range(len(labels))
    return tuple(labels[index] for index in order), [indices[index] for index in order]


def _kind(dimensions: int | None) -> str:
    return {None: "spike patterns", 1: "one class per example", 2: "several labels per example"}[dimensions]


def _listed(names: Collection[str]) -> str:
    return f"they are {', '.join(names)}"


# ---- other visible neurons


def with_readout(
    network: Network,
    parameters: Parameters,
    indices: Sequence[int | None],
    init: Callable[[Network], Parameters],
) -> tuple[Network, Parameters]:
    """The network whose visible neuron n was number ``indices[n]`` before, or is new if that is None.

    A new neuron has the incoming and outgoing synapses of the network's first visible neuron. Its weights are those
    that ``init`` draws for the whole new network; all other weights stay exactly as they are.
    """
    if list(indices) == list(range(network.n_visible)):
        return network, parameters
    hidden, old = np.arange(network.n_hidden), network.topology.mask
    kept = np.array([index for index in indices if index is not None], dtype=np.intp)
    there = np.flatnonzero([index is not None for index in indices])
    as_which = np.array([0 if index is None else index for index in indices])
    rows = np.concatenate([hidden, network.n_hidden + as_which])
    columns = np.concatenate([np.arange(network.n_inputs), network.n_inputs + rows])
    mask = old[np.ix_(rows, columns)]
    among = mask[network.n_hidden :, network.n_inputs + network.n_hidden :]  # visible to visible
    lateral = old[network.n_hidden :, network.n_inputs + network.n_hidden :].any()
    new = np.flatnonzero([index is None for index in indices])
    among[new, :] = among[:, new] = lateral
    np.fill_diagonal(among, False)
    topology = Topology(network.n_inputs, network.n_hidden, len(indices), mask)
    changed = Network(
        topology, network.synaptic_filter, network.somatic_filter, network.visible_memory, _circuits(network, indices)
    )
    fresh = init(changed).astype(parameters.dtype)
    now, before = np.concatenate([hidden, network.n_hidden + there]), np.concatenate([hidden, network.n_hidden + kept])
    sources = np.arange(network.n_inputs)
    to = np.ix_(now, np.concatenate([sources, network.n_inputs + now]))
    fresh.synaptic[to] = parameters.synaptic[np.ix_(before, np.concatenate([sources, network.n_inputs + before]))]
    fresh.somatic[now], fresh.bias[now] = parameters.somatic[before], parameters.bias[before]
    return changed, fresh


def _circuits(network: Network, indices: Sequence[int | None]) -> list[Circuit]:
    """Circuits of hidden neurons stay; a circuit of all visible neurons contains all of them again."""
    n_hidden, circuits = network.n_hidden, network.circuits.competing
    visible = [circuit for circuit in circuits if max(circuit.neurons) >= n_hidden]
    whole = set(range(n_hidden, network.n_neurons))
    if any(set(circuit.neurons) != whole for circuit in visible):
        raise ConfigError(
            "the model's visible neurons form several circuits, so those of new ones are undetermined: build the "
            "larger network yourself, and pass network and parameters"
        )
    everyone = tuple(range(n_hidden, n_hidden + len(indices)))
    again = [Circuit(everyone, visible[0].silent)] if visible else []
    return [circuit for circuit in circuits if max(circuit.neurons) < n_hidden] + again


def fingerprint(network: Network, parameters: Parameters, *more: NDArray[np.float64]) -> str:
    """Hash of a network with its weights, in hexadecimal digits."""
    digest = hashlib.sha256(repr((network, network.visible_memory, network.circuits.competing)).encode())
    filters = network.synaptic_filter.taps, network.somatic_filter.taps
    weights = parameters.synaptic, parameters.somatic, parameters.bias
    for array in (network.topology.mask, *filters, *weights, *more):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
