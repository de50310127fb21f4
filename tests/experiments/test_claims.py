"""Verdicts on results whose truth is known."""

import math

import numpy as np
import pytest
from made_up_results import made_up

from gemsnn.experiments import CLAIMS, Claim, Evidence, Protocol, judge
from gemsnn.experiments.claims import as_records, improvement, proportional
from gemsnn.experiments.report import report
from gemsnn.experiments.statistics import Estimate

LIKELIHOOD, ACCURACY, ECE, STOPPING, BROADCAST, SPIKES = range(6)


def wobble(size: float):
    """The same small disturbance for a (K, seed) every time, different between them."""
    return lambda K, seed: size * float(np.random.default_rng([K, seed]).normal())


def verdicts(**values) -> list[str]:
    return [claim.verdict for claim in judge(made_up(**values))]


def test_what_rises_for_every_seed_is_supported() -> None:
    w = wobble(0.001)
    found = verdicts(
        log_likelihood=lambda K, seed, i: -10 + math.log2(K) + w(K, seed),
        accuracy=lambda K, seed, i: 0.8 + 0.03 * math.log2(K) + w(K, seed),
        ece=lambda K, seed, i: 0.3 - 0.05 * math.log2(K) + w(K, seed),
    )
    assert found[: ECE + 1] == ["supported"] * 3


def test_what_falls_is_not_supported() -> None:
    w = wobble(0.001)
    found = verdicts(
        log_likelihood=lambda K, seed, i: -10 - math.log2(K) + w(K, seed),
        accuracy=lambda K, seed, i: 0.9 - 0.03 * math.log2(K) + w(K, seed),
        ece=lambda K, seed, i: 0.1 + 0.05 * math.log2(K) + w(K, seed),
    )
    assert found[: ECE + 1] == ["not supported"] * 3


def test_no_difference_at_all_is_not_supported() -> None:
    assert verdicts()[: ECE + 1] == ["not supported"] * 3


def test_noise_larger_than_the_effect_is_inconclusive() -> None:
    w = wobble(0.2)
    assert verdicts(accuracy=lambda K, seed, i: 0.5 + 0.01 * K + w(K, seed))[ACCURACY] == "inconclusive"


def test_a_difference_that_seeds_share_is_found_although_seeds_differ_widely() -> None:
    # Seeds differ by far more than K does; pairing sees through that.
    between_seeds = [0.0, 0.2, -0.3, 0.1, -0.1]
    w = wobble(0.001)
    found = verdicts(accuracy=lambda K, seed, i: 0.6 + between_seeds[seed] + 0.01 * math.log2(K) + w(K, seed))
    assert found[ACCURACY] == "supported"


def test_early_stopping_is_needed_where_accuracy_falls_and_likelihood_rises() -> None:
    w = wobble(0.002)
    falling = {"accuracy": lambda K, seed, i: 0.95 - 0.05 * i + w(K, seed)}
    rising = {"log_likelihood": lambda K, seed, i: -20.0 + 3 * i + w(K, seed)}
    assert verdicts(**falling, **rising)[STOPPING] == "supported"
    assert verdicts(**falling)[STOPPING] == "not supported"  # the likelihood does not rise
    assert verdicts(**rising)[STOPPING] == "not supported"  # the accuracy does not fall


def test_early_stopping_is_judged_by_validation_and_not_by_peeking_at_the_test_set() -> None:
    # On the test set some early evaluation happens to be best; on validation the last one is.
    found = verdicts(
        accuracy=lambda K, seed, i: 0.95 - 0.05 * i,
        validation_accuracy=lambda K, seed, i: 0.8 + 0.05 * i,
        log_likelihood=lambda K, seed, i: -20.0 + 3 * i,
    )
    assert found[STOPPING] == "not supported"


@pytest.mark.parametrize(
    ("spikes", "verdict"),
    [
        (lambda K, seed: 7.0 * K + 0.01 * seed, "supported"),
        (lambda K, seed: 7.0 * K**0.5 + 0.01 * seed, "not supported"),
        (lambda K, seed: 7.0 * K**2 + 0.01 * seed, "not supported"),
        (lambda K, seed: 7.0 * K ** (0.7 + 0.15 * seed), "inconclusive"),
    ],
)
def test_spikes_are_linear_only_if_the_exponent_is_one(spikes, verdict: str) -> None:
    assert verdicts(spikes=spikes)[SPIKES] == verdict


def test_the_broadcast_load_is_linear() -> None:
    claim = judge(made_up())[BROADCAST]
    assert claim.verdict == "supported"
    assert claim.evidence[0].estimate.mean == pytest.approx(1)


def test_a_single_seed_never_decides() -> None:
    protocol = Protocol.make("full", seeds=(0,))
    found = verdicts(protocol=protocol, accuracy=lambda K, seed, i: 0.04 * K)
    assert set(found) == {"inconclusive"}


def test_the_rules_at_their_borders() -> None:
    clear, unclear = Estimate(1, 0.5, 1.5, 5), Estimate(1, -0.5, 2.5, 5)
    assert improvement(clear, clear, 0.1) == "supported"
    assert improvement(clear, unclear, 0.1) == "inconclusive"  # ends high, but does not rise all along
    assert improvement(unclear, clear, 0.1) == "inconclusive"
    assert improvement(Estimate(0.02, -0.01, 0.05, 5), clear, 0.1) == "not supported"  # too small to be worth the name
    assert proportional(Estimate(1.0, 0.8, 1.2, 5), 0.1) == "inconclusive"


def spikes_are_few(results) -> Claim:
    """A claim from outside the package."""
    spikes = results.estimated([run.spikes_per_step for run in results.runs])
    verdict = "supported" if spikes.below < 1000 else "not supported"
    evidence = Evidence(what="all K", effect="hidden spikes per step", estimate=spikes, verdict=verdict)
    return Claim(name="few spikes", claim="Spikes are < 1000.", source="a test", rule="by 1000", evidence=[evidence])


def test_a_claim_from_outside_is_judged_beside_the_papers_and_stands_on_the_page() -> None:
    results = made_up()
    claims = judge(results, [*CLAIMS.values(), spikes_are_few])
    assert claims[:-1] == judge(results)
    assert claims[-1].verdict == "supported"
    assert as_records(claims)[-1]["verdict"] == "supported"
    assert "Spikes are &lt; 1000." in report(results, claims)
    assert judge(made_up(spikes=lambda K, seed: 1e4), [spikes_are_few])[0].verdict == "not supported"


def test_the_first_piece_of_evidence_gives_the_verdict_so_there_must_be_one() -> None:
    claim = spikes_are_few(made_up())
    other = claim.evidence[0].model_copy(update={"verdict": "inconclusive"})
    assert claim.model_copy(update={"evidence": [other, *claim.evidence]}).verdict == "inconclusive"
    with pytest.raises(ValueError, match="at least 1 item"):
        Claim(name="", claim="", source="", rule="", evidence=[])
