"""The problems of a diagnosis, and what the user can do."""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.diagnosis.records import Diagnosis, Problem, SideShown
from parity_tests.processes.own_sides import is_own
from reports.views.texts import counted

_REPORT = "report it with the output of `constparity doctor --report json:-`"


def problems(found: Diagnosis, *, engine_error: str, names_error: str) -> tuple[Problem, ...]:
    """Return what is wrong; `found` has no problems yet.

    In another interpreter a JAX that the engine refuses is none: stock JAX is compared there.
    `engine_error` is the exception of `import engine`, `names_error` says why no private name was
    looked at; "" where there is none.
    """
    return tuple(_problems(found, engine_error, names_error))


def _problems(found: Diagnosis, engine_error: str, names_error: str) -> Iterator[Problem]:
    broken = found.broken_names()
    if found.engine_refuses is not None and found.python is None:
        what, *ways_out = found.engine_refuses.split(". ")
        to_do = ". ".join(each for each in ways_out if "doctor" not in each)
        yield Problem(what=what, to_do=to_do)
    if found.engine_refuses is None and engine_error:
        to_do = "set that variable to one of these" if "CONSTPARITY_" in engine_error else _REPORT
        yield Problem(what=f"`import engine` raises: {engine_error}", to_do=to_do)
    if found.engine_refuses is None and broken:
        of_jax = counted(len(broken), "private name")
        what = f"{of_jax} of JAX that constparity rests on gone or changed"
        yield Problem(what=what, to_do=f"install another release of jax, and {_REPORT}")
    if names_error:
        yield Problem(what=f"no private name was looked at: {names_error}", to_do=_REPORT)
    for shown in found.sides:
        if not shown.holds:
            yield _of_side(shown)


def _of_side(shown: SideShown) -> Problem:
    what = f"{shown.side} {shown.shown}"
    if is_own(shown.side):
        return Problem(what=what, to_do=_REPORT)
    to_do = "the fault is in this release of jax: compare on another one, or without this side"
    return Problem(what=what, to_do=to_do)
