"""Hazard: code that reads the captured arrays of a jaxpr, or counts its variables.

Legacy has captured arrays as constvars, whose values are the `.consts` of a closed_jaxpr, and as
leading operands of bodies. Simplified has them as Literals among operands and outputs. Look-alike:
code that hands `.consts` on to `jax.core.eval_jaxpr`; it is listed, and blamed for nothing, because
the program is traced alike in both forms.
"""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.advice import advice
from parity_tests.observe.hazards.both_forms import BothForms, read_at
from parity_tests.observe.jaxpr_reads import Seen, Subject
from reports.rows import Hazard
from reports.views.texts import counted

_NAMES: dict[Subject, str] = {
    "consts": "`.consts` of a closed_jaxpr",
    "constvars": "`.constvars` of a jaxpr",
    "invars": "`.invars` of a jaxpr",
    "outvars": "`.outvars` of a jaxpr",
    "operands": "`.invars` of an equation",
    "params": "`.params` of an equation",
    "equations": "`.eqns` of a jaxpr",
    "text": "the text of a jaxpr",
}
# Every interpreter goes through the equations, and a text is printed in passing.
_IN_PASSING: tuple[Subject, ...] = ("equations", "text")

_FIXES: dict[Subject, str] = {
    "consts": "evaluate",
    "constvars": "evaluate",
    "invars": "invars",
    "outvars": "outvars",
    "operands": "operands",
    "params": "params",
    "equations": "equations",
    "text": "text",
}


def find(both: BothForms) -> Iterator[Hazard]:
    """Find the lines that see something else of a jaxpr in each form."""
    for told in both.told():
        subject = told.site.subject
        if subject in _NAMES and (subject not in _IN_PASSING or told.changes or told.in_calls):
            sees = _sees(subject, told.before, told.after)
            fix = advice(_FIXES[subject])
            yield read_at("reads jaxpr constants", told, _NAMES[subject], sees, fix)


def _sees(subject: Subject, before: Seen, after: Seen) -> str:
    noun = "captured array" if subject == "consts" else "constvar"
    if subject in ("consts", "constvars"):
        old, new = (counted(each.count, noun) if each.count else "none" for each in (before, after))
        return f"in legacy it has {old}, in simplified {new}"
    if subject == "equations":
        return f"in legacy it has {counted(before.count, 'equation')}, in simplified {after.count}"
    if subject == "text":
        return "captured arrays are variables in legacy, and written out in simplified"
    if subject == "params":
        return (
            f"in legacy it counts {counted(before.count, 'constant')} of bodies, in simplified "
            f"{after.count}: captured arrays are operands of a body in legacy alone"
        )
    if before.count != after.count:
        return (
            f"in legacy it has {counted(before.count, 'variable')}, in simplified {after.count}: "
            "captured arrays lead the operands of a body in legacy alone"
        )
    literals = counted(after.array_literals, "Literal")
    return f"in simplified it has {literals} with captured arrays in the place of variables"
