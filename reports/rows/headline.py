"""The headline of a campaign: may the default be flipped, and do our pipelines agree with stock's.

Both lines are worked out from the rows. Every output begins with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from reports.rows.claims import answer_of as answer_of_claims
from reports.rows.flip import TRAITS, FlipOutcome, FlipReason, FlipVerdict, Price, largest_price
from reports.rows.program_row import VERDICTS, ProgramRow
from reports.rows.row import Row

FlipAnswer = Literal["yes", "yes, at a price", "placed otherwise", "not known", "no"]
FLIP_ANSWERS: tuple[FlipAnswer, ...] = get_args(FlipAnswer)  # from the best to the worst

ANSWER_OF: dict[FlipOutcome, FlipAnswer] = {
    "safe": "yes",
    "safe but slower or larger": "yes, at a price",
    "numerics drift, explained": "yes, at a price",
    "placed otherwise": "placed otherwise",
    "agrees here, not proved": "not known",
    "not repeatable": "not known",
    "could not compare": "not known",
    "different": "no",
}
Agreement = Literal["agree", "differ", "not compared"]
_NAMES_SHOWN = 3
_LENGTH = 170  # of a statement in the headline
# Failures of the program itself; a limit of the campaign says nothing of a side.
_RAISED = frozenset({"exception", "crash"})


class Headline(Row):
    """What a reader wants to know first; `flip` is None where no two sides across it were run.

    `counts` has the number of programs by what a flip comes to for them, `first` what to do first.
    """

    flip: FlipAnswer | None
    counts: dict[FlipAnswer, int]
    question: str  # the first line: "flip: no. It breaks 2 of 12 programs (step, init); ..."
    first: str  # "" where nothing needs to be done
    agreement: str  # the second line, on our pipelines and stock JAX
    proof: str = ""  # how many programs are proved; "" where nothing was numbered

    @property
    def answer(self) -> str:
        """The first line, without what to do first."""
        return self.question.removesuffix(f" First: {self.first}")


def answer_of(flip: FlipVerdict | None) -> FlipAnswer | None:
    """Return what a flip comes to for one program; None where no flip was judged."""
    return ANSWER_OF[flip.outcome] if flip else None


def headline(programs: Sequence[ProgramRow], not_run: Sequence[str] = ()) -> Headline:
    """Work out the headline of the programs of a campaign, which did not come to some of them."""
    judged = worst_first([row for row in programs if row.flip is not None])
    answers = Counter(answer_of(row.flip) for row in judged)
    if judged:
        answers["not known"] += len(not_run)
    counts = {each: answers[each] for each in reversed(FLIP_ANSWERS) if answers[each]}
    flip = next(iter(counts), None)
    first = _first_action(judged)
    return Headline(
        flip=flip,
        counts=counts,
        question=_question(flip, counts, judged, not_run, first),
        first=first,
        agreement=_agreement(programs),
        proof=_proof(programs),
    )


def _proof(programs: Sequence[ProgramRow]) -> str:
    """Say how many programs are one computation before and after the flip, by their numbers."""
    judged = [row.flip for row in programs if row.flip is not None]
    if not any(each.claims for each in judged):
        return ""
    proved = sum(answer_of_claims(each.claims) == "proved" for each in judged if each.claims)
    said = f"proof: {proved:,} of {len(judged):,} programs proved one computation"
    causes = Counter(
        _may_break_by(row, row.flip)
        for row in programs
        if row.flip is not None and answer_of(row.flip) != "no"
    )
    found = [(cause, causes[cause]) for cause in (_WRITTEN, _AROUND) if causes[cause]]
    if not found:
        return said
    why = ": " + ", ".join(f"{count:,} {cause}" for cause, count in found)
    total = sum(count for _, count in found)
    return f"{said}; {total:,} may still break{why if len(found) > 1 else f', {found[0][0]}'}"


# What a run does not show: it happens in some runs alone, or with other arguments.
_WRITTEN = "if a captured NumPy array is written to"
_AROUND = "by what Python does around jitted functions"


def _may_break_by(row: ProgramRow, flip: FlipVerdict) -> str:
    """Say how a program that has not broken may break in another run; "" if no way is known."""
    if any(each.kind == "writeable NumPy array" for each in row.hazards):
        return _WRITTEN
    before = next((each.numbers for each in row.observations if each.side == flip.left), None)
    proved = flip.claims and answer_of_claims(flip.claims) == "proved"
    return _AROUND if proved and before is not None and not before.is_one_jit else ""


def worst_first(programs: Sequence[ProgramRow]) -> list[ProgramRow]:
    """Sort programs by what a flip does to them, what it costs, and their verdict.

    Equals keep their order.
    """

    def badness(row: ProgramRow) -> tuple[int, Price, int]:
        answer = answer_of(row.flip)
        of_flip = FLIP_ANSWERS.index(answer) if answer else -1
        return of_flip, largest_price(row.flip), VERDICTS.index(row.verdict)

    return sorted(programs, key=badness, reverse=True)


def _question(
    flip: FlipAnswer | None,
    counts: dict[FlipAnswer, int],
    judged: Sequence[ProgramRow],
    not_run: Sequence[str],
    first: str,
) -> str:
    if flip is None:
        return "flip: not asked, for no two sides across the flip were compared"
    apart = list(filter(_is_apart, judged))
    unproved, proved = _unproved(apart), _proved_and_not_run(apart)
    worst = [row for row in judged if answer_of(row.flip) == flip and not _is_apart(row)]
    names = [*(row.name for row in worst), *(not_run if flip == "not known" else ())]
    total = f"{len(judged) + len(not_run):,} programs"
    said = {
        "yes": f"No result and no judged cost changes in {counts[flip]:,} of {total}",
        "yes, at a price": _paid(worst, total),
        "placed otherwise": f"It places or commits outputs of {counts[flip]:,} of {total} "
        f"elsewhere{listed_names(names)}",
        "not known": _not_known(names, unproved, proved, total),
        "no": f"It breaks or changes {counts[flip]:,} of {total}{listed_names(names)}",
    }[flip]
    others = [
        said
        for each, count in counts.items()
        if each != flip
        for said in _of_others(each, count, len(apart), [*unproved, *proved])
    ]
    rest = f"; of the others, {', '.join(others)}" if others else ""
    todo = f". First: {first}" if first else ""
    return f"flip: {flip}. {said}{rest}{todo}"


def _paid(rows: Sequence[ProgramRow], total: str) -> str:
    """Say what a flip costs programs; nothing where results drift, whether or not why is known."""
    of, names = f"{len(rows):,} of {total}", listed_names([row.name for row in rows])
    if all(row.flip and row.flip.outcome == "numerics drift, explained" for row in rows):
        is_known = all(
            row.drift and not any(each.out_of_time for each in row.drift) for row in rows
        )
        why = "and why is known" if is_known else "within their rounding"
        return f"Results drift in {of}, {why}{names}"
    return f"It costs {of} something{names}"


def _is_apart(row: ProgramRow) -> bool:
    """Say whether the proof of a program says why it is not known what a flip comes to for it.

    It agrees here and is not proved; or it is proved, and was not run, or cannot run here and has
    no hazard by which it may break.
    """
    if row.is_proof_alone or _agrees_unproved(row):
        return True
    claims = row.flip.claims if row.flip is not None else ()
    proved = bool(claims) and answer_of_claims(claims) == "proved"
    may_break = any(not TRAITS[each.kind].only_costs for each in row.hazards)
    return proved and row.is_not_here and not may_break


def _agrees_unproved(row: ProgramRow) -> bool:
    return row.flip is not None and row.flip.outcome == "agrees here, not proved"


def _unproved(apart: Sequence[ProgramRow]) -> list[str]:
    """Say which programs agree on their arguments and are not proved, if there are any."""
    names = [row.name for row in apart if _agrees_unproved(row)]
    agree = "agrees" if len(names) == 1 else "agree"
    return [f"{len(names):,} {agree} here, not proved{listed_names(names)}"] if names else []


def _proved_and_not_run(apart: Sequence[ProgramRow]) -> list[str]:
    """Say of how many programs no more is known than that they are proved, by what stopped them."""
    alone = sum(row.is_proof_alone for row in apart)
    not_here = sum(row.is_not_here and not row.is_proof_alone for row in apart)
    said = (
        (alone, "is proved and was not run", "are proved and were not run"),
        (not_here, "cannot run here and is proved", "cannot run here and are proved"),
    )
    return [f"{count:,} {one if count == 1 else more}" for count, one, more in said if count]


def _not_known(
    names: Sequence[str], unproved: Sequence[str], proved: Sequence[str], total: str
) -> str:
    said = [*unproved]
    if proved:
        said.append(f"{', '.join(proved)}, so bits and costs are not known")
    if names or not said:
        nothing = f"Nothing can be said of {len(names):,} of {total}{listed_names(names)}"
        return "; ".join((nothing, *said))
    count, _, first = said[0].partition(" ")
    return "; ".join((f"{count} of {total} {first}", *said[1:]))


def _of_others(answer: FlipAnswer, count: int, apart: int, beside: Sequence[str]) -> Iterator[str]:
    """Yield what others than those of the worst answer come to."""
    if answer != "not known":
        yield _counted(answer, count)
        return
    if count > apart:
        yield _counted(answer, count - apart)
    yield from beside


def _counted(answer: FlipAnswer, count: int) -> str:
    """Say of how many programs an answer holds, in words that stand behind "of the others"."""
    programs, s = ("1 program", "s") if count == 1 else (f"{count:,} programs", "")
    are = "is" if count == 1 else "are"
    return {
        "yes": f"{programs} change{s} in nothing that is judged",
        "yes, at a price": f"{programs} pay{s} a price",
        "placed otherwise": f"{programs} {are} placed otherwise",
        "not known": f"{programs} could not be judged",
        "no": f"{programs} break{s} or change{s}",
    }[answer]


def listed_names(names: Sequence[str]) -> str:
    """Return the first names in brackets, and how many more there are.

    Example::

        listed_names(["step", "init"]) == " (step, init)"
    """
    more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
    return f" ({', '.join(names[:_NAMES_SHOWN])}{more})"


def _first_action(judged: Sequence[ProgramRow]) -> str:
    """Say what the worst program pays, and what helps; what costs nothing needs nothing."""
    for row in judged:
        if row.is_proof_alone or row.flip is None:
            continue
        if row.flip.outcome != "safe" and row.flip.reasons:
            return _action(row, row.flip.reasons[0])
    return ""


def _action(row: ProgramRow, reason: FlipReason) -> str:
    at = f"{reason.where}: " if reason.where else ""
    helps = f" → {reason.action}" if reason.action else ""
    return f"{row.name}: {at}{_first_statement(reason.what)}{helps}"


def _first_statement(what: str) -> str:
    statement = what.partition("\n")[0].partition("; ")[0]
    return statement if len(statement) <= _LENGTH else f"{statement[: _LENGTH - 1].rstrip()}…"


def _agreement(programs: Sequence[ProgramRow]) -> str:
    """Say on how many programs our pipelines agree with stock JAX in the same mode."""
    states = [agreement_of(row) for row in programs]
    if not any(states):
        return "pipelines: constparity's own were not compared with stock JAX"
    differing = [row.name for row, state in zip(programs, states, strict=True) if state == "differ"]
    agreeing = states.count("agree")
    lost = len(programs) - agreeing - len(differing)
    beside = f"; {lost:,} could not be compared" if lost else ""
    if differing:
        return (
            f"pipelines: constparity's own differ from stock JAX on {len(differing):,} of "
            f"{len(programs):,} programs{listed_names(differing)}{beside}"
        )
    return (
        f"pipelines: constparity's own agree with stock JAX on {agreeing:,} of {len(programs):,} "
        f"programs{beside}"
    )


def agreement_of(row: ProgramRow) -> Agreement | None:
    """Say how our sides stand to stock JAX in one program; None where no two of a mode were run.

    A side of ours that fails where stock JAX works differs from it, though no outputs compare. A
    program that does not repeat itself says nothing of our sides: None.
    """
    if row.verdict == "not repeatable":
        return None
    failures = {each.side: each.failure for each in row.observations}
    for side, failure in failures.items():
        stock = f"jax-{side}"
        if failure and failure.kind in _RAISED and stock in failures and not failures[stock]:
            return "differ"
    outcomes = [
        (each.metric, each.outcome)
        for each in row.comparisons
        if each.left != each.right
        and each.left.removeprefix("jax-") == each.right.removeprefix("jax-")
    ]
    if any(outcome == "different" for _, outcome in outcomes):
        return "differ"
    if not {("outputs", "not compared"), ("outputs", "not judged")}.isdisjoint(outcomes):
        return "not compared"
    return "agree" if outcomes else None
