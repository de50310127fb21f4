"""What the event form holds: see ``event_kernel.py``, which says what for."""

from __future__ import annotations

from typing import Any, NamedTuple


class Population(NamedTuple):
    """Sources with the same targets. The window has room for M steps; D is the filter's duration; f the precision.

    Step m of the window stands at position D + m; the D positions before it are the past that its filters still see.
    Arrays with a column for each neuron have a few more ``columns``, of no neuron, that fill whole cache lines.
    """

    first: int  # its first source, among the inputs or among the neurons
    size: int  # 0 for one that only fills up the list of them
    of_inputs: bool
    shared: bool  # spikes alike in all compartments
    feeds: Any  # (n_classes,) bool: which neurons
    weights: Any  # (n_sources, n_basis * columns) f: one row for each source
    bits: Any  # (words, (D + M) * K_p) uint64: spikes, position by position
    impulse: Any  # (K_p, D or more slots * n_basis * columns) f: q of the last steps; slot time % their number
    recent: Any  # ((D + 1) * (D + 1) * K_p * K_p,) f: sources that spike at two recent steps; slots time % (D + 1)
    half: Any  # (K_p, D * n_basis * (M * K_p)) f: R_s . x_t for the last D steps t; slot time % D
    products: Any  # (K_p, M * K_p) f: R_s . R_t at the present step t
    # by the recursion of exponentials; impulse is then what comes in less what leaves
    filtered: Any  # (K_p, n_basis, columns) f: W_0 . R_t
    by_basis: Any  # (K_p, n_basis, M * K_p) f: R_s . R_t
    squares: Any  # (n_basis, K_p, K_p) f: R_t . R_t
    ends: Any  # (2, n_basis, K_p, K_p) f: R_{t-1} . x and R_{t-1} . y
    pairs: Any  # (3, K_p, K_p) f: x . x', y . x' and y . y'
    first_traces: Any  # (K_p, n_sources, n_basis) f: R_s of the window's first step
    # taken off the traces while learning
    mean: Any  # (n_sources, n_basis) f; (0, n_basis) where nothing is
    mean_impulse: Any  # (as impulse, n_basis) f
    mean_filtered: Any  # (n_basis,) f: by the recursion
    mean_trace: Any  # (M + 1,) f: mean . R of each step of the window
    mean_square: Any  # (1,) f: mean . mean


class Window(NamedTuple):
    """Everything else that the kernel reads and writes."""

    # the rule and the network
    learning_rate: Any  # f
    gamma: Any  # f
    kappa: float
    settings: Any  # the rule's own numbers
    has_local: bool
    synapses: Any  # Bank
    soma: Any  # Bank
    one_filter: bool  # for both, so that one array holds the neurons' own traces
    circuits: Any  # CircuitTable
    segment: Any  # (n_segments, 3): first row, last row, class; no segment has both hidden and visible neurons
    own_source: Any  # (columns,) bool: its own spikes are among its scalar products
    reaches: Any  # (n_visible, n_hidden) bool: synapses from hidden to visible
    has_memory: Any  # (columns,) bool
    # what goes on from step to step
    time: Any  # (1,): steps so far
    place: Any  # (2,): the present step of the window, and the first one whose post factors are not all 0
    bias: Any  # (columns,) f
    somatic: Any  # (n_threads, n_basis, columns) f: of a thread's own neurons, as those below
    somatic_eligibility: Any  # (n_threads, K, n_basis, columns) f
    somatic_trace: Any  # (n_threads, K, n_basis, columns) f
    past: Any  # (memory, K, n_neurons) bool: spikes of the last steps; slot time % memory
    own_trace: Any  # (n_threads, K, n_basis, columns) f: of a neuron's spikes through the synaptic filter
    virtual: Any  # (n_threads, n_basis, columns) f: the synapse that is not there
    virtual_eligibility: Any  # (n_threads, K, n_basis, columns) f
    reach: Any  # (n_visible, n_hidden) f
    reach_eligibility: Any  # (K, n_visible, n_hidden) f
    log_weights: Any  # (n_threads, K): all rows alike, as below
    processor_memory: Any  # (n_threads, m)
    neuron_memory: Any  # (n_hidden, m)
    # the window
    post: Any  # (M * K, columns) f
    visible_factor: Any  # (n_threads, M * K) f: sum over r of gamma^(r - s) signal_r, since the weights were written
    hidden_factor: Any  # (n_threads, M * K) f
    fading: Any  # (n_threads, M) f: gamma^(age), step by step
    accumulated: Any  # (M * K, columns) f: a, where each neuron has a signal of its own
    signal: Any  # (n_hidden, K) f: of the last step
    # scratch that threads share, each with its own compartments or neurons
    own_drive: Any  # (K, columns) f: of self-memory
    shares: Any  # (K, columns): probabilities of a spike, compartment by compartment
    fired: Any  # (n_neurons, K) bool
    fired_rows: Any  # (K, columns) bool: the same, compartment by compartment
    factors: Any  # (K, columns)
    log_probability: Any  # (K, n_visible)
    reached: Any  # (n_hidden, n_visible) f
    # scratch of each thread, (n_threads, ...)
    gram: Any  # (n_classes, K, M * K) f: of its compartments
    scaled: Any  # (K, M * K) f
    potentials: Any  # (K, columns) f
    alike: Any  # (M,) f: scalar products that are alike in all compartments
    whole: Any  # ((D + M) * K,) int32
    counts: Any  # ((D + M) * K,) f
    left_counts: Any  # the same
    left: Any  # (n_basis * columns,) f
    starts: Any  # (2, n_basis, K) f
    sums: Any  # (K * K or, if that is more, D + 1) f
    offsets: Any  # (D * n_basis + memory,) intp
    lag_factors: Any  # (D * n_basis + memory,) f
    turned: Any  # (n_basis, D + 1) f: the taps, in the order of the slots of ``recent``
    active: Any  # (most sources,) intp
    rates: Any  # (columns,) f
    of_neuron: Any  # (columns,) f
    likelihood: Any  # (K,)
    importance: Any  # (K,)
    visible_signal: Any  # (K,)
    hidden_signal: Any  # (K,)
    errors: Any  # (K, n_visible) f


class Share(NamedTuple):
    """What one thread of a team works on, so that no sum depends on how many there are."""

    thread: int
    n_threads: int
    first_k: int  # its compartments: whole groups of four
    last_k: int
    first: int  # its neurons: whole cache lines
    last: int
    last_column: int  # with those of no neuron


class Steps(NamedTuple):
    """What goes into a call, and what comes out."""

    inputs: Any  # (T, n_inputs) uint8
    targets: Any  # (T, n_visible) uint8
    clamped: Any  # (T,) bool: learn from the target, or run freely
    uniforms: Any  # (T, K, n_hidden or n_neurons)
    spikes: Any  # (T, K, n_neurons) bool
    log_likelihood: Any  # (T, K)
    log_weights: Any  # (T, K)
    importance: Any  # (T, K)
