"""What the event form holds; ``event_kernel.py`` explains what for.

The annotations state the shapes. K: compartments; n_neurons, n_hidden, n_visible, n_inputs: sizes of the network;
columns: n_neurons, padded with columns of no neuron to whole cache lines; M: steps that the window has room for; D:
duration of the synaptic filter. Of a population, K_p: compartments in which its spikes differ, 1 or K.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from gemsnn.engine.arrays import Booleans, Counts, Doubles, Floats, Integers, Words
from gemsnn.engine.firing import CircuitTable
from gemsnn.engine.objective_functions import ObjectiveArrays
from gemsnn.engine.recursion import Bank
from gemsnn.engine.rule_functions import RuleNumbers


class Population(NamedTuple):
    """Sources with the same targets.

    Step m of the window is at position D + m; the D positions before it are the past that its filters still see.
    """

    first: int  # its first source, among the inputs or among the neurons
    size: int  # number of sources; 0 for one that only fills up the list of them
    of_inputs: bool
    shared: bool  # spikes alike in all compartments
    feeds: Booleans  # (n_classes,): which neurons
    weights: Floats  # (size, n_basis * columns): one row for each source
    bits: Annotated[Words, "-(-size // 64)", "(D + M) * K_p"]  # spikes, position by position
    impulse: Annotated[Floats, "K_p", "slots * n_basis * columns"]  # q of the last steps; slot time % slots
    recent: Annotated[Floats, "(lags + 1) ** 2 * K_p * K_p"]  # sources that spike at two recent steps; time % (D + 1)
    half: Annotated[Floats, "K_p", "lags * n_basis", "max(M, 2) * K_p"]  # R_s . x_t of the last D steps t; time % D
    products: Annotated[Floats, "K_p", "M * K_p"]  # R_s . R_t at the present step t
    # by the recursion of exponentials; impulse is then what comes in less what leaves
    filtered: Annotated[Floats, "K_p", "n_basis", "columns"]  # W_0 . R_t
    by_basis: Annotated[Floats, "K_p", "n_basis", "recursive * M * K_p"]  # R_s . R_t
    squares: Annotated[Floats, "n_basis", "K_p", "K_p"]  # R_t . R_t
    ends: Annotated[Floats, "2", "n_basis", "K_p", "K_p"]  # R_{t-1} . x and R_{t-1} . y
    pairs: Annotated[Floats, "3", "K_p", "K_p"]  # x . x', y . x' and y . y'
    first_traces: Annotated[Floats, "K_p", "recursive * size", "n_basis"]  # R_s of the window's first step
    # subtracted from the traces while learning
    mean: Annotated[Floats, "0", "n_basis"]  # (size, n_basis), or (0, n_basis) where nothing is subtracted
    mean_impulse: Annotated[Floats, "slots", "n_basis"]
    mean_filtered: Annotated[Floats, "n_basis"]  # by the recursion
    mean_trace: Annotated[Floats, "M + 1"]  # mean . R of each step of the window
    mean_square: Annotated[Floats, "1"]  # mean . mean
    centre: Annotated[Floats, "columns"]  # how many times the means have yet to be subtracted from the weights


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
    """What is carried on from step to step, window or not. Everything but the weights is 0 before the first step."""

    bias: Floats  # (columns,)
    somatic: Floats  # (n_somatic, columns)
    reach: Floats  # (n_visible, n_hidden)
    somatic_trace: Floats  # (K, n_somatic, columns); ``own_trace`` if there is one filter
    own_trace: Floats  # (K, n_basis, columns): of a neuron's spikes through the synaptic filter
    time: Annotated[Integers, "1"]  # steps so far
    somatic_eligibility: Annotated[Floats, "K", "n_somatic", "columns"]
    past: Annotated[Booleans, "memory", "K", "n_neurons"]  # spikes of the last steps; slot time % memory
    virtual: Annotated[Floats, "n_basis", "columns"]  # the synapse that is not there
    virtual_eligibility: Annotated[Floats, "K", "n_basis", "columns"]
    reach_eligibility: Annotated[Floats, "K", "has_local * n_visible", "n_hidden"]
    log_weights: Annotated[Doubles, "K"]
    processor_memory: Annotated[Doubles, "processor_memory"]
    neuron_memory: Annotated[Doubles, "n_hidden", "neuron_memory"]


class Window(NamedTuple):
    """What was learned since the weights were written; room for M steps."""

    now: Annotated[Integers, "1"]  # the present step
    begin: Annotated[Integers, "1"]  # the first step whose post factors are not all 0
    post: Annotated[Floats, "M * K", "columns"]
    visible_factor: Annotated[Floats, "M * K"]  # sum over r of gamma^(r - s) signal_r
    hidden_factor: Annotated[Floats, "M * K"]
    fading: Annotated[Floats, "M"]  # gamma^(age), step by step
    accumulated: Annotated[Floats, "has_local * M * K", "columns"]  # a, where each neuron has a signal of its own
    signal: Annotated[Floats, "n_signals", "K"]  # of the last step; of hidden neurons or, if errors are sent back, all
    changes: Annotated[Floats, "M * K", "columns"]  # eta a, when it is written
    shared_changes: Annotated[Floats, "M", "columns"]  # their sums over compartments


class FilterScratch(NamedTuple):
    """Scratch memory of filters: of the drive and of the scalar products."""

    active: Annotated[Integers, "most_sources"]
    leaving_rows: Annotated[Floats, "n_basis * columns"]
    of_neuron: Annotated[Floats, "columns"]
    offsets: Annotated[Integers, "D * n_basis + memory"]
    factors: Annotated[Floats, "D * n_basis + memory"]
    whole: Annotated[Counts, "(D + M) * K"]
    counts: Annotated[Floats, "(D + M) * K"]
    leaving_counts: Annotated[Floats, "(D + M) * K"]
    starts: Annotated[Floats, "2", "n_basis", "K"]
    sums: Annotated[Floats, "max(K * K, D + 1)"]
    turned: Annotated[Floats, "n_basis", "D + 1"]  # the taps, in the order of the slots of ``recent``


class Scratch(NamedTuple):
    """Scratch memory of a step."""

    filters: FilterScratch
    own_drive: Annotated[Floats, "K", "columns"]  # of self-memory
    potentials: Annotated[Floats, "K", "columns"]
    probabilities: Annotated[Doubles, "K", "columns"]  # of a spike
    fired: Annotated[Booleans, "n_neurons", "K"]
    factors: Annotated[Doubles, "K", "columns"]  # post factors, in double precision
    log_probability: Annotated[Doubles, "K", "n_visible"]
    importance: Annotated[Doubles, "K"]
    visible_signal: Annotated[Doubles, "K"]
    hidden_signal: Annotated[Doubles, "K"]
    errors: Annotated[Floats, "K", "n_visible"]
    reached: Annotated[Floats, "n_hidden", "n_visible"]  # ``reach``, hidden neuron by hidden neuron
    gram: Annotated[Floats, "n_classes", "K", "M * K"]  # scalar products of all sources of a class of neurons
    scaled: Annotated[Floats, "K", "M * K"]
    alike: Annotated[Floats, "M"]  # scalar products that are alike in all compartments
    rates: Annotated[Floats, "columns"]


class Arrays(NamedTuple):
    """Everything that a kernel reads and writes, besides the populations and the steps."""

    rule: RuleNumbers
    graph: Graph
    carried: Carried
    window: Window
    scratch: Scratch
    objective: ObjectiveArrays
