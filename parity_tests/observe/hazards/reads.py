"""Hazards of programs that read jaxprs, modules or the flag: what they read in each form."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import jax
from jax.experimental.xla_metadata import set_xla_metadata

from parity_tests.advice import advice
from parity_tests.observe.environment import FLAG
from parity_tests.observe.reads.recorder import Reads, Seen, Site, Subject
from reports.rows import Hazard, HazardKind
from reports.views.texts import counted

_numbers = count()


@dataclass(frozen=True)
class Told:
    """A line that reads something else in each form, and what it reads in each.

    `changes` says that the program is another one for it, as far as that can be told. `in_calls`
    says that it was read while the program was called, where it may decide anything.
    """

    site: Site
    before: Seen
    after: Seen
    changes: bool
    in_calls: bool = False


@dataclass(frozen=True)
class BothForms:
    """What one program read while it was traced in legacy form, and in simplified form.

    `changes` says that the traced program is another one in the two forms, or that it is traced in
    legacy form alone. `at_import` has the reads of its module that it depends on. `in_calls` says
    that the program was called, on a side before the flip and on one after it.
    """

    legacy: Reads = field(default_factory=Reads)
    simplified: Reads = field(default_factory=Reads)
    changes: bool = False
    at_import: tuple[tuple[Site, Seen, Seen], ...] = ()
    in_calls: bool = False

    def told(self) -> Iterator[Told]:
        """Yield the lines that tell the forms apart, those that read last first."""
        for site in self.simplified.sites():
            before, after = self.legacy.of(site), self.simplified.of(site)
            pairs = zip(before, after, strict=False)
            other = next(((one, two) for one, two in pairs if one != two), None)
            if other is not None:
                yield Told(site, *other, self.changes, self.in_calls)
        for read in self.at_import:
            yield Told(*read, changes=True)


@contextmanager
def in_form(simplified: bool) -> Iterator[None]:
    """Trace in one form, whichever side this process was started for.

    The flag at run time gives the right jaxpr and the wrong module; nothing may be lowered here.
    """
    before = getattr(jax.config, FLAG)
    variable = os.environ.get(FLAG.upper())
    jax.config.update(FLAG, simplified)
    os.environ[FLAG.upper()] = "1" if simplified else "0"
    try:
        # JAX looks its traces up by the metadata, too. So a function that it has traced before, for
        # a measurement or in another program, is traced again and read again.
        with set_xla_metadata(constparity_trace=str(next(_numbers))):
            yield
    finally:
        jax.config.update(FLAG, before)
        if variable is None:
            del os.environ[FLAG.upper()]
        else:
            os.environ[FLAG.upper()] = variable


def _read_at(
    kind: HazardKind, told: Told, name: str, sees: str, fix: str, *, decides: bool = False
) -> Hazard:
    """Return the row of one line that reads something else in each form.

    With `decides`, it may decide something although the program is traced alike in this process.
    """
    place, caller = told.site.place, told.site.caller
    called = f", called from {caller.file}:{caller.line}" if caller.file else ""
    decides = decides or told.changes or told.in_calls
    alike = "" if decides else "; the program is traced alike in both forms"
    return Hazard(
        kind=kind,
        file=place.file,
        line=place.line,
        array=name,
        what=f"{name} is read at {place.file}:{place.line}{called}: {sees}{alike}",
        fix=fix if decides else advice("nothing"),
        changes_program=told.changes,
    )


# What is read of jaxprs, and the advice for it.
_OF_JAXPRS: dict[Subject, tuple[str, str]] = {
    "consts": ("`.consts` of a closed_jaxpr", "evaluate"),
    "constvars": ("`.constvars` of a jaxpr", "evaluate"),
    "invars": ("`.invars` of a jaxpr", "invars"),
    "outvars": ("`.outvars` of a jaxpr", "outvars"),
    "operands": ("`.invars` of an equation", "operands"),
    "params": ("`.params` of an equation", "params"),
    "equations": ("`.eqns` of a jaxpr", "equations"),
    "text": ("the text of a jaxpr", "text"),
}
# Every interpreter goes through the equations, and a text is printed in passing.
_IN_PASSING: tuple[Subject, ...] = ("equations", "text")


def reads_jaxpr_constants(both: BothForms) -> Iterator[Hazard]:
    """Find code that reads the captured arrays of a jaxpr, or counts its variables.

    Legacy has captured arrays as constvars, whose values are the `.consts` of a closed_jaxpr, and
    as leading operands of bodies. Simplified has them as Literals among operands and outputs.
    Look-alike: code that hands `.consts` on to `jax.core.eval_jaxpr`; it is listed, and blamed for
    nothing, because the program is traced alike in both forms.
    """
    for told in both.told():
        subject = told.site.subject
        if subject in _OF_JAXPRS and (subject not in _IN_PASSING or told.changes or told.in_calls):
            sees = _sees(subject, told.before, told.after)
            name, fix = _OF_JAXPRS[subject]
            yield _read_at("reads jaxpr constants", told, name, sees, advice(fix))


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


def reads_the_flag(both: BothForms) -> Iterator[Hazard]:
    """Find code that reads JAX's flag, `jax_use_simplified_jaxpr_constants`, and decides by it.

    It takes its other way on the day of the flip, and fails once the flag is gone. Look-alikes:
    code that reads another flag, or that reads this one and traces the same program all the same.
    """
    for told in both.told():
        if told.site.subject == "flag":
            before, after = bool(told.before.count), bool(told.after.count)
            sees = f"in legacy it is {before}, in simplified {after}"
            yield _read_at("reads the flag", told, FLAG, sees, advice("flag"))


def reads_lowered_modules(both: BothForms) -> Iterator[Hazard]:
    """Find code that reads a lowered module or compiled program, or calls its executable itself.

    Legacy has captured arrays as constants there, simplified as arguments of the main function.
    Look-alikes: a module whose function captures nothing, and calls of a compiled stage, which
    passes captured arrays by itself.
    """
    for told in both.told():
        if told.site.subject == "module":
            arrays = counted(told.after.count, "captured array")
            are = "is a constant" if told.after.count == 1 else "are constants"
            yield _read_at(
                "reads lowered modules",
                told,
                "a lowered module or compiled program",
                f"{arrays} {are} there in legacy, and passed to its main function in simplified",
                advice("module"),
                decides=True,
            )


# These are read in passing, and are listed only where the program changes, too.
_WEAK = ("environment", "text", "equations")


def hands_on_the_environment(both: BothForms) -> Iterator[Hazard]:
    """Find code that copies all variables or JAX settings, or hands the variables to a process.

    JAX's flag is among them, so the copy is another one after the flip, and the process may decide
    by it. Look-alike: a program that does so and is traced alike in both forms; it is not listed.
    Nor is it where another read explains more.
    """
    told = list(both.told())
    if any(each.site.subject not in _WEAK for each in told):
        return
    for each in told:
        if each.site.subject == "environment" and (each.changes or each.in_calls):
            before, after = each.before.count, each.after.count
            sees = f"in legacy the flag is {before} there, in simplified {after}"
            name, fix = (
                "the environment with JAX's flag",
                advice("environment", variable=FLAG.upper()),
            )
            yield _read_at("hands on the environment", each, name, sees, fix)
