"""Proofs: what the numbers of two forms say, and the first place where the forms part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from parity_tests.evidence.found import NumberedStep
from reports.rows import Hazard, HazardKind, Observation
from reports.rows.observation import ProgramNumber
from reports.rows.proofs import ANSWERS, Answer, Claim, PartedPlace

# What costs something, and breaks nothing.
_OF_COSTS: tuple[HazardKind, ...] = ("hoisted more than once", "folded by legacy alone")


def breaking(hazards: Sequence[Hazard]) -> tuple[Hazard, ...]:
    """Return the hazards by which a program that is proved may still break."""
    return tuple(each for each in hazards if each.kind not in _OF_COSTS)


def claims_of(before: Observation, after: Observation) -> tuple[Claim, ...]:
    """Return what the numbers of two forms say of their jaxprs and of their modules.

    Example::

        claims_of(legacy, simplified)[0].answer == "proved"
    """
    one, two = before.numbers, after.numbers
    assert one is not None
    assert two is not None
    platforms = [each for each in one.modules if each in two.modules]
    return (
        _claim("jaxpr", "", one.jaxpr, two.jaxpr),
        *(_claim("module", each, one.modules[each], two.modules[each]) for each in platforms),
    )


def _claim(
    of: Literal["jaxpr", "module"], platform: str, before: ProgramNumber, after: ProgramNumber
) -> Claim:
    answer, reason = _answer(before, after)
    return Claim(
        of=of, platform=platform, answer=answer, reason=reason,
        before=before.digest, after=after.digest, operations=before.operations,
        constants=before.constants, bodies=before.bodies, effects=before.effects,
    )  # fmt: skip


def _answer(before: ProgramNumber, after: ProgramNumber) -> tuple[Answer, str]:
    if before.types != after.types:
        return "refuted", f"its type was {before.types} and is {after.types}"
    if before.undecided or after.undecided:
        return "undecided", before.undecided or after.undecided
    if before.digest == after.digest or (before.by_calls and before.by_calls == after.by_calls):
        return "proved", ""
    if before.effects != after.effects:
        return "refuted", f"it had {before.effects} effects and has {after.effects}"
    return "parted", "the numbers differ"


def answer_of(claims: Sequence[Claim]) -> Answer:
    """Return what all claims come to, the worst of all platforms.

    A module counts, and the jaxpr where that is undecided: JAX lowers both forms by one set of
    rules, so equal modules are one computation whatever their jaxprs are.
    """
    [of_jaxpr] = (each.answer for each in claims if each.of == "jaxpr")
    modules = [each.answer for each in claims if each.of == "module"] or [of_jaxpr]
    return min((of_jaxpr if each == "undecided" else each for each in modules), key=ANSWERS.index)


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
