r"""The contract that every learning rule keeps, the built-in ones and a user's own.

Every rule has three factors. At each step t of learning, for every neuron i, each of its sources j, and compartment k,

    weight_ji <- weight_ji + learning_rate * sum_k signal_{i,k} <post_{i,k} pre_{j,k}>_gamma ,

where pre is the trace of the source's spikes, and <f>_gamma <- gamma <f>_gamma + f. The engines compute this; a
rule defines

* ``post``: the factor of a hidden neuron. A visible neuron's is its error, spike - probability;
* ``broadcast``: what the central processor sends to visible and to hidden neurons, from the log-weights
  v^k <- kappa v^k + r^k, where r^k is what the visible neurons report (``objectives/``; in the paper, log p(visible
  spikes)), and their SoftMax, the importance weights; these are the learning signals;
* ``local`` (only where each hidden neuron makes a signal of its own from what the processor sends and from what is sent
  back through its synapses onto visible neurons);
* ``messages``: which of these numbers have to be sent, and so the communication load of learning.

The three functions are plain functions of numbers and arrays, written in the part of Python that Numba compiles (loops,
arithmetic, ``math``): the reference engine calls them as they are, the compiled engine compiles them, once for all
values of the settings. They read the rule's settings by name, from the named tuple that ``settings()`` returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.named_numbers import named_numbers
from gemsnn.common.words import shown
from gemsnn.errors import ConfigError
from gemsnn.model import Network

Array = NDArray[Any]


class Communication(NamedTuple):
    """Real numbers sent per learning step."""

    to_processor: int  #: each visible neuron (or winner-take-all circuit) reports one loss per compartment
    to_neurons: int  #: the learning signals that the central processor sends
    sent_back: int = 0  #: numbers that visible neurons send back through the synapses of hidden neurons


@dataclass(frozen=True)
class Rule:
    """Base class of learning rules: a rule is a frozen dataclass that adds its own settings and its three factors.

    Parameters
    ----------
    learning_rate
        Step size eta. None: training measures one on its data; :func:`gemsnn.learn` and :class:`gemsnn.Stream`, which
        see one step after the other, need a number.
    kappa
        Decay factor of the log-weights, in [0, 1].
    gamma
        Decay factor of the eligibility, in (0, 1].
    """

    learning_rate: float | None = 1e-3
    kappa: float = 0.9
    gamma: float = 0.9

    def __post_init__(self) -> None:
        if self.learning_rate is not None:
            self.check_not_negative("learning_rate")
        self.check_number("kappa", "lie in [0, 1]", lambda value: 0 <= value <= 1)
        self.check_number("gamma", "lie in (0, 1]", lambda value: 0 < value <= 1)

    def check_not_negative(self, name: str) -> None:
        """Refuse a setting that is not a finite number of at least 0."""
        self.check_number(name, "be a finite number of at least 0", lambda value: 0 <= value < math.inf)

    def check_number(self, name: str, allowed: str, fits: Callable[[float], bool]) -> None:
        """Refuse a setting that is not an allowed number; a NumPy number becomes a Python float."""
        value = getattr(self, name)
        try:
            good = not isinstance(value, bool) and isinstance(value, int | float | np.number) and fits(float(value))
        except (OverflowError, TypeError):  # an integer of hundreds of digits, or a complex number
            good = False
        if not good:
            raise ConfigError(f"{name} must {allowed}, got {shown(value)}")
        object.__setattr__(self, name, float(value))

    @property
    def step_size(self) -> float:
        """The learning rate; an error if it is None."""
        if self.learning_rate is None:
            raise ConfigError(
                f"learning_rate of {type(self).__name__} is None, and only training can measure it on its data: "
                f"give a number, such as {type(self).__name__}(learning_rate=1e-3)"
            )
        return self.learning_rate

    # ---- the three factors ------------------------------------------------------------------------------------------

    @staticmethod
    def post(spike: float, probability: float) -> float:
        """The post factor of a hidden neuron, from its spike (1 or 0) and its probability; by default the error."""
        return spike - probability

    @staticmethod
    def broadcast(
        settings: Any, log_weights: Array, importance: Array, memory: Array, visible: Array, hidden: Array
    ) -> None:
        """Write the signals of visible and of hidden neurons, (K,) each, from log-weights and importance, (K,) each.

        ``settings`` are those of :meth:`settings`; ``memory`` (:meth:`processor_memory`,) is the processor's own, zeros
        before the first step.
        """
        raise NotImplementedError

    local: ClassVar[Any] = None
    """None, or a function (settings, hidden, errors, reach, spikes, memory, signals) that writes the ``signals`` (K,)
    of one hidden neuron: from what it is sent, ``hidden`` (K,); the visible neurons' ``errors`` (K, n_visible); the
    sums over bases of the weights by which it reaches them, ``reach`` (n_visible,); its ``spikes`` (K,) of this step,
    booleans; and its own ``memory`` (neuron_memory,), zeros before the first step. Errors, reach and signals have the
    weights' precision, all other numbers are float64."""

    # ---- what it needs ----------------------------------------------------------------------------------------------

    def settings(self) -> Any:
        """The settings that the functions above can read: a named tuple of floats, ints and bools.

        By default all fields by their names, except for the learning rate, by which engines multiply. A rule with
        fields of other types, such as None for "no baseline", returns a named tuple of its own.
        """
        return named_numbers(self, leave_out=("learning_rate",))

    def processor_memory(self, n_compartments: int) -> int:
        """The number of values that the central processor keeps from step to step, besides the log-weights."""
        return 0

    neuron_memory: ClassVar[int] = 0
    """The number of values that each hidden neuron keeps for :attr:`local`."""

    @property
    def sharpness(self) -> float:
        """beta: the importance weights are SoftMax(beta v)."""
        return 1.0

    def refuse(self, n_compartments: int, free: bool = False, shared: bool = False) -> str | None:
        """Why neurons could not learn with that many compartments; None if they can.

        Hidden neurons; with ``free``, where visible neurons draw their own spikes, visible ones too; with ``shared``,
        from a reward that is the same for all compartments.
        """
        return None

    # ---- what it costs ----------------------------------------------------------------------------------------------

    def messages(self, visible: Array, hidden: Array) -> tuple[Array, Array]:
        """What has to be sent to each visible and to each hidden neuron of their (K,) signals; by default all."""
        return visible, hidden

    def communication(self, network: Network, n_compartments: int) -> Communication:
        """Real numbers sent in a learning step with K compartments."""
        K, circuits = n_compartments, network.circuits.visible
        units = int(circuits.bernoulli.sum()) + len(circuits.competing)
        to_visible, to_hidden = self.messages(np.zeros(K), np.zeros(K))
        sent = to_visible.size * network.n_visible + to_hidden.size * network.n_hidden
        reaching = network.topology.mask[network.n_hidden :, network.n_inputs : network.n_inputs + network.n_hidden]
        return Communication(K * units, sent, 0 if self.local is None else K * int(reaching.sum()))


def leaving_one_out(n_compartments: int, shared: bool) -> str | None:
    """Why nothing can be learned with a baseline made of the other compartments; None if it can."""
    if n_compartments == 1:
        return "baseline = 'leave-one-out' compares compartments; use 2 or more, or another baseline"
    if shared:
        return "baseline = 'leave-one-out': a reward that all compartments share makes the signal 0; use a number"
    return None


def own_fields(rule: type[Rule]) -> list[Any]:
    """The dataclass fields that a rule adds."""
    common = {field.name for field in fields(Rule)}
    return [field for field in fields(rule) if field.name not in common]
