"""Releases of JAX that the tests of constparity ran on, and which of them suit a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet

from parity_tests.environments.find_python import KNOWN, NEWEST_MINOR, NoPythonError, minors_for
from parity_tests.jobs import ProjectError
from parity_tests.processes.own_sides import refusal_of

_OLDEST_MINOR = 11  # of constparity itself


@dataclass(frozen=True)
class Versions:
    """What a job runs on: `python` as "3.13", and the releases of JAX, oldest first.

    `has_engine` says whether the engine knows these releases. If not, only stock JAX is compared,
    and only in environments of their own: constparity is not installed beside them.
    """

    python: str
    jax: tuple[str, ...]
    has_engine: bool


def suiting(
    requires_python: SpecifierSet, requires_jax: SpecifierSet, classified: Sequence[int] = ()
) -> Versions:
    """Choose the Python and the releases of JAX that a project allows, a pinned one or known ones.

    One Python runs all of them: the one that suits most, and the newest among those. `classified`
    are the minor versions that the project's classifiers name. Raises `ProjectError`.

    Example::

        suiting(SpecifierSet(">=3.11"), SpecifierSet(">=0.11")).jax == ("0.11.2", "0.12.0.1")
    """
    minors = _minors(requires_python, classified)
    pinned = [each.version for each in requires_jax if each.operator == "=="]
    allowed = [jax for jax in (*pinned, *KNOWN) if "*" not in jax and requires_jax.contains(jax)]
    known = [jax for jax in allowed if refusal_of(jax) is None]
    chosen = known or allowed
    minor = max(minors, key=lambda each: (len(_with_wheels(chosen, each)), each))
    jax = _with_wheels(chosen, minor)
    if not jax:
        raise ProjectError(
            f"the project's bounds are jax{requires_jax} and Python {requires_python or 'any'}, "
            f"and constparity knows JAX {', '.join(KNOWN)}"
        )
    return Versions(f"3.{minor}", tuple(dict.fromkeys(jax)), has_engine=bool(known))


def _minors(requires_python: SpecifierSet, classified: Sequence[int]) -> list[int]:
    """Return the minor versions of Python 3 to choose from."""
    usable = [
        minor
        for minor in range(_OLDEST_MINOR, NEWEST_MINOR + 1)
        # A bound as >=3.11.4 leaves out some releases of a minor version and not the last one.
        if requires_python.contains(f"3.{minor}.99")
    ]
    if not usable:
        raise ProjectError(
            f"requires-python is {str(requires_python)!r}, and constparity needs Python "
            f"3.{_OLDEST_MINOR} to 3.{NEWEST_MINOR}"
        )
    return [minor for minor in usable if minor in classified] or usable


def _with_wheels(releases: Sequence[str], minor: int) -> tuple[str, ...]:
    """Return the releases that constparity can use and that have wheels for a Python."""
    return tuple(jax for jax in releases if _has_wheel(jax, minor))


def _has_wheel(jax: str, minor: int) -> bool:
    try:
        first, last = minors_for(jax)
    except NoPythonError:  # it has no flag
        return False
    return first <= minor <= last
