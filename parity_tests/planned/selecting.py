"""The programs of a campaign that an expression takes, as that of `-k`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parity_tests.campaign.name_expression import parse
from parity_tests.planned.generated import name_of
from parity_tests.planned.plan import PlannedProgram
from parity_tests.planned.spec import Spec, SpecError


def selected(programs: Sequence[PlannedProgram], expression: str) -> list[PlannedProgram]:
    """Return the programs that an expression takes, each with its place among them.

    Raises `SpecError` where it takes none.

    Example::

        selected(plan.programs, "scan and not vmap")
    """
    if not expression.strip():
        return list(programs)
    takes = parse(expression)
    found = [each for each in programs if takes([each.name, each.corpus, *each.tags])]
    if not found:
        raise _nothing(expression)
    return [each.model_copy(update={"place": place}) for place, each in enumerate(found)]


def check_expression(spec: Spec, expression: str) -> None:
    """Refuse an expression that takes nothing, where that is known before programs are listed.

    It is where all programs are generated: others are known to their modules. Raises `SpecError`.

    Example::

        check_expression(spec, "seed_7_program_12")
    """
    if not expression.strip() or spec.library or not all(each.generated for each in spec.corpus):
        return
    takes = parse(expression)
    if not any(takes(texts) for texts in _generated(spec)):
        raise _nothing(expression)


def _generated(spec: Spec) -> Iterable[tuple[str, str]]:
    """Return the corpus and the name of each program, as the plan has them."""
    for each in spec.corpus:
        of_several = f"{each.name}/" if len(spec.corpus) > 1 else ""
        for number in range(each.generated):
            yield each.name, f"{of_several}{name_of(each.seed, number, each.depth)}"


def _nothing(expression: str) -> SpecError:
    return SpecError(f"no program, corpus or tag of the campaign is {expression!r}")
