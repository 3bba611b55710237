"""One program of a campaign: what its sides left, compared, as the draft of its row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from parity_tests.campaign import unfinished
from parity_tests.campaign.lost_hazards import may_hide_hazards
from parity_tests.evidence.found import HazardsFound
from parity_tests.evidence.records import Evidence, Recorded
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.findings import Findings
from parity_tests.judge.judgement import has_floats
from parity_tests.judge.row_draft import RowDraft
from parity_tests.judge.sides import pairs_of
from parity_tests.judge.verdict import needs_arbiter
from parity_tests.processes.protocol import Listed
from parity_tests.processes.signs_of_life import give_sign
from parity_tests.processes.warm_workers import Truth
from reports.rows import Comparison, Observation, Side, TimeComparison, TimeSamples

# What a program does by itself is what it does before the flip.
_BEFORE: tuple[Side, ...] = ("jax-legacy", "legacy")


def draft_of(
    program: Listed,
    recorded: Mapping[Side, Recorded],
    sides: Sequence[Side],
    ask_arbiter: Callable[[], Truth],
    ask_hazards: Callable[[str], HazardsFound],
    *,
    hazards_on: Side | None = None,
    time_samples: tuple[TimeSamples, ...] = (),
    times: tuple[TimeComparison, ...] = (),
    measured_again: tuple[Observation, ...] = (),
    always_arbitrate: bool = False,
) -> RowDraft:
    """Compare the sides of one program, with its arbiter and its hazards, into a row's draft.

    `recorded` has what each side left, and that of `hazards_on` the hazards. A program that not all
    `sides` have run is not compared.

    Example::

        draft_of(program, records, ("legacy", "simplified"), ask_arbiter, ask_hazards).findings
    """
    give_sign()
    evidence, missing = unfinished.load(recorded, sides)
    if program.unavailable is not None:
        findings = Findings(not_run=program.unavailable)
    elif missing:
        findings = Findings(tuple(each.observation for each in evidence.values()), not_run=missing)
    else:
        comparisons, no_arbiter = _compared(evidence, ask_arbiter, always_arbitrate)
        found = _hazards(recorded, hazards_on, ask_hazards)
        findings = Findings(
            observed=tuple(each.observation for each in evidence.values()),
            comparisons=comparisons,
            times=times,
            hazards=found.hazards,
            no_hazards=found.not_detected,
            measured_again=measured_again,
            no_arbiter=no_arbiter,
        )
    return RowDraft(
        name=program.name,
        source=program.source or (program.target if program.unavailable is not None else ""),
        target=program.target,
        digest=program.digest,
        summary=program.summary,
        tags=program.tags,
        observations=findings.observed,
        time_samples=time_samples,
        findings=findings,
    )


def _compared(
    evidence: Mapping[Side, Evidence], ask_arbiter: Callable[[], Truth], always_arbitrate: bool
) -> tuple[tuple[Comparison, ...], str]:
    """Compare the sides of a program; the text says why the arbiter is missing where it was asked.

    The arbiter is asked where outputs are beyond tolerance; with `always_arbitrate`, it is asked of
    every program that it can judge.
    """
    pairs = [(evidence[left], evidence[right]) for left, right in pairs_of(evidence)]
    comparisons = compare_pairs(pairs)
    always = always_arbitrate and any(has_floats(each.observation) for each in evidence.values())
    if not (always or needs_arbiter(comparisons)):
        return comparisons, ""
    truth = ask_arbiter()
    if truth.missing:
        return comparisons, truth.missing
    return compare_pairs(pairs, truth.outputs), ""


def _hazards(
    recorded: Mapping[Side, Recorded],
    side: Side | None,
    ask_hazards: Callable[[str], HazardsFound],
) -> HazardsFound:
    """Return the hazards of a program; one that fails by itself has its failure to say why not."""
    if side is None or side not in recorded:
        return HazardsFound()
    failure, found = recorded[side].observation.failure, recorded[side].hazards()
    before = next((each for each in _BEFORE if each in recorded), side)
    works_before = recorded[before].observation.failure is None
    if may_hide_hazards(failure, works_before=works_before) or (found.again and works_before):
        asked = ask_hazards("")
        # The process may be lost that was asked.
        known = found.hazards if asked.not_detected else ()
        found = asked.model_copy(update={"hazards": known or asked.hazards})
    elif found.reads:
        asked = ask_hazards(found.reads)
        found = asked.model_copy(update={"not_detected": found.not_detected})
    return found if works_before else found.model_copy(update={"not_detected": ""})
