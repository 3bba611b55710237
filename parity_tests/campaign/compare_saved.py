"""Compare two saved campaigns with the judge of a live run.

Where they measured different sides, they are put together and judged as one campaign would be: the
arbiter's outputs are in the files, and drift is attributed as there if that is asked for, which
alone runs anything. A side that both measured is compared with itself: yesterday's run with
today's, one JAX with another.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from parity_tests.drift.rows import attributed, saved_job
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.saved import Saved
from parity_tests.evidence.values import Value
from parity_tests.judge.flip_verdict import decide
from parity_tests.judge.timing import judge_times
from parity_tests.judge.verdict import judge, needs_arbiter, pairs_of
from parity_tests.processes.protocol import Job, Progress
from reports.rows import SIDES, Campaign, ProgramRow, Side


def compare(
    left: Saved,
    right: Saved,
    *,
    attribute: bool = False,
    timeout: float = 120.0,
    progress: Progress = lambda done, total, text: None,
) -> Campaign:
    """Judge every program of two saved campaigns; one that only one of them has is not compared.

    With `attribute`, both sides of a program whose outputs are not bitwise equal are run again to
    find out why, where its source and the environment are those that were measured: what the files
    name is imported, so they are to be trusted. `timeout` is in seconds for one run.
    Raises `SavedError` where arrays cannot be read.

        compare(Saved.read(Path("A.json")), Saved.read(Path("B.json"))).verdict
    """
    pairs = _pairs(left.campaign.sides, right.campaign.sides)
    of_left, of_right = left.rows(), right.rows()
    times = judge_times(
        {name: row.time_samples for name, row in of_left.items()},
        {name: row.time_samples for name, row in of_right.items()},
        pairs,
    )
    rows = []
    for name in dict.fromkeys([*of_left, *of_right]):
        if name not in of_left or name not in of_right:
            there = left if name in of_left else right
            rows.append(_only_in(there, of_left.get(name) or of_right[name]))
        else:
            row = _row(left, right, name, pairs)
            rows.append(row.model_copy(update={"times": times.get(name, ())}))
    if attribute and all(a != b for a, b in pairs):
        rows = _attributed(left, right, rows, timeout, progress)
    return Campaign(
        created=max(left.campaign.created, right.campaign.created),
        environment=left.campaign.environment,
        sides=tuple(s for s in SIDES if s in {*left.campaign.sides, *right.campaign.sides}),
        programs=tuple(row.model_copy(update={"flip": decide(row, pairs)}) for row in rows),
    )


def _pairs(left: tuple[Side, ...], right: tuple[Side, ...]) -> list[tuple[Side, Side]]:
    """Return the pairs that are compared: the left side of each is looked for in `left` first."""
    both = [side for side in SIDES if side in left and side in right]
    if both:
        return [(side, side) for side in both]
    return pairs_of({*left, *right})


def _row(left: Saved, right: Saved, name: str, pairs: list[tuple[Side, Side]]) -> ProgramRow:
    in_left, in_right = left.evidence(name), right.evidence(name)
    if any(a == b for a, b in pairs):
        compared = [(in_left[a], in_right[b]) for a, b in pairs if a in in_left and b in in_right]
    else:
        together = {**in_left, **in_right}
        compared = [(together[a], together[b]) for a, b in pairs if {a, b} <= set(together)]
    alone: list[Evidence] = [*in_left.values(), *in_right.values()]
    truth = left.truth(name) or right.truth(name)
    judgement = judge(compared, alone, truth)
    reasons = judgement.reasons
    if needs_arbiter(judgement) and not truth:
        reasons = (*reasons, "there is no arbiter: neither of the files has its outputs")
    row = left.rows()[name]
    return row.model_copy(
        update={
            "verdict": judgement.verdict,
            "reasons": reasons,
            "drift": (),  # of runs that were made for other pairs
            "comparisons": judgement.comparisons,
            "observations": tuple(each.observation for each in {**in_right, **in_left}.values()),
        }
    )


def _attributed(
    left: Saved, right: Saved, rows: list[ProgramRow], timeout: float, progress: Progress
) -> list[ProgramRow]:
    def job_of(number: int) -> Job | str:
        both = [each.rows()[rows[number].name] for each in (left, right)]
        environments = [each.campaign.environment for each in (left, right)]
        return saved_job(number, both, environments, folder, timeout=timeout)

    def evidence_of(number: int, side: Side) -> Evidence:
        name = rows[number].name
        return {**left.evidence(name), **right.evidence(name)}[side]

    def truth_of(number: int) -> tuple[Value, ...]:
        name = rows[number].name
        return left.truth(name) or right.truth(name)

    with tempfile.TemporaryDirectory(prefix="constparity-") as name:
        folder = Path(name)
        found = attributed(
            rows, job_of, evidence_of, truth_of, folder, timeout=timeout, progress=progress
        )
    return list(found)


def _only_in(saved: Saved, row: ProgramRow) -> ProgramRow:
    return row.model_copy(
        update={
            "verdict": "could not compare",
            "reasons": (f"only {saved.path} has it",),
            "comparisons": (),
            "times": (),
        }
    )
