"""The direct form: exact, as ``direct_kernel.py`` explains; this file feeds the kernel block by block.

Within a block of steps, shared synapses are handled by a Gram matrix and written once at its end. Post factors of
earlier blocks go on acting through their eligibility: a window of them and of shared traces stands for it, as long as
gamma^age is above the precision of the numbers. A window that would grow longer than there are shared traces (gamma is
1, or nearly) is exchanged for the eligibility itself, which acts alike. So memory does not grow with the length of the
sequence.

The bias is a shared source with a trace of 1: the last column of the shared traces. Where means are taken off the
traces, all that is learned is learned from the centred ones; what the weights were at the block's beginning goes on
multiplying the traces themselves. ``reference.py`` says what that means for the bias.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.barrier import run_team
from gemsnn.engine.blas import single_threaded_blas
from gemsnn.engine.direct_kernel import Block, advance, filter_spikes
from gemsnn.engine.kept import Declared, Kept, length
from gemsnn.engine.layout import layout
from gemsnn.engine.pointers import rule_functions, rule_numbers
from gemsnn.engine.protocol import Info, State, no_means
from gemsnn.engine.tables import histories
from gemsnn.model import Network, Parameters
from gemsnn.rules import Rule

LONGEST_BLOCK = 128  # steps of a run; a longer block costs more Gram products, a shorter one more carrying over
LONGEST_WINDOW = 1024  # steps that the window may hold where there are fewer shared traces
STREAM_BLOCK = 48  # steps between two foldings of a stream


class Learner:
    """Learns in place; see :class:`gemsnn.engine.protocol.Learner`."""

    messages = None

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        rule: Rule,
        n_compartments: int,
        *,
        state: State | None = None,
        free: bool = False,
        threads: int = 1,
    ) -> None:
        self.network, self.threads = network, min(threads, network.n_neurons)
        self.dtype = parameters.dtype
        self._functions = rule_functions(type(rule), self.dtype)
        # Where visible neurons may run freely they spike differently in each compartment.
        self.layout = layout(network, free, self.dtype)
        self.n_compartments = n_compartments
        self._synaptic = parameters.synaptic.copy()
        self._somatic, self._bias = parameters.somatic.copy(), parameters.bias.copy()
        self._block: Block | None = None
        self._begin(rule)
        if state is not None:
            self._restore(state)

    def _begin(self, rule: Rule, eligibility: NDArray[Any] | None = None) -> None:
        """In silence; memory of an earlier eligibility is used again."""
        network, plan, n, K, f = self.network, self.layout, self.network.n_neurons, self.n_compartments, self.dtype
        numbers = rule_numbers(rule, f)
        self.learning_rate, self.gamma, self.kappa = numbers["learning_rate"], numbers["gamma"], numbers["kappa"]
        self._settings, self._has_local = numbers["settings"], rule.local is not None
        self._horizon = _horizon(rule.gamma, f)
        self._private = self._synaptic[:, plan.private].copy().reshape(n, -1)  # dense rows; written back when taken out
        n_columns, n_basis = plan.group_mask.shape[1], network.synaptic_filter.n_basis
        self.time = self._position = 0
        history = network.synaptic_filter.duration, (n_columns - 1) // n_basis
        self._shared_history = np.zeros(history, dtype=np.uint8)
        self._history = np.zeros((n, K, plan.history.words), dtype=np.uint16)
        self._log_weights = np.zeros(K)
        self._processor_memory = np.zeros(rule.processor_memory(K))
        self._neuron_memory = np.zeros((network.n_hidden, rule.neuron_memory))
        self._eligibility = np.zeros((n, K, self._private.shape[1]), dtype=f) if eligibility is None else eligibility
        self._eligibility[...] = 0
        self._somatic_eligibility = np.zeros((n, K, self._somatic.shape[1]), dtype=f)
        self._window_post = np.zeros((n, K, 0), dtype=f)
        self._window_traces = np.zeros((0, n_columns), dtype=f)
        self._window_ages = np.zeros(0, dtype=np.int64)
        self._shared_traces = self._centred_traces = self._window_traces
        self.take_off(no_means(network))

    def _restore(self, state: State) -> None:
        self.time = state.time
        if "spikes" in state.kept:  # begin with the spikes that the filters still see
            duration, spikes = len(self._shared_history), state.kept["spikes"]
            self._shared_history[:, : self.network.n_inputs] = state.kept["inputs"][len(spikes) - duration :]
            self._history = histories(spikes, self.layout.history)
        else:
            kept = state.kept
            self._shared_history, self._history = kept["shared_history"], kept["history"].copy()
            self._eligibility = kept["eligibility"].copy()
            self._somatic_eligibility = kept["somatic_eligibility"].copy()
            self._window_post, self._window_traces = kept["window_post"], kept["window_traces"]
            self._window_ages = kept["window_ages"]
            if kept["gamma"] != self.gamma:  # what has faded so far has faded by the old gamma
                self._window_post = self._window_post * _fading(kept["gamma"], self._window_ages - 1)
                self._window_ages = np.ones_like(self._window_ages)
        self._log_weights = state.log_weights.copy()
        self._processor_memory, self._neuron_memory = state.processor_memory.copy(), state.neuron_memory.copy()
        self.take_off(state.means)

    # ---- a whole sequence -------------------------------------------------------------------------------------------

    def run(self, inputs: NDArray[Any], targets: NDArray[Any], uniforms: NDArray[np.float64]) -> Info:
        """Learn from (T, n_inputs) inputs and (T, n_visible) targets, with (T, K, n_hidden) uniforms."""
        self.settle()
        T = len(inputs)
        length = math.ceil(T / math.ceil(T / LONGEST_BLOCK))
        infos = [
            self._run_block(inputs[t : t + length], targets[t : t + length], uniforms[t : t + length])
            for t in range(0, T, length)
        ]
        return infos[0] if len(infos) == 1 else Info(*(np.concatenate(parts) for parts in zip(*infos, strict=True)))

    def _run_block(self, inputs: NDArray[Any], targets: NDArray[Any], uniforms: NDArray[np.float64]) -> Info:
        length = len(inputs)
        sources = [inputs, targets] if len(self.layout.segments) == 2 else [inputs]
        spikes = np.concatenate([self._shared_history, np.concatenate(sources, axis=1, dtype=np.uint8)])
        skip = len(self._shared_history)
        self._shared_traces = filter_spikes(spikes, self.layout.synaptic_taps, skip)
        self._centred_traces = self._centred(self._shared_traces)
        self._shared_history = spikes[len(spikes) - skip :]
        with single_threaded_blas():
            drive, gram, carry = self._shared_products(slice(0, length))
            block = self._block = self._open_block(length, drive, gram, carry, uniforms)
            block.targets[:], block.clamped[:] = targets, True
            self._advance(block, 0, length, settle=True)
            self._fold(block, length)
        self._block = None
        self.time += length
        return Info(block.spikes, block.log_likelihood, block.log_weights_out, block.importance)

    # ---- one step at a time -----------------------------------------------------------------------------------------

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None, uniforms_t: NDArray[np.float64]) -> Info:
        """One step: learn if there is a target, else run freely; ``uniforms_t`` is (K, n_neurons)."""
        block = self._block
        n, K = self.network.n_neurons, self.n_compartments
        if block is None:
            n_groups, n_columns = self.layout.group_mask.shape
            self._shared_traces = np.ones((STREAM_BLOCK, n_columns), dtype=self.dtype)
            self._centred_traces = self._centred(self._shared_traces)
            window = STREAM_BLOCK if self._window_ages.size else 0
            block = self._block = self._open_block(
                STREAM_BLOCK,
                drive=np.zeros((STREAM_BLOCK, n), dtype=self.dtype),
                gram=np.zeros((n_groups, STREAM_BLOCK, STREAM_BLOCK), dtype=self.dtype),
                carry=np.zeros((n, K, window), dtype=self.dtype),
                uniforms=np.zeros((STREAM_BLOCK, K, n)),
            )
        t = self._position
        taps = self.layout.synaptic_taps
        with single_threaded_blas():
            self._shared_traces[t, :-1] = (self._shared_history[::-1].T.astype(self.dtype) @ taps.T).reshape(-1)
            self._shared_history = np.concatenate([self._shared_history[1:], inputs_t.astype(np.uint8)[None]])
            self._centred_traces[t] = self._centred(self._shared_traces[t : t + 1])
            drive, gram, carry = self._shared_products(slice(t, t + 1))
        block.drive[t], block.gram[:, t, : t + 1] = drive[0], gram[:, 0, :]
        if carry.shape[2]:
            block.carry[:, :, t] = carry[:, :, 0]
        block.uniforms[t] = uniforms_t
        block.clamped[t] = target_t is not None
        if target_t is not None:
            block.targets[t] = target_t
        self._advance(block, t, t + 1, settle=False)
        self._position = t + 1
        self.time += 1
        info = Info(block.spikes[t], block.log_likelihood[t], block.log_weights_out[t], block.importance[t])
        if self._position == STREAM_BLOCK:
            self.settle()
        return info

    def settle(self) -> None:
        """Apply what is still pending, so that parameters and state can be taken out."""
        if self._block is not None:
            self._advance(self._block, self._position, self._position, settle=True)
            with single_threaded_blas():
                self._fold(self._block, self._position)
            self._block, self._position = None, 0

    def take_off(self, means: NDArray[np.float64]) -> None:
        """From now on learn from the traces of the inputs less these means, (n_inputs, n_basis)."""
        self.settle()
        self.means = means
        self._shared_means = np.zeros(self.layout.group_mask.shape[1], dtype=self.dtype)
        self._shared_means[: means.size] = means.reshape(-1)
        self._mean_free = bool(means.any())
        self._window_centred = self._centred(self._window_traces)

    def restart(self, rule: Rule, steps: int | None = None) -> None:
        """Begin anew in silence, with the weights as they are and a rule of the same kind."""
        self.take()
        self._begin(rule, self._eligibility)

    # ---- taking out -------------------------------------------------------------------------------------------------

    def parameters(self) -> Parameters:
        """A copy of the parameters as they are now; the learner goes on as if nobody had looked."""
        clone = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(clone, name, value.copy())
        if self._block is not None:
            arrays = {
                name: getattr(clone, own)
                for name, own in (
                    ("synaptic", "_private"), ("eligibility", "_eligibility"), ("somatic", "_somatic"),
                    ("somatic_eligibility", "_somatic_eligibility"), ("history", "_history"),
                    ("log_weights", "_log_weights"), ("neuron_memory", "_neuron_memory"),
                )
            }  # fmt: skip
            rest = self._block._asdict().items()
            copies = {name: value.copy() for name, value in rest if isinstance(value, np.ndarray)}
            clone._block = self._block._replace(**{**copies, **arrays})
        return clone.take()[0]

    def take(self) -> tuple[Parameters, State]:
        """Parameters and state without a copy: if the learner goes on, they change with it."""
        self.settle()
        private = self._synaptic[:, self.layout.private]
        private[:] = self._private.reshape(private.shape)
        kept = {
            "shared_history": self._shared_history,
            "history": self._history,
            "eligibility": self._eligibility,
            "somatic_eligibility": self._somatic_eligibility,
            "window_post": self._window_post,
            "window_traces": self._window_traces,
            "window_ages": self._window_ages,
            "gamma": np.array(self.gamma),
        }
        memories = self._processor_memory, self._neuron_memory
        state = State("compiled", self.network, self.dtype, self.time, self._log_weights, *memories, kept, self.means)
        return Parameters(self._synaptic, self._somatic, self._bias), state

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _open_block(
        self, length: int, drive: NDArray[Any], gram: NDArray[Any], carry: NDArray[Any], uniforms: NDArray[np.float64]
    ) -> Block:
        plan, dtype = self.layout, self.dtype
        n, K, n_private = self._eligibility.shape
        n_visible = self.network.n_visible
        traces = np.zeros((3, K, n_private), dtype=dtype)
        past = self._history[plan.private_index >= 0]  # (n_private sources, K, words)
        traces[0] = _traces_of(past, plan.synaptic_table).transpose(1, 0, 2).reshape(K, -1)
        return Block(
            learning_rate=self.learning_rate,
            gamma=self.gamma,
            kappa=self.kappa,
            settings=self._settings,
            has_local=self._has_local,
            circuits=plan.circuits,
            history_bits=plan.history.bits,
            synaptic_table=plan.synaptic_table,
            somatic_table=plan.somatic_table,
            filters_agree=self.network.synaptic_filter == self.network.somatic_filter,
            private_index=plan.private_index,
            absent_start=plan.absent_start,
            absent_column=plan.absent_column,
            has_memory=self.network.has_memory,
            group=plan.group,
            drive=drive,
            gram=gram,
            carry=carry,
            uniforms=uniforms,
            targets=np.zeros((length, n_visible), dtype=np.uint8),
            clamped=np.zeros(length, dtype=np.bool_),
            synaptic=self._private,
            eligibility=self._eligibility,
            somatic=self._somatic,
            somatic_eligibility=self._somatic_eligibility,
            history=self._history,
            traces=traces,
            somatic_traces=np.zeros((n, K, self._somatic.shape[1]), dtype=dtype),
            log_weights=self._log_weights,
            processor_memory=np.repeat(self._processor_memory[None], self.threads, axis=0),
            neuron_memory=self._neuron_memory,
            post=np.zeros((n, K, length), dtype=dtype),
            accumulated=np.zeros((n, length), dtype=dtype),
            reach=np.zeros((2, self.network.n_hidden, n_visible), dtype=dtype),
            potentials=np.zeros((K, n)),
            fired=np.zeros((2, n, K), dtype=np.bool_),
            probabilities=np.zeros((2, n, K)),
            signal=np.zeros((length, n, K), dtype=dtype),
            carry_weights=np.zeros((n, K), dtype=dtype),
            spikes=np.zeros((length, K, n), dtype=np.bool_),
            visible_log_probability=np.zeros((length, K, n_visible)),
            log_likelihood=np.zeros((length, K)),
            log_weights_out=np.zeros((length, K)),
            importance=np.zeros((length, K)),
        )

    def _centred(self, traces: NDArray[Any]) -> NDArray[Any]:
        """The traces less their means; where the bias's trace is not 1, less as many times that."""
        if not self._mean_free:
            return traces
        centred: NDArray[Any] = traces - traces[:, -1:] * self._shared_means
        return centred

    def _shared_products(self, rows: slice) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Of the block's traces R: drive W_0 . R_t and R_t . R_s for t in ``rows``, and the eligibility carried in."""
        wanted, centred = self._shared_traces[rows], self._centred_traces[rows]
        drive = np.repeat(self._bias[None], len(wanted), axis=0)
        for segment in self.layout.segments:
            weights = self._synaptic[:, segment.sources].reshape(len(self._synaptic), -1)
            drive += wanted[:, segment.columns] @ weights.T
        gram = self._gram(centred, self._centred_traces[: rows.stop])
        n, K, window = self._window_post.shape
        if not window:
            return drive, gram, np.zeros((n, K, 0), dtype=self.dtype)
        weighted = self._window_post * _fading(self.gamma, self._window_ages)
        overlap = self._gram(self._window_centred, centred)  # (n_groups, window, len(wanted))
        if len(overlap) == 1:
            carry = (weighted.reshape(n * K, window) @ overlap[0]).reshape(n, K, len(wanted))
        else:
            carry = np.matmul(weighted, overlap[self.layout.group])
        return drive, gram, carry

    def _gram(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
        """(n_groups, len(left), len(right)): inner products over each group's shared sources."""
        if self.layout.all_shared:
            full: NDArray[Any] = (left @ right.T)[None]
            return full
        masks = self.layout.group_mask
        if min(len(left), len(right)) == 1:
            products: NDArray[Any] = (left * right) @ masks.T.astype(self.dtype)
            return products.T.reshape(len(masks), len(left), len(right))
        return np.stack([left[:, mask] @ right[:, mask].T for mask in masks])

    def _advance(self, block: Block, first: int, last: int, settle: bool) -> None:
        team, functions = self.threads, self._functions
        run_team(lambda thread, counter: advance(block, *functions, first, last, settle, thread, team, counter), team)
        self._processor_memory = block.processor_memory[0]

    def _fold(self, block: Block, length: int) -> None:
        """Write the shared synapses after ``length`` steps of the block, and move its post factors into the window."""
        traces, post = self._shared_traces[:length], block.post[:, :, :length]
        ages = np.arange(length, 0, -1)
        self._write_shared(block.accumulated[:, :length], self._centred_traces[:length])
        if self._window_ages.size:
            past = np.einsum("ik,iks->is", block.carry_weights, self._window_post) * _fading(
                self.gamma, self._window_ages
            )
            self._write_shared(past, self._window_centred)
            post = np.concatenate([self._window_post, post], axis=2)
            traces = np.concatenate([self._window_traces, traces])
            ages = np.concatenate([self._window_ages + length, ages])
        alive = ages <= self._horizon
        if not alive.all():
            post, traces, ages = post[:, :, alive], traces[alive], ages[alive]
        if len(ages) > max(LONGEST_WINDOW, traces.shape[1]):
            # The eligibility of the shared synapses in full, as the post factors of as many steps with one trace each.
            post = (post * _fading(self.gamma, ages - 1)) @ traces
            traces = np.eye(traces.shape[1], dtype=self.dtype)
            ages = np.ones(len(traces), dtype=np.int64)
        self._window_post, self._window_traces, self._window_ages = post, traces, ages
        self._window_centred = self._centred(traces)

    def _write_shared(self, accumulated: NDArray[Any], traces: NDArray[Any]) -> None:
        """weights += eta accumulated . traces, (n, steps) x (steps, columns), of centred traces."""
        scaled = self.learning_rate * accumulated
        self._bias += scaled @ traces[:, -1]
        plan = self.layout
        for segment in plan.segments:
            weights = self._synaptic[:, segment.sources].reshape(len(self._synaptic), -1)
            for rows in (slice(i, i + 64) for i in range(0, len(weights), 64)):  # a small buffer, not a second matrix
                change = scaled[rows] @ traces[:, segment.columns]
                if not plan.all_shared:
                    change *= plan.group_mask[plan.group[rows], segment.columns]
                weights[rows] += change
                if self._mean_free:
                    self._bias[rows] -= change @ self._shared_means[segment.columns]


def declared(network: Network, rule: Rule, n_compartments: int, state: State) -> Declared:
    """What :meth:`Learner.take` keeps, with as long a window as ``window_ages``."""
    plan, f, n, K = layout(network, False, state.dtype), state.dtype, network.n_neurons, n_compartments
    n_private, n_columns = (plan.private.stop - plan.private.start), plan.group_mask.shape[1]
    n_basis, window = network.synaptic_filter.n_basis, length(state.kept, "window_ages")
    return {
        "shared_history": Kept((network.synaptic_filter.duration, (n_columns - 1) // n_basis), np.uint8, most=1),
        "history": Kept((n, K, plan.history.words), np.uint16, most=2**plan.history.bits - 1),
        "eligibility": Kept((n, K, n_private * n_basis), f),
        "somatic_eligibility": Kept((n, K, network.somatic_filter.n_basis), f),
        "window_post": Kept((n, K, window), f),
        "window_traces": Kept((window, n_columns), f),
        "window_ages": Kept((window,), np.int64, least=1, most=max(state.time, 1)),
        "gamma": Kept((), f),
    }


def _fading(gamma: Any, ages: NDArray[np.int64]) -> NDArray[Any]:
    """gamma^age, in gamma's precision."""
    fading: NDArray[Any] = gamma ** ages.astype(gamma.dtype)
    return fading


def _horizon(gamma: float, dtype: np.dtype[Any]) -> int:
    """Steps after which gamma^age is below a tenth of the precision, so that eligibility has faded to nothing."""
    if gamma == 1:
        return np.iinfo(np.int64).max // 4
    return max(1, math.ceil(math.log(float(np.finfo(dtype).eps) / 10) / math.log(gamma)))


def _traces_of(history: NDArray[np.uint16], table: NDArray[Any]) -> NDArray[Any]:
    """(..., n_basis) traces of (..., words) histories."""
    trace: NDArray[Any] = sum(table[word, history[..., word]] for word in range(len(table)))
    return trace
