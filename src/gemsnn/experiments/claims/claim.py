"""What a claim is: a function that takes results and gives the claim's words, its verdict, and the evidence for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from gemsnn.experiments.results import Results
from gemsnn.experiments.statistics import Estimate

Verdict = Literal["supported", "not supported", "inconclusive"]


class Evidence(BaseModel):
    """One way to look at a claim."""

    what: str
    effect: str
    """What the estimate is the mean of."""
    estimate: Estimate
    also: str = ""
    """A second figure that the verdict uses."""
    verdict: Verdict


class Claim(BaseModel):
    """A claim and its verdict."""

    name: str
    """In a few words."""
    claim: str
    """As its source puts it."""
    plain: str = ""
    """The same for a reader who does not know the source."""
    source: str
    """Where it is made."""
    rule: str
    """How the verdict follows from the evidence."""
    evidence: list[Evidence] = Field(min_length=1)
    """The first piece gives the verdict; the others stand beside it."""

    @property
    def verdict(self) -> Verdict:
        return self.evidence[0].verdict


Judge = Callable[[Results], Claim]
"""Holds a claim against results; a claim is a function of this kind."""


def as_records(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """As JSON values."""
    return [
        {
            **claim.model_dump(exclude={"evidence"}),
            "verdict": claim.verdict,
            "evidence": [
                {**item.model_dump(exclude={"estimate"}), "estimate": item.estimate._asdict()}
                for item in claim.evidence
            ],
        }
        for claim in claims
    ]
