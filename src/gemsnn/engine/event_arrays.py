"""What the event form holds: see ``event_kernel.py``, which says what for.

f is the precision of the parameters. Arrays with a column for each neuron have a few more ``columns``, of no neuron,
that fill whole cache lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gemsnn.engine.arrays import Booleans, Doubles, Floats, Integers, Words
from gemsnn.engine.firing import CircuitTable
from gemsnn.engine.objective_functions import ObjectiveArrays
from gemsnn.engine.recursion import Bank


class Population(NamedTuple):
    """Sources with the same targets. The window has room for M steps; D is the filter's duration.

    Step m of the window stands at position D + m; the D positions before it are the past that its filters still see.
    """

    first: int  # its first source, among the inputs or among the neurons
    size: int  # 0 for one that only fills up the list of them
    of_inputs: bool
    shared: bool  # spikes alike in all compartments
    feeds: Booleans  # (n_classes,): which neurons
    weights: Floats  # (n_sources, n_basis * columns) f: one row for each source
    bits: Words  # (words, (D + M) * K_p): spikes, position by position
    impulse: Floats  # (K_p, D or more slots * n_basis * columns) f: q of the last steps; slot time % their number
    recent: Floats  # ((D + 1) * (D + 1) * K_p * K_p,) f: sources that spike at two recent steps; slots time % (D + 1)
    half: Floats  # (K_p, D * n_basis * (M * K_p)) f: R_s . x_t for the last D steps t; slot time % D
    products: Floats  # (K_p, M * K_p) f: R_s . R_t at the present step t
    # by the recursion of exponentials; impulse is then what comes in less what leaves
    filtered: Floats  # (K_p, n_basis, columns) f: W_0 . R_t
    by_basis: Floats  # (K_p, n_basis, M * K_p) f: R_s . R_t
    squares: Floats  # (n_basis, K_p, K_p) f: R_t . R_t
    ends: Floats  # (2, n_basis, K_p, K_p) f: R_{t-1} . x and R_{t-1} . y
    pairs: Floats  # (3, K_p, K_p) f: x . x', y . x' and y . y'
    first_traces: Floats  # (K_p, n_sources, n_basis) f: R_s of the window's first step
    # taken off the traces while learning
    mean: Floats  # (n_sources, n_basis) f; (0, n_basis) where nothing is
    mean_impulse: Floats  # (as impulse, n_basis) f
    mean_filtered: Floats  # (n_basis,) f: by the recursion
    mean_trace: Floats  # (M + 1,) f: mean . R of each step of the window
    mean_square: Floats  # (1,) f: mean . mean
    centre: Floats  # (columns,) f: the weights lack so many times the means


class RuleNumbers(NamedTuple):
    """A rule, as kernels read it."""

    learning_rate: Any  # f
    gamma: Any  # f
    kappa: float
    beta: float
    settings: Doubles  # the rule's own
    has_local: bool


class Graph(NamedTuple):
    """The network; nothing here changes."""

    synapses: Bank
    soma: Bank
    one_filter: bool  # for both, so that one array holds the neurons' own traces
    circuits: CircuitTable
    rows: Integers  # (n, 3): neighbouring neurons with the same sources: first, last, class; hidden or visible ones
    own_source: Booleans  # (columns,): its own spikes are among its scalar products
    reaches: Booleans  # (n_visible, n_hidden): synapses from hidden to visible
    has_memory: Booleans  # (columns,)


class Carried(NamedTuple):
    """What goes on from step to step, window or not. Everything but weights is 0 before the first step."""

    time: Integers  # (1,): steps so far
    bias: Floats  # (columns,) f
    somatic: Floats  # (n_basis, columns) f
    somatic_eligibility: Floats  # (K, n_basis, columns) f
    somatic_trace: Floats  # (K, n_basis, columns) f
    past: Booleans  # (memory, K, n_neurons): spikes of the last steps; slot time % memory
    own_trace: Floats  # (K, n_basis, columns) f: of a neuron's spikes through the synaptic filter
    virtual: Floats  # (n_basis, columns) f: the synapse that is not there
    virtual_eligibility: Floats  # (K, n_basis, columns) f
    reach: Floats  # (n_visible, n_hidden) f
    reach_eligibility: Floats  # (K, n_visible, n_hidden) f
    log_weights: Doubles  # (K,)
    processor_memory: Doubles  # (m,)
    neuron_memory: Doubles  # (n_hidden, m)


class Window(NamedTuple):
    """What was learned since the weights were written; room for M steps."""

    now: Integers  # (1,): the present step
    begin: Integers  # (1,): the first step whose post factors are not all 0
    post: Floats  # (M * K, columns) f
    visible_factor: Floats  # (M * K,) f: sum over r of gamma^(r - s) signal_r, since the weights were written
    hidden_factor: Floats  # (M * K,) f
    fading: Floats  # (M,) f: gamma^(age), step by step
    accumulated: Floats  # (M * K, columns) f: a, where each neuron has a signal of its own
    signal: (
        Floats  # (n_hidden or, if errors are sent back to visible neurons that draw, n_neurons, K) f: of the last step
    )
    changes: Floats  # (M * K, columns) f: eta a, when it is written
    shared_changes: Floats  # (M, columns) f: their sums over compartments


class Scratch(NamedTuple):
    """What a step needs and leaves behind."""

    own_drive: Floats  # (K, columns) f: of self-memory
    potentials: Floats  # (K, columns) f
    probabilities: Doubles  # (K, columns): of a spike
    fired: Booleans  # (n_neurons, K)
    fired_rows: Booleans  # (K, columns): the same, compartment by compartment
    factors: Doubles  # (K, columns)
    log_probability: Doubles  # (K, n_visible)
    likelihood: Doubles  # (K,)
    importance: Doubles  # (K,)
    visible_signal: Doubles  # (K,)
    hidden_signal: Doubles  # (K,)
    errors: Floats  # (K, n_visible) f
    reached: Floats  # (n_hidden, n_visible) f
    gram: Floats  # (n_classes, K, M * K) f: scalar products of all sources of a class of neurons
    scaled: Floats  # (K, M * K) f
    alike: Floats  # (M,) f: scalar products that are alike in all compartments
    whole: Any  # ((D + M) * K,) int32
    counts: Floats  # ((D + M) * K,) f
    leaving_counts: Floats  # ((D + M) * K,) f
    leaving_rows: Floats  # (n_basis * columns,) f
    starts: Floats  # (2, n_basis, K) f
    sums: Floats  # (K * K or, if that is more, D + 1) f
    offsets: Integers  # (D * n_basis + memory,)
    lag_factors: Floats  # (D * n_basis + memory,) f
    turned: Floats  # (n_basis, D + 1) f: the taps, in the order of the slots of ``recent``
    active: Integers  # (most sources,)
    rates: Floats  # (columns,) f
    of_neuron: Floats  # (columns,) f


class Arrays(NamedTuple):
    """Everything that a kernel reads and writes, besides the populations and the steps."""

    rule: RuleNumbers
    graph: Graph
    carried: Carried
    window: Window
    scratch: Scratch
    objective: ObjectiveArrays


class Steps(NamedTuple):
    """What goes into a call, and what comes out."""

    start: Integers  # (T + 1,): see ``InputSpikes``
    source: Integers  # (n_spikes,)
    targets: Any  # (T, n_visible) uint8
    learns: Booleans  # (T,): learn from the target, or run freely
    uniforms: Doubles  # (T, K, n_hidden or n_neurons)
    spikes: Booleans  # (T, K, n_neurons)
    log_likelihood: Doubles  # (T, K)
    report: Doubles  # (T, K)
    log_weights: Doubles  # (T, K)
    importance: Doubles  # (T, K)
