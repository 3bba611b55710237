"""The rules of the flip verdict: one finding to the reason that it is, and what helps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packaging.version import Version

from parity_tests.advice import advice
from parity_tests.evidence.tolerance_ladder import worst_rung
from parity_tests.exception_texts import are_alike, first_line
from parity_tests.judge import calls_as_written, effects, reasons_as_written
from parity_tests.judge.across_flip import (
    AcrossFlip,
    lines_of,
    of_read,
    pair_before_flip,
    read_that_changes,
    what_differs_too,
    what_helps,
)
from parity_tests.judge.beyond_doubt import is_beyond_doubt
from parity_tests.judge.flip_costs import is_told_here, is_work
from parity_tests.judge.proofs import part
from parity_tests.judge.unrepeated import called_otherwise
from reports.rows import (
    Comparison,
    DriftAttribution,
    DriftCause,
    Failure,
    FlipOutcome,
    FlipReason,
    Hazard,
    Observation,
    Side,
    metrics,
)
from reports.rows.check_names import AGREE, AS_WRITTEN, DONATING, OF_SPEED, PLACED
from reports.rows.observation import OF_LIMITS
from reports.views.ledger import listed, place

# What XLA does to one of two programs that compute the same: the advice within the tolerance, and
# beyond it, where the program magnifies a rounding, the sign of a NaN, or a zero.
_OF_XLA: dict[DriftCause, tuple[str, str]] = {
    "constant folding": ("folded drift", "folded beyond"),
    "layout or fusion": ("fused drift", "fused beyond"),
}

_OF_PLACEMENT = frozenset(each.name for each in metrics.LEAF_PROPERTIES if each.is_placement)

# XLA says so of an executable that is called without what `jax.stages.Compiled` passes by itself.
_PASSES_TOO_FEW = "but compiled program expected"

# With its flag set, JAX 0.7.2 and 0.8.0 lower no program that captures an array, 0.8.3 and 0.9.2
# none that captures an array of NumPy's.
_FLAG_WORKS = Version("0.10.0")


def of_failure(flip: AcrossFlip, before: Observation, after: Observation) -> FlipReason:
    """Return the reason where a side failed, before the flip or after it."""
    compared = flip.as_written
    told = ("different",) if before.failure else ("different", "not compared")
    if compared is not None and compared.outcome in told:
        return reasons_as_written.of_calls(flip, compared)
    new = calls_as_written.failure_after(before, after)
    if new and (before.failure or new[1].stage == DONATING):
        return reasons_as_written.of_new_failure(flip, *new)
    failed = before.failure or after.failure
    assert failed is not None
    if failed.kind == "written to":
        return _of_written_since(flip, failed)
    if (reason := reasons_as_written.of_failure(flip, failed)) is not None:
        return reason
    for each in (before, after):
        if each.failure and each.failure.kind == "wrong side":
            return _of_wrong_side(each.side, each.failure)
    if flip.is_not_here:
        what = f"it cannot run here: {failed.message}"
        return FlipReason(
            outcome="could not compare", kind="failure", what=what, action=advice("not here")
        )
    # As far as it can go here, it works before the flip.
    if before.failure is not None and before.failure.kind != "not here":
        # By itself, a program whose settings come too late may work; so may others without a limit.
        fails = f"{flip.left} fails {'here' if flip.findings.too_late else 'today'}"
        if before.failure.kind in OF_LIMITS:
            fails = f"{flip.left} reaches a limit"
        today, then = _said(before.failure), _said(after.failure) if after.failure else ""
        if not then or are_alike(then, today):
            alike = ", alike" if then else f", and {flip.right} works after the flip"
            what = f"{fails}{alike}: {today}"
        else:
            what = f"{fails}: {today}; {flip.right} fails otherwise: {then}"
        if before.failure.kind in OF_LIMITS:
            action = advice(before.failure.kind)
        else:
            action = advice("works after" if after.failure is None else "fails today")
        return FlipReason(
            outcome="could not compare",
            kind="failure",
            what=what,
            where=before.failure.where,
            action=action,
        )
    failure = after.failure
    assert failure is not None
    what = _said(failure)
    # A limit belongs to the campaign: without it the program might have worked.
    exceeds = is_beyond_doubt(failure, before)
    broken = failure.kind in ("exception", "crash") or exceeds
    cause = reasons_as_written.hazard_behind(flip, failure) if broken else None
    what = f"works on {flip.left} and fails on {flip.right}: {what}"
    read = None
    if broken and not cause:
        read = read_that_changes(flip)
        if not read and _PASSES_TOO_FEW in failure.message:
            read = flip.hazard("reads lowered modules")
    if read:
        return of_read("failure", what, read)
    if cause:
        action = cause[0].fix
    elif exceeds:
        action = advice("far below", side=flip.right, stage=failure.stage, other=flip.left)
    elif broken and failure.of_jax and (release := _with_a_broken_flag(after)):
        action = advice("broken release", release=release)
    elif broken:
        action = flip.how_to_find_the_culprit_of_failure
    else:
        action = advice(failure.kind if failure.kind in OF_LIMITS else "side is away")
    return FlipReason(
        outcome="different" if broken else "could not compare",
        kind="failure",
        what=what,
        where=lines_of(cause) if cause else failure.where,
        action=action,
    )


def _with_a_broken_flag(after: Observation) -> str:
    """Name the release of JAX that a side ran on if its flag is broken; "" where it works."""
    jax = after.measured_with.jax if after.measured_with else ""
    return f"jax {jax}" if jax and Version(jax) < _FLAG_WORKS else ""


def _said(failure: Failure) -> str:
    return f"{failure.kind} in {failure.stage}: {failure.type}: {first_line(failure.message)}"


def _of_wrong_side(side: Side, failure: Failure) -> FlipReason:
    """Return the reason where a side ran in the other mode, which says nothing of either."""
    return FlipReason(
        outcome="could not compare",
        kind="failure",
        what=f"{side} ran in the other mode: {first_line(failure.message)}",
        where=failure.where,
        action=advice("wrong side"),
    )


def of_comparison(flip: AcrossFlip, comparison: Comparison) -> Iterator[FlipReason]:
    """Yield the reason that a comparison is: outputs, their placement, or any other difference."""
    outcome, metric = comparison.outcome, comparison.metric
    values = f"{comparison.left_value} against {comparison.right_value}"
    what = f"{metric}: {values}" + (f" ({comparison.detail})" if comparison.detail else "")
    placement = metric == PLACED or metric in _OF_PLACEMENT
    if placement and metric != PLACED and flip.placed_as_written is not None:
        return  # the calls as written tell where a user finds outputs
    read = read_that_changes(flip) if outcome == "different" and not placement else None
    if metric == AS_WRITTEN:
        new = flip.before and flip.after and calls_as_written.failure_after(flip.before, flip.after)
        # "not judged" is chance: values change from run to run, and a new failure is told.
        if outcome in ("different", "not compared") or (outcome == "not judged" and new):
            yield reasons_as_written.of_calls(flip, comparison)
    elif metric in effects.METRICS:
        yield from of_effects(flip, metric)
    elif read and metric not in OF_SPEED and not is_told_here(metric):
        if metric == "outputs":
            said = f"outputs are different in their values: {comparison.detail}"
            yield of_read("outputs", said, read)
        else:
            yield of_read("structure or count", what, read)
    elif outcome == "different" and metric in OF_VALUES and flip.written:
        yield of_written(flip, comparison)
    elif metric == "outputs":
        yield from _of_outputs(flip, comparison)
    elif placement and outcome in ("different", "expected difference"):
        cause = flip.hazard("placement of outputs")
        yield FlipReason(
            outcome="placed otherwise",
            kind="placement",
            what=what,
            where=lines_of(cause) if cause else "",
            action=cause[0].fix if cause else advice("sharded outputs"),
        )
    elif outcome == "different" and not is_told_here(metric):
        alike = pair_before_flip(flip, comparison)
        yield FlipReason(
            outcome="safe but slower or larger" if metric in OF_SPEED else "different",
            kind="structure or count",
            subject=metric,
            what=f"{what}; {what_differs_too(alike)}" if alike else what,
            action=what_helps(alike) if alike else flip.how_to_find_the_culprit,
        )


def _of_outputs(flip: AcrossFlip, outputs: Comparison) -> Iterator[FlipReason]:
    if outputs.outcome == "not compared":
        yield FlipReason(outcome="could not compare", kind="outputs", what=outputs.detail)
        return
    if worst_rung(outputs.leaves) == "bitwise":
        return
    drift, where = flip.drift, flip.largest
    how = "different in their values" if outputs.outcome == "different" else "not bitwise equal"
    what = f"outputs are {how}: {outputs.detail}"
    if drift:
        what = f"{what}; {_cause_of(drift)}"
        where = place(drift.file, drift.line) if drift.file else ""  # the largest would be a guess
    outcome, why, action = _weighed(flip, outputs, drift)
    read = read_that_changes(flip)
    if drift and drift.cause == "another program":
        read = read or flip.deciding_read
    if read and not (drift and drift.cause in _OF_XLA):
        yield of_read("outputs", f"outputs are {how}: {outputs.detail}", read)
        return
    yield FlipReason(
        outcome=outcome,
        kind="outputs",
        what=f"{what}; {why}" if why else what,
        where=where,
        action=action,
    )


def _weighed(
    flip: AcrossFlip, outputs: Comparison, drift: DriftAttribution | None
) -> tuple[FlipOutcome, str, str]:
    """Return what outputs that are not bitwise equal come to, why if not by a cause, what helps."""
    beyond = outputs.outcome == "different"
    if drift and drift.cause in _OF_XLA:
        # XLA may do so; beyond the tolerance the program's values are others all the same.
        action = advice(_OF_XLA[drift.cause][beyond])
        if drift.cause == "constant folding" and drift.wrong == flip.left:
            action = advice("folded wrong")
        return "different" if beyond else "numerics drift, explained", "", action
    if drift and drift.unrepeated and not beyond:
        why = "runs of one side differ alike, within rounding"
        return "numerics drift, explained", why, advice("seeded drift", seed=advice("seed outputs"))
    if otherwise := called_otherwise(flip.before, flip.after):
        return "different", "" if drift else otherwise, advice("other arguments")
    if beyond and (alike := pair_before_flip(flip, outputs)):
        return "different", what_differs_too(alike), what_helps(alike)
    if drift and drift.cause == "another program":
        return "different", "", advice("one program")
    if drift is None and _parts(flip):
        return "different", "no cause was looked for, and the two forms part", advice("one program")
    is_late = drift is not None and drift.out_of_time
    if beyond and is_late:
        return "different", "", advice("cause not known")
    # A cause that was looked for in vain leaves the drift unexplained, however small it is.
    if beyond or (drift and not is_late):
        return "different", "", flip.how_to_find_the_culprit
    return "numerics drift, explained", _within(outputs), advice("fused drift")


def _parts(flip: AcrossFlip) -> bool:
    """Say whether the program is shown to be two programs, by its two forms."""
    before, after = flip.before, flip.after
    return before is not None and after is not None and part(before, after)


def _within(outputs: Comparison) -> str:
    """Say what makes outputs equal that are not bitwise."""
    if worst_rung(outputs.leaves) == "arbiter":
        return "both sides are equally near to double precision"
    return "that is within the rounding of the outputs' dtypes"


def _cause_of(drift: DriftAttribution) -> str:
    at = f", first in {drift.equation}" if drift.equation else ""
    return f"cause: {drift.cause}{at} ({drift.evidence})"


def _is_donation_told(flip: AcrossFlip) -> bool:
    """Say whether stock simplified was seen to call the program with donated arguments.

    Where it fails then, that is a reason of its own. Results from before donation was run do not
    say which captured arrays it concerns.
    """
    after = flip.after
    if flip.right != "jax-simplified" or after is None:
        return False
    if after.failure or after.jaxpr is None:
        return after.failure is not None and after.failure.stage == DONATING
    return after.jaxpr.donated_types is not None


def _written(flip: AcrossFlip, hazards: Sequence[Hazard]) -> list[Hazard]:
    """Return those of captured arrays that the program was seen to write into, by their types.

    Where it was called as it is written, what it does in a trace of the tester's says nothing.
    """
    types = {
        type_
        for each in (flip.before, flip.after)
        if each
        for type_ in (each.written_in_calls if _was_called(each) else each.written_in_trace)
    }
    return [each for each in hazards if each.array.rpartition(" ")[2] in types]


def _was_called(observation: Observation) -> bool:
    """Say whether a call of the program as it is written was made, and worked."""
    return any(each.failure is None for each in observation.as_written)


def _of_writes(flip: AcrossFlip, written: Sequence[Hazard]) -> FlipReason:
    """Return the reason that writes are which were seen."""
    after = flip.after
    what = (
        f"it writes into a captured NumPy array, {written[0].array}, which stock simplified on a "
        "CPU may compute with: not in every run, so equal results here say nothing"
    )
    is_traced_anew = after is not None and (after.traced_in_each_call or not _was_called(after))
    if is_traced_anew:
        what += "; JAX traces whenever it writes, and may capture the new values on both sides"
    return FlipReason(
        outcome="could not compare" if is_traced_anew else "different",
        kind="hazard",
        subject=written[0].kind,
        what=what,
        where=lines_of(written),
        action=written[0].fix,
    )


def _of_written_since(flip: AcrossFlip, failure: Failure) -> FlipReason:
    """Return the reason where an array was written to between a call and the measurement."""
    found = flip.hazard("writeable NumPy array") or ()
    written = [each for each in found if each.array in failure.message]
    return FlipReason(
        outcome="different",
        kind="hazard",
        subject="writeable NumPy array",
        what=f"{failure.message}; legacy computes with what it held then, and stock simplified on "
        "a CPU may compute with what it holds now: not in every run, so equal results here say "
        "nothing, and what it costs is not known",
        where=lines_of(written),
        action=advice("capture a copy"),
    )


def of_hazards(flip: AcrossFlip, hazards: Sequence[Hazard]) -> FlipReason:
    """Return the reason that hazards of one kind are."""
    hazard = hazards[0]
    outcome: FlipOutcome = "safe"
    if hazard.kind == "writeable NumPy array" and (written := _written(flip, hazards)):
        return _of_writes(flip, written)
    if hazard.kind == "captured and donated" and not _is_donation_told(flip):
        outcome = "different"
    elif is_work(flip, hazard):
        outcome = "safe but slower or larger"
    return FlipReason(
        outcome=outcome,
        kind="hazard",
        subject=hazard.kind,
        what=f"{hazard.kind}: {hazard.what}",
        where=lines_of(hazards),
        action=hazard.fix,
    )


# -- arrays that a program captures and writes to --------------------------------------------------

# What a write decides: the results of the first call, and those of the later ones.
OF_VALUES = ("outputs", AGREE)


def of_written(flip: AcrossFlip, comparison: Comparison) -> FlipReason:
    """Return the reason for other values where a captured NumPy array was written to.

    Example::

        of_written(flip, outputs).action.startswith("capture a copy")
    """
    hazard = flip.hazard("writeable NumPy array")
    is_outputs = comparison.metric == "outputs"
    said = "outputs are different in their values" if is_outputs else comparison.metric
    return FlipReason(
        outcome="different",
        kind="outputs" if is_outputs else "structure or count",
        subject=comparison.metric,
        what=f"{said}: {comparison.detail}; a captured array holds other values after the "
        "calls than before: the program writes to it, and stock simplified on a CPU computes with "
        "the new ones",
        where=_where(flip, hazard or ()),
        action=hazard[0].fix if hazard else advice("capture a copy"),
    )


def _where(flip: AcrossFlip, hazards: Sequence[Hazard]) -> str:
    """Return the lines of the arrays, in the words of the hazard where it is about the same."""
    lines = {(each.file, each.line) for each in flip.written}
    if {(each.file, each.line) for each in hazards} == lines:
        return lines_of(hazards)
    return listed([place(*each) for each in sorted(lines)])


# -- effects ---------------------------------------------------------------------------------------

_OUTCOMES: dict[tuple[str, str], tuple[FlipOutcome, str]] = {
    (effects.CALLS, "different"): ("different", "how often"),
    (effects.VALUES, "different"): ("different", "values of effects"),
    (effects.VALUES, "expected difference"): ("numerics drift, explained", "fused drift"),
    (effects.PURE, "expected difference"): ("safe but slower or larger", "pure calls"),
}


def of_effects(flip: AcrossFlip, metric: str) -> Iterator[FlipReason]:
    """Yield the reasons that the findings of one metric of effects are."""
    before, after = flip.before, flip.after
    if not (before and after and before.effects and after.effects):
        return
    for each in effects.findings(before.effects, after.effects):
        if each.metric == metric:
            outcome, name = _OUTCOMES[each.metric, each.outcome]
            what = f"{each.metric}: {each.what}"
            if outcome == "different" and (read := read_that_changes(flip)):
                yield of_read("structure or count", what, read)
                continue
            action = advice(name)
            if outcome == "different" and flip.hazard("reads the flag"):
                action = flip.how_to_find_the_culprit
            yield FlipReason(
                outcome=outcome,
                kind="structure or count",
                subject="effects",
                what=what,
                where=each.place,
                action=action,
            )
