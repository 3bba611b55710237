"""Tune: which captured arrays of a program to inline, so that its calls get faster.

The search starts from all arrays hoisted, as after a flip of the default. Arrays that make a call
faster when they alone are inlined are inlined one after the other, the greatest gain first. An
array stays inlined under two conditions. A call, timed again beside a call without the array, is
faster by more than 5 %, or by more than the noise if that is larger. And lowering and compiling
take at most `compile_factor` times as long as with all arrays hoisted. Arrays that help only
together are found by inlining all of them, and hoisting again those that are not missed. The end
of this path is its result if it holds once more, else the set before it: a time that came and went
is no gain.

The proposal is the best row of the table, calls first: the result of the path, or a preamble with
all arrays hoisted, where that makes a call faster still and keeps to `compile_factor`. Where the
call of another row is 3 times as fast or more, no limit of compile time counts: of the rows that
are not 3 times as slow as the fastest, the one that compiles in the shortest time is proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.runtime import executable_cache
from parity_tests.experiments.inlining_times import (
    CALL_SLACK,
    NOTHING,
    PREAMBLE,
    Inlined,
    InliningTimer,
    InliningTimes,
)
from parity_tests.experiments.interleaved_timing import SEVERAL, not_far_behind
from parity_tests.experiments.variants import KeyedArrays, Variants, table, with_keys
from parity_tests.jaxpr.source_places import relative
from parity_tests.observe.environment import describe
from parity_tests.processes.protocol import Progress
from parity_tests.program import Program
from reports.rows import now
from reports.rows.experiments import (
    TunedArrays,
    TuneOutcome,
    TunePoint,
    TunePointKind,
    TuneQuestion,
    Tuning,
)
from reports.views.figures import humanise_seconds
from reports.views.texts import counted


@executable_cache.unshared()  # a set of arrays is compiled several times, to time it
def tune(
    program: Program, question: TuneQuestion, tell: Progress = lambda done, total, text: None
) -> Tuning:
    """Look for a constant policy of a program. Raises whatever the program raises.

    Example::

        tune(targets.load_one("my_model.py:step"), TuneQuestion()).proposal
    """
    variants = Variants(program)
    arrays = with_keys(variants.constants())
    small = [each for each in arrays if each.largest <= question.most_bytes]
    singles = [frozenset([each.key]) for each in small[: question.most_arrays]]
    everything = NOTHING.union(*singles)
    timer = InliningTimer(variants, arrays, question, tell)
    beside = [PREAMBLE] if timer.has_preamble() else []
    path = find_path(timer.measure, singles, everything, beside)
    best = _best(path, beside)

    def outcome(each: KeyedArrays) -> TuneOutcome:
        if each.key in best:
            return "inlined"
        if each.key in path.too_long:
            return "compiles too long"
        if each.key in everything:
            alone = path.times.is_faster(frozenset([each.key]), NOTHING)
            return "not needed" if alone else "no faster"
        return "not tried" if each in small else "too large"

    return Tuning(
        created=now(),
        environment=describe(),
        program=program.name,
        source=program.source,
        question=question,
        arrays=tuple(_row(each, outcome(each)) for each in arrays),
        points=_points(arrays, singles, path, everything, beside),
        call_noise=path.times.call_noise,
        first_noise=path.times.first_noise,
        proposal=table(arrays, best),
        precompute_constants="auto" if best == PREAMBLE else "off",
        reason=_reason(path, everything, best),
    )


def _best(path: InliningPath, beside: Sequence[Inlined]) -> Inlined:
    """Return the best row by the rule at the head of this file."""
    times, best = path.times, path.chosen
    for each in beside:
        if times.is_faster(each, best) and not times.compiles_too_long(each):
            best = each
    return not_far_behind(best, times.call, times.first)


def _reason(path: InliningPath, everything: Inlined, chosen: Inlined) -> str:
    times, too_long = path.times, path.too_long
    factor = f"{times.compile_factor:g} times as long to compile"
    slower = counted(len(too_long - chosen), "key")
    slow = f"{slower} would be faster, taking more than {factor}"
    if chosen:
        beyond = ""
        if times.compiles_too_long(chosen):
            several = f"{SEVERAL:g} times as fast"
            beyond = (
                f", beyond the limit of {times.compile_factor:g}, which does not count where a "
                f"call is {several}"
            )
            slow = f"{slower} beyond the limit as well would make no call {several} again"
        gain, cost = (each[NOTHING] / each[chosen] for each in (times.call, times.first))
        how = "with a preamble (all arrays hoisted) " if chosen == PREAMBLE else ""
        return (
            f"{how}a call takes {humanise_seconds(times.call[chosen])}, with all arrays hoisted "
            f"{humanise_seconds(times.call[NOTHING])} ({gain:.2f} times as fast); compiling takes "
            f"{1 / cost:.2f} times as long{beyond}" + f"; {slow}" * bool(too_long - chosen)
        )
    if not everything:
        return "hoist everything: no captured array may be inlined"
    if path.lost:
        return "hoist everything: a gain was seen, and not seen again; try more --samples"
    if too_long:
        return f"hoist everything: {slow}"
    if times.compiles_too_long(everything) and times.is_faster(everything, NOTHING):
        return f"hoist everything: inlining all would be faster, taking more than {factor}"
    if min(times.call.values()) * (1 + CALL_SLACK) < times.call[NOTHING]:
        return (
            f"not known: times vary by {times.call_noise:.0%} for a call from run to run; give "
            "more --samples"
        )
    return (
        f"no difference: hoist everything; no call is more than {1 + times.slack:.2f} times as fast"
    )


def _points(
    arrays: Sequence[KeyedArrays],
    singles: Sequence[Inlined],
    path: InliningPath,
    everything: Inlined,
    beside: Sequence[Inlined],
) -> tuple[TunePoint, ...]:
    kinds: list[tuple[TunePointKind, Inlined]] = [("all hoisted", NOTHING)]
    kinds += [("alone", each) for each in singles]
    kinds += [("path", each) for each in path.sets]
    kinds += [("all inlined", everything)] if singles else []
    kinds += [("preamble", each) for each in beside]
    return tuple(_point(arrays, kind, inlined, path.times) for kind, inlined in kinds)


def _row(each: KeyedArrays, outcome: TuneOutcome) -> TunedArrays:
    file, line, function = each.place or ("", 0, "")
    return TunedArrays(
        key=each.key,
        array=each.aval,
        file=relative(file),
        line=line,
        function=function,
        count=len(each.identities),
        bytes=each.bytes,
        outcome=outcome,
    )


def _point(
    arrays: Sequence[KeyedArrays], kind: TunePointKind, inlined: Inlined, times: InliningTimes
) -> TunePoint:
    of_set = [each for each in arrays if each.key in inlined]
    return TunePoint(
        kind=kind,
        inlined=tuple(each.key for each in of_set),
        array_bytes=sum(each.bytes for each in of_set),
        **times.figures[inlined],
        first_seconds=times.first[inlined],
        call_seconds=times.call[inlined],
    )


@dataclass(frozen=True)
class InliningPath:
    """The sets of the path that held, and the times that decided; the last set is the choice.

    `too_long` has the keys that would be faster inlined, but compile too long. `lost` says that
    gains were seen and not seen again.
    """

    sets: tuple[Inlined, ...]
    times: InliningTimes
    too_long: Inlined
    lost: bool

    @property
    def chosen(self) -> Inlined:
        """The last set of the path; empty if nothing is to be inlined."""
        return self.sets[-1] if self.sets else NOTHING


def find_path(
    measure: Callable[[Iterable[Inlined]], InliningTimes],
    singles: Sequence[Inlined],
    everything: Inlined,
    beside: Sequence[Inlined] = (),
) -> InliningPath:
    """Walk the path, then time all of it once more, and take back the sets that do not hold.

    What is `beside` the path is timed with it. Times are asked for, so that a test can plan them.
    """
    alone = measure([*singles, everything, *beside])
    walked, too_long = _walk(measure, alone, singles, everything)
    times = measure([*singles, *walked, everything, *beside]) if walked else alone
    path = list(walked)
    while path and (times.compiles_too_long(path[-1]) or not times.is_faster(path[-1], NOTHING)):
        last = path.pop()
        if times.compiles_too_long(last):
            too_long |= last.difference(*path[-1:])
    lost = bool(walked) and not path and not too_long
    return InliningPath(tuple(path), times, too_long, lost)


def _walk(
    measure: Callable[[Iterable[Inlined]], InliningTimes],
    alone: InliningTimes,
    singles: Sequence[Inlined],
    everything: Inlined,
) -> tuple[list[Inlined], Inlined]:
    """Return the sets of the path without the empty one, and the keys that compile too long.

    `alone` has the times of each array alone and of all that may be inlined.
    """
    path, too_long = [NOTHING], NOTHING
    gaining = [single for single in singles if alone.is_faster(single, NOTHING)]
    for single in sorted(gaining, key=alone.call.__getitem__):
        more = path[-1] | single
        if alone.compiles_too_long(single):
            too_long |= single
            continue
        measured = measure([path[-1], more])
        if measured.compiles_too_long(more):
            too_long |= single
        elif measured.is_faster(more, path[-1]):
            path.append(more)
    if (
        everything not in (*path, *singles)
        and alone.is_faster(everything, NOTHING)
        and not alone.compiles_too_long(everything)
    ):
        measured = measure([path[-1], everything])
        if measured.is_faster(everything, path[-1]) and not measured.compiles_too_long(everything):
            path.append(_without_what_is_not_missed(measure, path[-1], everything))
    return path[1:], too_long


def _without_what_is_not_missed(
    measure: Callable[[Iterable[Inlined]], InliningTimes], kept: Inlined, everything: Inlined
) -> Inlined:
    needed = everything
    for key in sorted(everything - kept):
        fewer = needed - {key}
        if not measure([fewer, everything]).is_faster(everything, fewer):
            needed = fewer
    return needed
