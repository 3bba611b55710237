"""Proofs: what the numbers of two forms say, and the first place where the forms part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from parity_tests.advice import advice
from parity_tests.evidence.found import NumberedStep
from parity_tests.evidence.values import Value
from parity_tests.judge.across_flip import lines_of, may_decide, of_read
from reports.rows import (
    Comparison,
    FlipOutcome,
    FlipReason,
    Hazard,
    Observation,
    ProgramRow,
)
from reports.rows.claims import Answer, Claim, Evaluated, OtherBits, PartedPlace, answer_of
from reports.rows.flip import TRAITS
from reports.rows.observation import Numbers, ProgramNumber
from reports.rows.proofs import CONTRADICTION, contradict, reason_of


def breaking(hazards: Sequence[Hazard]) -> tuple[Hazard, ...]:
    """Return the hazards by which a program that is proved may still break."""
    return tuple(each for each in hazards if not TRAITS[each.kind].only_costs and may_decide(each))


def folded(hazards: Sequence[Hazard]) -> tuple[Hazard, ...]:
    """Return the work on captured arrays alone, which XLA does while it compiles the legacy form.

    It is one computation, and another compiler does it: bits may differ.
    """
    return tuple(each for each in hazards if each.kind == "folded by legacy alone")


def claims_of(before: Observation, after: Observation) -> tuple[Claim, ...]:
    """Return what the numbers of two forms say of their jaxprs and of their modules.

    Example::

        claims_of(legacy, simplified)[0].answer == "proved"
    """
    one, two = before.numbers, after.numbers
    if one is None or two is None:
        return ()
    of_jaxpr = claim("jaxpr", "", one, two)
    modules = [claim("module", each, one, two) for each in one.modules if each in two.modules]
    of_stock = all(each.side.startswith("jax-") for each in (before, after))
    if not of_stock:
        of_jaxpr = of_jaxpr.model_copy(update={"decides": False})
    called = any(each.callbacks for each in one.modules.values())
    if called and not (of_stock and of_jaxpr.answer == "proved"):
        modules = [_of_functions(each, one.modules, two.modules) for each in modules]
    return of_jaxpr, *modules


def part(before: Observation, after: Observation) -> bool:
    """Say whether the traced programs of two forms are shown to be two.

    Example::

        part(legacy, simplified)
    """
    claims = claims_of(before, after)
    return bool(claims) and claims[0].answer in ("parted", "refuted")


def _of_functions(
    claim: Claim, before: Mapping[str, ProgramNumber], after: Mapping[str, ProgramNumber]
) -> Claim:
    """Return the claim for modules that call Python functions, which may be others.

    A module has them by the places in which they were lowered. Jaxprs have the functions, and stock
    JAX lowers equal jaxprs in one order.
    """
    functions = before[claim.platform].functions
    if claim.answer != "proved" or (functions and functions == after[claim.platform].functions):
        return claim
    why = "it calls Python functions, and that they are the same is not proved"
    return claim.model_copy(update={"answer": "undecided", "reason": why})


def deciding(claims: Sequence[Claim]) -> Claim | None:
    """Return the claim by which a program is not proved; None where it is, or nothing is claimed.

    Example::

        deciding(claims_of(legacy, simplified)).of == "module"
    """
    answer = answer_of(claims) if claims else "proved"
    not_proved = [each for each in claims if each.answer == answer != "proved"]
    # A jaxpr decides where the module has no rule.
    of_jaxpr_last = sorted(not_proved, key=lambda each: each.of == "jaxpr")
    return next(iter(of_jaxpr_last), None)


def kind_of(claim: Claim) -> tuple[str, ...]:
    """Return what two programs share that are not proved for one reason.

    It is the operations where the forms part, without params and lines, or else the reason without
    its figures.

    Example::

        kind_of(claim) == ("module", "", "parted", "stablehlo.case", "stablehlo.select")
    """
    if claim.place is None:
        what: tuple[str, ...] = (re.sub(r"\d+", "#", claim.reason),)
    else:
        operations = (claim.place.before, claim.place.after)
        what = tuple(each.partition(",")[0] for each in operations)
    # A form that is written apart may have been evaluated as well.
    answer = "parted" if claim.evaluated else claim.answer
    return claim.of, claim.platform, answer, *what


def answers_of(before: Observation, after: Observation) -> tuple[Claim, ...]:
    """Return `claims_of` two forms without digests and counts, which the observations have."""
    return tuple(map(without_numbers, claims_of(before, after)))


def without_numbers(claim: Claim) -> Claim:
    """Return a claim without digests and counts."""
    return Claim(
        of=claim.of, platform=claim.platform, answer=claim.answer, reason=claim.reason,
        decides=claim.decides, traced_for_here=claim.traced_for_here, place=claim.place,
    )  # fmt: skip


def claim(of: Literal["jaxpr", "module"], platform: str, before: Numbers, after: Numbers) -> Claim:
    """Return what the numbers of two forms say of their jaxprs, or of their modules.

    Example::

        claim("jaxpr", "", legacy, simplified).answer == "proved"
    """
    is_jaxpr = of == "jaxpr"
    one, two = (each.jaxpr if is_jaxpr else each.modules[platform] for each in (before, after))
    answer, reason = _answer((before, after), one, two)
    return Claim(
        of=of, platform=platform, answer=answer, reason=reason,
        before=one.digest, after=two.digest, operations=one.operations,
        constants=one.constants, bodies=one.bodies, effects=one.effects,
        traced_for_here=one.traced_for_here or two.traced_for_here,
    )  # fmt: skip


def _answer(
    forms: tuple[Numbers, Numbers], before: ProgramNumber, after: ProgramNumber
) -> tuple[Answer, str]:
    if apart := _types_apart(*forms):
        return "refuted", apart
    if before.not_lowered != after.not_lowered:
        if before.not_lowered:
            return "failed", f"before the flip: {before.undecided}"
        return "refuted", f"after the flip: {after.undecided}"
    if before.undecided or after.undecided:
        return "undecided", before.undecided or after.undecided
    if before.digest == after.digest or (before.by_calls and before.by_calls == after.by_calls):
        unknown = _unknown_of_trees(*forms)
        return ("undecided", unknown) if unknown else ("proved", "")
    # Calls that are not expanded count their effects as one.
    is_expanded = not (before.by_calls or after.by_calls)
    if is_expanded and before.effects != after.effects:
        return "refuted", f"it had {before.effects} effects and has {after.effects}"
    return "parted", "the numbers differ"


_MOST_OF_TYPES = 120  # characters of each
_BEFORE_APART = 30


def _types_apart(before: Numbers, after: Numbers) -> str:
    """Say where the types of two forms part as they are printed; "" where they do not."""
    one, two = before.types, after.types
    if one == two:
        return ""
    both = zip(one, two, strict=False)
    first = next((n for n, (a, b) in enumerate(both) if a != b), min(len(one), len(two)))
    return f"its type was {_around(one, first)} and is {_around(two, first)}"


def _around(text: str, place: int) -> str:
    """Return a long text from a little before a place on."""
    start = 0 if len(text) <= _MOST_OF_TYPES else max(0, place - _BEFORE_APART)
    end = start + _MOST_OF_TYPES
    return f"{'...' * (start > 0)}{text[start:end]}{'...' * (end < len(text))}"


def _unknown_of_trees(before: Numbers, after: Numbers) -> str:
    """Say why the trees of two forms, which are printed alike, may differ; "" if they do not."""
    if before.tree_undecided or after.tree_undecided:
        return before.tree_undecided or after.tree_undecided
    if before.tree != after.tree:
        return "what the tree of its results holds is printed alike, and is not proved the same"
    return ""


def place_apart(
    before: Sequence[NumberedStep], after: Sequence[NumberedStep]
) -> PartedPlace | None:
    """Return the first place where two forms part; None where all operations correspond.

    It is the first operation that the other form has not, of operands that it has.
    """
    new = _first_new(after, before)
    gone = _first_new(before, after)
    if new is None and gone is None:
        return None
    shown = new or gone
    assert shown is not None
    apart = _params_apart(gone, new)
    return PartedPlace(
        file=shown.file, line=shown.line, before=_said(gone, apart), after=_said(new, apart)
    )


def _first_new(
    steps: Sequence[NumberedStep], others: Sequence[NumberedStep]
) -> NumberedStep | None:
    known = {each.number for each in others} | {one for each in others for one in each.operands}
    new = [each for each in steps if each.number not in known]
    return next((each for each in new if known.issuperset(each.operands)), next(iter(new), None))


def _params_apart(one: NumberedStep | None, two: NumberedStep | None) -> list[str]:
    if one is None or two is None or one.name != two.name:
        return []
    return [name for name in one.said if one.said[name] != two.said.get(name)]


def _said(step: NumberedStep | None, apart: Sequence[str]) -> str:
    if step is None:
        return ""
    params = "".join(f", {name}={step.said[name]}" for name in apart if name in step.said)
    return f"{step.name}{params}"


# -- what both forms evaluate to -------------------------------------------------------------------


@dataclass(frozen=True)
class Evaluation:
    """What the reference interpreter made of the module of one form, by the names of the inputs.

    `digest` is the number of the module. `why_not` says why there are no more results.
    """

    digest: str
    results: Mapping[str, Sequence[Value]]
    why_not: str = ""


def is_to_evaluate(claim: Claim) -> bool:
    """Say whether the modules of a claim are written apart and can be evaluated here."""
    return claim.of == "module" and claim.answer == "parted"


def with_evaluation(claim: Claim, before: Evaluation, after: Evaluation | None) -> Claim:
    """Return a claim whose modules were evaluated: refuted where these are other bits.

    Nothing follows where a form is another one in each process. NaNs are equal whatever their
    payload, and so are zeros of either sign.

    Example::

        with_evaluation(claim, before, after).answer == "refuted"
    """
    found = _evaluated(claim, before, after)
    if found.other is None:
        return claim.model_copy(update={"evaluated": found})
    return claim.model_copy(
        update={"answer": "refuted", "reason": "its bits differ", "evaluated": found}
    )


def _evaluated(claim: Claim, before: Evaluation, after: Evaluation | None) -> Evaluated:
    if after is None or not after.results:
        return Evaluated(why_not=(after or before).why_not)
    if (before.digest, after.digest) != (claim.before, claim.after):
        return Evaluated(
            why_not="a form of it is another one in another process, so nothing follows"
        )
    equal: list[str] = []
    for name, results in after.results.items():
        for one, two in zip(before.results[name], results, strict=True):
            if other := _other_bits(name, one, two):
                return Evaluated(equal_on=tuple(equal), other=other)
        equal.append(name)
    return Evaluated(equal_on=tuple(equal), why_not=after.why_not or before.why_not)


def _other_bits(inputs: str, before: Value, after: Value) -> OtherBits | None:
    one, two = before.array, after.array
    differ = np.zeros(one.shape, bool)
    is_complex = one.dtype.kind == "c"
    for a, b in ((one.real, two.real), (one.imag, two.imag)) if is_complex else ((one, two),):
        differ |= (a != b) & ~((a != a) & (b != b))
    if not differ.any():
        return None
    index = tuple(int(each) for each in np.argwhere(differ)[0])
    return OtherBits(
        inputs=inputs,
        result=after.path,
        index=index,
        before=str(one[index]),
        after=str(two[index]),
        elements=int(differ.sum()),
    )


# -- before anything runs --------------------------------------------------------------------------

NOT_RUN = "both forms are proved one computation, so it was not run, and nothing was measured"


def need_run(before: Observation, hazards: Sequence[Hazard]) -> tuple[Hazard, ...]:
    """Return the hazards of a proved program of which a run tells more than they say.

    A hazard that commits the outputs does so in each call. Who writes to a captured array later is
    not seen by running, unless it is a Python function that the program calls.
    """
    of_jaxpr = before.numbers and before.numbers.jaxpr
    may_write = not of_jaxpr or not of_jaxpr.digest or of_jaxpr.writers > 0
    return tuple(
        each
        for each in breaking(hazards)
        if not each.commits_outputs and (may_write or each.kind != "writeable NumPy array")
    )


def without_run(hazards: Sequence[Hazard]) -> Iterator[FlipReason]:
    """Yield what a flip comes to for a program that is proved and was not run.

    Its contract tells where its outputs are placed, and what else it comes to is not known.
    """
    commits = [each for each in hazards if each.commits_outputs]
    if commits:
        yield FlipReason(
            outcome="placed otherwise",
            kind="placement",
            what=f"output committed: {commits[0].what} (read off its trace)",
            where=lines_of(commits),
            action=commits[0].fix,
        )
    outcome: FlipOutcome = "safe" if commits else "could not compare"
    yield FlipReason(outcome=outcome, kind="proof", what=NOT_RUN)


def contradiction(told: ProgramRow, ran: ProgramRow) -> str:
    """Say what a run shows that the proof of a program or its contract excludes; "" if nothing.

    `told` is its row before it ran. Bits are not excluded, unless an equation has other operands,
    nor is a failure of XLA, nor what changes from run to run.

    Example::

        contradiction(told, ran) == "callback calls: 4 against 3"
    """
    if told.flip is None or ran.flip is None or ran.verdict == "not repeatable":
        return ""
    is_placed = told.flip.outcome == "placed otherwise"
    fails_in_xla = any(
        each.failure and each.failure.stage == "compile" for each in ran.observations
    )
    for each in ran.flip.reasons:
        if each.outcome == "placed otherwise" and not is_placed:
            return each.what
        is_excluded = each.kind == "structure or count" or (
            each.kind == "failure" and not fails_in_xla
        )
        if each.outcome == "different" and is_excluded:
            return each.what
    for drift in ran.drift:
        if (drift.left, drift.right) == (ran.flip.left, ran.flip.right) and drift.cause in (
            "another program", "a bug",
        ):  # fmt: skip
            return f"outputs differ by {drift.cause}: {drift.evidence}"
    if is_placed and ran.flip.outcome not in ("placed otherwise", "could not compare", "different"):
        return "its outputs are placed alike, and its contract says otherwise"
    return ""


# -- beside what was measured ----------------------------------------------------------------------

_AFTER_LOWERING = (
    "both forms are proved one computation, so what differs arises after lowering, in XLA or in "
    "the runtime"
)
NOT_ONE_JIT = (
    "it is no jitted function itself: what its Python does around those that it calls is not "
    "proved; jit all of it, or make each of those a program"
)
_SAFE: FlipOutcome = "safe"
UNPROVED: Literal["agrees here, not proved"] = "agrees here, not proved"
_PROVED = "both forms are proved one computation"
_WHERE = "`constparity prove` says where"


def _of_answer(claims: Sequence[Claim]) -> str:
    """Say what the forms of a program that is proved or parted are, with the place if known."""
    found = deciding(claims)
    if found is None:
        return _PROVED
    said = "not proved: its two forms part"
    if found.place:
        return f"{said}: {reason_of(found)}"
    return f"{said}: {CONTRADICTION}" if contradict(claims) else f"{said}; {_WHERE}"


def made_by_xla(before: Observation | None, after: Observation | None) -> str:
    """Say whether XLA made one program of two forms, but for constants; "" where it is not known.

    Example::

        made_by_xla(legacy, simplified) == "XLA made the same program of both, but for constants"
    """
    one, two = (
        each.executable.program if each and each.executable else "" for each in (before, after)
    )
    if not (one and two):
        return ""
    if one == two:
        return "XLA made the same program of both, but for constants"
    return "their optimised HLO differs in more than constants"


def reasons(
    claims: Sequence[Claim], comparisons: Sequence[Comparison], *, not_here: bool = False,
    made: str = "", otherwise: str = "", read: tuple[Hazard, ...] | None = None,
    is_told: bool = False,
) -> Iterator[FlipReason]:  # fmt: skip
    """Yield what the proof of a program says beside its comparisons; nothing where they agree.

    Outputs that differ although the program is proved differ by what comes after lowering. A
    program that is not proved agrees on these arguments alone, if at all. Of one that is
    `not_here`, and so has not run, the proof is all that is known. `otherwise` says with which
    other arguments the sides were called, `read` is what makes the forms two programs, and
    `is_told` says that a difference stands beside it already.
    """
    if not claims:
        return
    answer = answer_of(claims)
    outputs = [each for each in comparisons if each.metric == "outputs"]
    is_bitwise = all(leaf.rung == "bitwise" for each in outputs for leaf in each.leaves)
    what, action, outcome = "", "", _SAFE
    if not_here and answer in ("proved", "parted"):
        what = _of_answer(claims)
    elif answer == "proved" and outputs and not is_bitwise:
        what = f"{_AFTER_LOWERING}; {made}" if made else _AFTER_LOWERING
        what = f"{_PROVED}; {otherwise}" if otherwise else what
    elif answer == "refuted":
        what = f"its two forms are two computations: {_first(claims, 'refuted')}"
        if not is_told:
            outcome, action = "different", advice("one program")
    elif answer in ("parted", "undecided"):
        is_undecided = answer == "undecided"
        what = f"not proved: {_first(claims, answer)}" if is_undecided else _of_answer(claims)
        if outputs and all(each.outcome == "equal" for each in outputs):
            outcome, action = UNPROVED, advice("undecided") if is_undecided else _advice(claims)
    if read and outcome != _SAFE:
        yield of_read("proof", what, read, outcome)
    elif what:
        yield FlipReason(outcome=outcome, kind="proof", what=what, action=action)


def _advice(claims: Sequence[Claim]) -> str:
    found = deciding(claims)
    is_placed = found is not None and found.place is not None and found.place.file
    arrays = "the captured arrays of this line" if is_placed else "its captured arrays"
    return advice("agrees here", arrays=arrays)


def _first(claims: Sequence[Claim], answer: Answer) -> str:
    return next(each.reason for each in claims if each.answer == answer)
