"""Compare what the sides left of each program, as the drafts of rows: all, or as they finish."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from parity_tests.evidence.found import HazardsFound
from parity_tests.evidence.records import Evidence, Recorded
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.findings import Findings
from parity_tests.judge.sides import pairs_of
from parity_tests.judge.timing import judge_times
from parity_tests.judge.verdict import RowDraft, conclude, has_floats, needs_arbiter
from parity_tests.processes.signs_of_life import give_sign
from parity_tests.processes.warm_workers import Truth, warm_arbiter
from parity_tests.run.asking_for_hazards import detect_alone, hazards_told
from parity_tests.run.collection import Context
from parity_tests.run.options import side_with_hazards
from reports.rows import SIDES, Comparison, ProgramRow, Side, TimeComparison
from reports.views.measured import versions

_LATER = "it comes after the last program, which the campaign has not reached"


def compare_sides(context: Context) -> list[RowDraft]:
    """Compare the sides of each program, with the arbiter where it may decide, and judge times.

    Example::

        compare_sides(measure(context))[0].findings
    """
    collected, options = context.collected, context.options
    by_name = {collected.programs[number].name: each for number, each in context.samples.items()}
    times = judge_times(by_name, by_name, context.pairs)
    total, most = len(collected.programs), f"at most {options.timeout:g} s"

    def judging(number: int, what: str = "") -> None:
        context.progress(number, total, f"judging {collected.programs[number].name}{what}")

    with warm_arbiter(context.folder, options.time_limit, fresh=options.fresh) as arbitrate:

        def ask_arbiter(number: int) -> Truth:
            judging(number, f": in double precision, {most}")
            return arbitrate(context.job(number))

        def ask_hazards(number: int, reads: str) -> HazardsFound:
            judging(number, f": hazards in a process of their own, {most}")
            return detect_alone(context.job(number), context.folder, options.limits, reads)

        drafts = []
        for number, each in enumerate(collected.programs):
            judging(number)
            draft = draft_of(
                context,
                number,
                partial(ask_arbiter, number),
                partial(ask_hazards, number),
                times=times.get(each.name, ()),
                # The saved results may be compared with other sides later, when nobody is asked.
                always_arbitrate=options.save is not None and not set(SIDES) <= set(options.sides),
            )
            drafts.append(draft)
        return drafts


@dataclass
class FinishedPrograms:
    """Judges programs as they finish: each is kept in the store, and with -x one may be the last.

    `keep` is given the row of each. `is_asked`, the option -x, may end the measurements with it;
    only then are processes started to judge a program, for others may be measured at this moment.
    """

    context: Context
    is_asked: Callable[[ProgramRow], bool] | None = None
    keep: Callable[[int, ProgramRow], object] | None = None
    has_stopped: bool = False

    def __call__(self, number: int, records: Mapping[Side, Recorded]) -> bool:
        """Judge a program that has run on all sides, and say whether it is the last."""
        if self.has_stopped:
            return True
        draft = self._draft(replace(self.context, records={number: records}), number)
        row = draft.row(conclude(draft.findings, self.context.pairs))
        if self.keep is not None:
            self.keep(number, row)
        self.has_stopped = self.is_asked is not None and self.is_asked(row)
        return self.has_stopped

    def _draft(self, context: Context, number: int) -> RowDraft:
        if self.is_asked is None:
            no_truth, no_hazards = Truth(missing=_LATER), HazardsFound(not_detected=_LATER)
            return draft_of(context, number, lambda: no_truth, lambda reads: no_hazards)
        folder, limits, job = context.folder, context.options.time_limit, context.job(number)
        with warm_arbiter(folder, limits, fresh=context.options.fresh) as arbitrate:
            return draft_of(
                context,
                number,
                partial(arbitrate, job),
                partial(detect_alone, job, folder, limits),
            )


# -- one program -----------------------------------------------------------------------------------


def draft_of(
    context: Context,
    number: int,
    ask_arbiter: Callable[[], Truth],
    ask_hazards: Callable[[str], HazardsFound],
    *,
    times: tuple[TimeComparison, ...] = (),
    always_arbitrate: bool = False,
) -> RowDraft:
    """Compare the sides of one program, with its arbiter and its hazards, into a row's draft.

    A program that not all sides have run is not compared.

    Example::

        draft_of(context, 0, ask_arbiter, ask_hazards).findings
    """
    give_sign()
    program, recorded = context.collected.programs[number], context.records.get(number, {})
    evidence, missing = _load(recorded, context.options.sides)
    if program.unavailable is not None:
        findings = Findings(not_run=program.unavailable)
    elif missing:
        findings = Findings(tuple(each.observation for each in evidence.values()), not_run=missing)
    else:
        comparisons, no_arbiter = _compared(evidence, ask_arbiter, always_arbitrate)
        found = hazards_told(recorded, side_with_hazards(context.options), ask_hazards)
        findings = Findings(
            observed=tuple(each.observation for each in evidence.values()),
            comparisons=comparisons,
            times=times,
            hazards=found.hazards,
            no_hazards=found.not_detected,
            measured_again=context.again.get(number, ()),
            no_arbiter=no_arbiter,
        )
    source = program.source or (program.target if program.unavailable is not None else "")
    return RowDraft(
        program.model_copy(update={"source": source}),
        findings,
        observations=findings.observed,
        time_samples=context.samples.get(number, ()),
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


def _load(
    recorded: Mapping[Side, Recorded], sides: Sequence[Side]
) -> tuple[dict[Side, Evidence], str]:
    """Load the evidence of a program; the text says what of it is missing, "" where it has all.

    A campaign did not finish a program where its folder was full or went away. Observations are
    there in any case, for they are not in files alone.
    """
    in_order = {side: recorded[side] for side in SIDES if side in recorded}
    missing = [side for side in sides if side not in recorded]
    told = {side: each.observation.measured_with for side, each in in_order.items()}
    if len({*told.values()} - {None}) > 1:
        each_side = "; ".join(f"{side} with {versions(one)}" for side, one in told.items() if one)
        why = f"its sides were not measured with the same: {each_side}"
    elif not missing:
        try:
            return {side: each.evidence() for side, each in in_order.items()}, ""
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            why = f"its arrays cannot be read any more ({error})"
    else:
        why = f"the campaign's folder took no results of it on {', '.join(missing)}"
    return {side: Evidence(each.observation) for side, each in in_order.items()}, why
