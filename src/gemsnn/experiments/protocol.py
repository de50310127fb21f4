"""The protocol of the reproduction, fixed before any run: what is trained, measured and concluded.

It follows section 4 of the paper, and settles what the paper leaves open. Every report prints it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gemsnn.common.validation import complaint
from gemsnn.errors import ConfigError
from gemsnn.training import DecoderSettings, TrainingConfig
from gemsnn.training.randomness import hold_out

Positive = Annotated[int, Field(ge=1)]


class DecodedBy(StrEnum):
    """The decoders with which every network of the protocol is evaluated."""

    VOTE = "vote"
    """The vote with K^I = K."""
    FEW = "few"
    """The vote with few compartments, K^I = 2."""
    LIKELIHOOD = "likelihood"
    """The model's own posterior."""


class Protocol(BaseModel):
    """Everything that determines the results of a reproduction, given the data."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    name: str = "full"
    """Name on the page."""

    # ---- what is trained
    compartments: tuple[Positive, ...] = (1, 2, 5, 10, 20)
    """K: compartments during training."""
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = (0, 1, 2, 3, 4)
    """One run for each seed and K; a seed determines initial weights, hold-out, order of examples, and every spike."""
    n_hidden: int = Field(default=200, ge=1)
    """Hidden neurons."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """Learning rate eta."""
    kappa: float = Field(default=0.9, gt=0, le=1)
    """Memory of the log-weights."""
    gamma: float = Field(default=0.9, gt=0, le=1)
    """Memory of the eligibility."""
    visible_memory: bool = True
    """Whether the readout neurons have memory of their own spikes, as all neurons of the paper."""
    lateral_outputs: bool = False
    """Whether there are synapses between the readout neurons; not in the paper."""
    initial_uniform: float | None = Field(default=None, gt=0)
    """Draw all initial weights and biases between minus and plus this value. Default: as ``Network.init``."""
    epochs: int = Field(default=3, ge=1)
    """Passes over the training examples."""
    batch_size: int = Field(default=1, ge=1, le=1024)
    """Examples per update of the weights; 1 in the paper."""
    validation_fraction: float = Field(default=0.1, gt=0, lt=1)
    """Fraction of the training examples held out to choose the iteration."""

    # ---- what is measured
    evaluation_points: tuple[Annotated[float, Field(gt=0, le=1)], ...] = (
        1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0,
    )  # fmt: skip
    """Fractions of the run after which the network is evaluated on validation and test examples."""
    realisations: Positive = 20
    """Realisations of the hidden neurons for a log-likelihood, and for the likelihood decoder."""
    likelihood_mean: Literal["probability", "log-probability"] = "probability"
    """What is averaged over the realisations for a log-likelihood."""
    few_compartments: Positive = 2
    """K^I of the paper's Figure 4."""
    curves: tuple[Positive, Positive] = (1, 20)
    """The two K of Figure B."""
    n_bins: Positive = 10
    """Bins of the calibration error."""

    # ---- how it is concluded
    confidence: float = Field(default=0.95, gt=0, lt=1)
    """Of the intervals: Student's t over seeds, paired over seeds when two K are compared."""
    margin_log_likelihood: float = Field(default=0.5, gt=0)
    """A smaller rise, in nats per sequence, is not relevant."""
    margin_accuracy: float = Field(default=0.01, gt=0)
    """The same for accuracy."""
    margin_ece: float = Field(default=0.01, gt=0)
    """The same for the calibration error."""
    margin_exponent: float = Field(default=0.1, gt=0)
    """Growth as K^a counts as linear if a is within this distance of 1."""

    # ---- data, where no file is given
    digits: tuple[Annotated[int, Field(ge=0, le=9)], ...] = (0, 1, 2)
    """Digits to simulate."""
    per_class: tuple[Positive, Positive] = (400, 100)
    """Training and test recordings to simulate of each digit."""
    data_seed: int = Field(default=0, ge=0)
    """Seed of the simulator."""
    resplit_test_fraction: float = Field(default=0.3, gt=0, lt=1)
    """Test fraction if each seed draws its own split (data without an official test set)."""

    @model_validator(mode="after")
    def _check(self) -> Protocol:
        for field in ("compartments", "seeds", "evaluation_points", "digits"):
            values = getattr(self, field)
            if not values or len(set(values)) != len(values):
                raise ValueError(f"{field} = {values}: needs different values, at least one")
        if len(self.compartments) < 2:
            raise ValueError("compartments: at least two K are needed to compare")
        if not set(self.curves) <= set(self.compartments):
            raise ValueError(f"curves = {self.curves}: must be among compartments = {self.compartments}")
        return self

    @classmethod
    def make(cls, preset: Literal["quick", "full"] = "full", /, **changes: Any) -> Protocol:
        """A preset with changes; invalid values raise a ``ConfigError``."""
        values = {**PRESETS[preset], **changes}
        given = changes.get("compartments")
        if "curves" not in values and isinstance(given, list | tuple) and all(isinstance(K, int) for K in given):
            values["curves"] = (min(given, default=1), max(given, default=1))
        if changes and "name" not in changes:
            values["name"] = f"{values.get('name', 'full')}, changed: {', '.join(sorted(changes))}"
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(f"protocol: {complaint(error, cls)}") from None

    @property
    def choices(self) -> str:
        """Source of the choices: the paper's text, the first author's public code, or others."""
        papers = {name: Protocol.model_fields[name].default for name in PUBLISHED_CODE}
        own = {name: getattr(self, name) for name in PUBLISHED_CODE}
        if own == PUBLISHED_CODE:
            return "the published code"
        return "the paper's text" if own == papers else "other choices"

    def name_of(self, decoder: DecodedBy) -> str:
        """Name of a decoder in figures and tables."""
        return {
            DecodedBy.VOTE: "vote, K^I = K",
            DecodedBy.FEW: f"vote, K^I = {self.few_compartments}",
            DecodedBy.LIKELIHOOD: "likelihood decoder",
        }[decoder]

    def training(self, n_compartments: int, seed: int, labels: NDArray[np.int64], n_steps: int) -> TrainingConfig:
        """Settings of the run (K, seed) for training examples with these labels, of ``n_steps`` steps."""
        base = TrainingConfig.make(
            preset="paper",
            n_hidden=self.n_hidden,
            n_compartments=n_compartments,
            rule={"learning_rate": self.learning_rate, "kappa": self.kappa, "gamma": self.gamma},
            visible_memory=self.visible_memory,
            topology={"lateral": self.lateral_outputs},
            initial_uniform=self.initial_uniform,
            likelihood_mean=self.likelihood_mean,
            epochs=self.epochs,
            batch_size=self.batch_size,
            validation_fraction=self.validation_fraction,
            likelihood_samples=self.realisations,
            n_bins=self.n_bins,
            extra_decoders=(
                DecoderSettings(kind="vote", compartments=self.few_compartments),
                DecoderSettings(kind="likelihood", compartments=self.realisations),
            ),
            seed=seed,
            threads=1,
        )
        kept, _ = hold_out(labels, self.validation_fraction, seed)
        total = base.schedule.total(len(kept), n_steps) * n_steps
        return base.changed(eval_at=tuple(sorted({max(1, round(share * total)) for share in self.evaluation_points})))


PRESETS: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {
        "name": "quick",
        "seeds": (0, 1, 2),
        "compartments": (1, 2, 5, 20),
        "n_hidden": 50,
        "epochs": 3,
        "evaluation_points": (1 / 16, 1 / 4, 1 / 2, 1.0),
        "per_class": (100, 40),
    },
}

PUBLISHED_CODE: dict[str, Any] = {
    "lateral_outputs": True,
    "initial_uniform": 0.1,
    "likelihood_mean": "log-probability",
}
"""Where the first author's code of 2020 (hrjang357/multi-sample-SNN) differs from the paper."""

QUICK, FULL = Protocol.make("quick"), Protocol.make("full")
