"""A campaign: programs on sides, measured, judged, and put into rows."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from parity_tests.campaign.collection import collect
from parity_tests.campaign.folder import Setup, campaign_folder, check_same_campaign
from parity_tests.campaign.lost_hazards import foresee, is_unforeseen
from parity_tests.campaign.timed_rounds import time_sides
from parity_tests.drift.of_campaign import attribute_drift
from parity_tests.evidence import saved
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.conclusion import conclude, needs_arbiter
from parity_tests.judge.findings import Findings
from parity_tests.judge.row_draft import RowDraft
from parity_tests.judge.sides import pairs_of
from parity_tests.judge.timing import judge_times
from parity_tests.judge.verdict import has_floats
from parity_tests.processes.protocol import Listed
from parity_tests.processes.side_runs import STEADY_CALLS, Progress, Recorded, run_sides, truth_of
from parity_tests.processes.warm_workers import warm_arbiter
from reports.rows import SIDES, Campaign, Comparison, Hazard, Side, TimeComparison, TimeSamples

TIMEOUT = 120.0

# A hazard belongs to the program, so one side detects it: the first of these that runs. Sides that
# a hazard can make fail come last.
_FORESEERS: tuple[Side, ...] = ("jax-legacy", "legacy", "jax-simplified", "simplified")


def run(
    targets: Sequence[str] = (),
    *,
    sides: Sequence[Side] = SIDES,
    timeout: float = TIMEOUT,
    resume: Path | None = None,
    rounds: int = 0,
    save: Path | None = None,
    steady_calls: int = STEADY_CALLS,
    fresh: bool = False,
    reload: bool = False,
    memory_limit: int | None = None,
    attribute: bool = False,
    progress: Progress = lambda done, total, text: None,
) -> Campaign:
    """Run the programs of targets, or the built-in corpus, on sides, and judge them.

    `timeout` is in seconds for one program on one side. `resume` is a folder that keeps what is
    finished: the same campaign, started again with it, goes on where it was interrupted, and with
    larger limits runs again what had exceeded them. With `rounds`, times are judged: each round
    takes the programs that every side could run through each side twice, in fresh processes and one
    at a time. `save` is a file that gets the results and, beside it, the arrays of all outputs, to
    be judged again. `steady_calls` is how often each program is called to time it, and with `fresh`
    each program has a process of its own, without which the peak of host memory depends on what ran
    before. With `reload` each program is also exported and read back, and reloaded from a
    persistent cache. A program whose process grows beyond `memory_limit`, in bytes, has failed on
    that side. With `attribute`, both sides of a program whose outputs are not bitwise equal are run
    again to find out why. `progress` is called with what is done, the total, and a word on the last
    step. Raises `TargetError` and `ResumeError` before anything runs, and `OSError` where `save`
    cannot be written.

    Example::

        run(["my_model.py:step"], sides=("legacy", "simplified")).verdict
    """
    with campaign_folder(resume) as folder:
        collected = collect(targets, folder, timeout=timeout)
        setup = Setup(
            timeout=timeout,
            memory_limit=memory_limit,
            steady_calls=steady_calls,
            fresh=fresh,
            reload=reload,
            hazards_on=_foreseer(sides),
        )
        check_same_campaign(folder, collected.listing, setup)
        programs, jobs = collected.programs, collected.jobs
        progress(0, len(jobs) * len(sides), "")
        recorded = run_sides(
            jobs,
            sides,
            folder,
            timeout=timeout,
            steady_calls=steady_calls,
            fresh=fresh,
            reload=reload,
            memory_limit=memory_limit,
            hazards_on=setup.hazards_on,
            progress=progress,
        )
        samples = time_sides(
            [job for job in jobs if not any(_failed(recorded[job.number, side]) for side in sides)],
            sides,
            folder / "rounds",
            rounds=rounds,
            timeout=timeout,
            progress=progress,
        )
        by_name = {programs[number].name: each for number, each in samples.items()}
        pairs = pairs_of(sides)
        times = judge_times(by_name, by_name, pairs)
        by_program = [
            {side: recorded[number, side] for side in sides if (number, side) in recorded}
            for number in range(len(programs))
        ]
        with warm_arbiter(folder, timeout=timeout, fresh=fresh) as arbitrate:
            drafts = [
                _draft(
                    each,
                    by_program[number],
                    partial(arbitrate, collected.job(number)),
                    partial(foresee, collected.job(number), folder, timeout=timeout),
                    time_samples=samples.get(number, ()),
                    times=times.get(each.name, ()),
                    always_arbitrate=save is not None and not set(SIDES) <= set(sides),
                )
                for number, each in enumerate(programs)
            ]
        if attribute:
            drafts = attribute_drift(
                drafts,
                collected.job,
                lambda number, side: by_program[number][side].evidence(),
                partial(truth_of, folder),
                folder,
                timeout=timeout,
                progress=progress,
            )
        result = Campaign(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            environment=collected.environment,
            sides=tuple(sides),
            programs=tuple(each.row(conclude(each.findings, pairs)) for each in drafts),
        )
        if save is not None:
            saved.save(
                save,
                result,
                lambda number: (
                    {side: record.evidence() for side, record in by_program[number].items()},
                    truth_of(folder, number),
                ),
            )
    return result


def _foreseer(sides: Container[Side]) -> Side | None:
    return next((side for side in _FORESEERS if side in sides), None)


def _failed(record: Recorded) -> bool:
    return record.observation.failure is not None


def _draft(
    program: Listed,
    recorded: dict[Side, Recorded],
    ask_arbiter: Callable[[], tuple[Value, ...] | str],
    ask_hazards: Callable[[], tuple[Hazard, ...]],
    *,
    time_samples: tuple[TimeSamples, ...] = (),
    times: tuple[TimeComparison, ...] = (),
    always_arbitrate: bool = False,
) -> RowDraft:
    evidence = {side: recorded[side].evidence() for side in SIDES if side in recorded}
    if program.unavailable is not None:
        findings = Findings(not_run=program.unavailable)
    else:
        comparisons, no_arbiter = _compared(evidence, ask_arbiter, always_arbitrate)
        findings = Findings(
            observed=tuple(each.observation for each in evidence.values()),
            comparisons=comparisons,
            times=times,
            hazards=_hazards(recorded, ask_hazards),
            no_arbiter=no_arbiter,
        )
    return RowDraft(
        name=program.name,
        source=program.source or (program.target if program.unavailable is not None else ""),
        target=program.target,
        digest=program.digest,
        summary=program.summary,
        observations=findings.observed,
        time_samples=time_samples,
        findings=findings,
    )


def _compared(
    evidence: Mapping[Side, Evidence],
    ask_arbiter: Callable[[], tuple[Value, ...] | str],
    always_arbitrate: bool,
) -> tuple[tuple[Comparison, ...], str]:
    """Compare the sides of a program; the text says why the arbiter is missing where it was asked.

    The arbiter is asked where outputs are beyond tolerance. What is saved may be compared with
    sides that are not here, and then nobody can ask it: with `always_arbitrate`, it is asked of
    every program that it can judge.
    """
    pairs = [(evidence[left], evidence[right]) for left, right in pairs_of(evidence)]
    comparisons = compare_pairs(pairs)
    always = always_arbitrate and any(has_floats(each.observation) for each in evidence.values())
    if not (always or needs_arbiter(comparisons)):
        return comparisons, ""
    truth = ask_arbiter()
    if isinstance(truth, str):
        return comparisons, truth
    return compare_pairs(pairs, truth), ""


def _hazards(
    recorded: dict[Side, Recorded], ask_hazards: Callable[[], tuple[Hazard, ...]]
) -> tuple[Hazard, ...]:
    foreseer = _foreseer(recorded)
    if foreseer is None:
        return ()
    if is_unforeseen(recorded[foreseer].observation.failure):
        return ask_hazards()
    return recorded[foreseer].hazards()
