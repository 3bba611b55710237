"""Diagnose an installation: ask processes about it, prove each side, and say what is wrong."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from parity_tests import own_packages
from parity_tests.observe.environment import version
from parity_tests.processes.interpreters import (
    FOR_RELOAD,
    FileFailedError,
    InterpreterError,
    interpreter_at,
    missing_in,
    run_file,
)
from parity_tests.processes.protocol import Progress
from parity_tests.processes.side_environment import (
    FOLDER,
    JAX_FLAG,
    OUR_FLAG,
    engine_file,
    refusal_of,
)
from parity_tests.run import run as campaign
from parity_tests.run.collection import SidesError
from parity_tests.run.options import CampaignOptions
from parity_tests.targets import TargetError
from reports.rows import SIDES, Environment, Observation, Side, is_ours
from reports.rows.row import Row
from reports.views.texts import counted


class Flag(Row):
    """A flag, its value in a process of the user, and the variable that sets it, if one does.

    `value` is None where this JAX has no such flag, or the engine is not imported.
    """

    name: str
    value: bool | None
    variable: str | None


class SideShown(Row):
    """One side, whether it did produce its form, and the proof, or why there is none."""

    side: Side
    holds: bool
    shown: str


class ChangedName(Row):
    """A private name of JAX that is "gone", "changed", or "extended", which breaks no call."""

    name: str
    what: str
    text: str


class Extra(Row):
    """An extra of the package, and which of its packages are missing.

    `purpose` says what an extra is for; "" of another interpreter, for there the name says it.
    """

    name: str
    missing: tuple[str, ...]
    purpose: str = ""


class PytestPlugin(Row):
    """Whether a pytest that starts here knows `--constparity`, and what to do where it does not."""

    is_loaded: bool
    to_do: str = ""


class Problem(Row):
    """What is wrong for the user, and what to do."""

    what: str
    to_do: str


class Diagnosis(Row):
    """All that `constparity doctor` found; `problems` is empty when all is well.

    `python` is the other interpreter that it is about; None: the one that constparity runs in.
    `environment` is None where JAX does not start. `engine_refuses` says why the
    engine refuses this JAX; None where it runs. `pytest_plugin` is None of another interpreter.
    """

    python: str | None = None
    environment: Environment | None = None
    flags: tuple[Flag, ...] = ()
    engine_refuses: str | None = None
    sides: tuple[SideShown, ...] = ()
    names_looked_at: int = 0
    names: tuple[ChangedName, ...] = ()
    extras: tuple[Extra, ...] = ()
    pytest_plugin: PytestPlugin | None = None
    problems: tuple[Problem, ...] = ()

    def broken_names(self) -> list[ChangedName]:
        """Return the private names that are gone or changed."""
        return [each for each in self.names if each.what != "extended"]


class Diagnoses(Row):
    """The diagnoses of several interpreters, in the order in which they were named."""

    interpreters: tuple[Diagnosis, ...]


_PROGRAM = "parity_tests.diagnosis.small_program:captured_twice"
_ANOTHER = "name another Python, of 3.11 or newer, with a JAX of 0.7.0 or newer"
_FLAGS = FOLDER / "parity_tests" / "diagnosis" / "flags_probe.py"


def diagnose(
    path: str | None = None, *, progress: Progress = lambda done, total, text: None
) -> Diagnosis:
    """Diagnose the installation that this process belongs to, or the interpreter at a path.

    Nothing is installed there: what sides need and it lacks is a problem.

    Example::

        assert not diagnose().problems
        assert not diagnose("~/jax-0.12/bin/python").problems
    """
    try:
        python = interpreter_at(path) if path is not None else None
    except InterpreterError as error:
        return _only(path, error.what, error.to_do or _ANOTHER)
    told, no_jax = _told_by(_FLAGS, python)
    if no_jax:
        to_do = "make `import jax; jax.devices()` work in this Python, then ask again"
        return _only(path, f"JAX does not start: {no_jax}", to_do)
    refusal = refusal_of(told["jax"])
    sides = tuple(side for side in SIDES if refusal is None or not is_ours(side))
    options = CampaignOptions(sides=sides, steady_calls=0, python=python)
    try:
        result = campaign.run([_PROGRAM], options, progress=progress)
    except (SidesError, TargetError) as error:
        return _only(path, f"no side runs: {error}", _ANOTHER)
    names, unread = _told_by(engine_file("jax_internals/private_names.py"), python)
    [row] = result.programs
    found = Diagnosis(
        python=str(python) if python else None,
        # Its processes run this constparity, whichever is installed there.
        environment=result.environment.model_copy(update={"constparity": version()}),
        flags=_flags(told),
        engine_refuses=refusal,
        sides=tuple(map(_shown, row.observations)),
        names_looked_at=names.get("looked_at", 0),
        names=tuple(ChangedName.model_validate(each) for each in names.get("findings", ())),
        extras=extras_in(python) if python else extras(),
        pytest_plugin=None if python else pytest_plugin(),
    )
    wrong = [*problems(found, engine_error=told.get("engine_error", ""), names_error=unread)]
    if (collision := own_packages.in_the_way(os.getcwd())) is not None:
        wrong.append(Problem(what=collision.what, to_do=collision.to_do))
    if not row.observations:
        wrong.append(Problem(what=f"no side runs: {'; '.join(row.reasons)}", to_do=_ANOTHER))
    return found.model_copy(update={"problems": tuple(wrong)})


def _only(path: str | None, what: str, to_do: str) -> Diagnosis:
    """Return the diagnosis of an interpreter in which nothing could be looked at."""
    return Diagnosis(python=path, problems=(Problem(what=what, to_do=to_do),))


def _told_by(file: Path, python: Path | None) -> tuple[Mapping[str, Any], str]:
    """Return what a file of ours prints in the user's environment, or why it prints nothing."""
    try:
        return run_file(file, python), ""
    except FileFailedError as error:
        return {}, str(error)


def _flags(told: Mapping[str, Any]) -> tuple[Flag, ...]:
    return tuple(
        Flag(name=name, value=value, variable=variable if variable in os.environ else None)
        for name, value, variable in (
            ("jax_use_simplified_jaxpr_constants", told["jax_flag"], JAX_FLAG),
            ("use_simplified_constants", told["engine_flag"], OUR_FLAG),
        )
    )


def _shown(observed: Observation) -> SideShown:
    """Say which form a side produced: by its proof, or by how it failed."""
    if observed.proof is not None:
        return SideShown(
            side=observed.side, holds=observed.proof.holds, shown=observed.proof.statement
        )
    assert observed.failure is not None
    failure = observed.failure
    shown = f"fails in {failure.stage}: {failure.type}: {failure.message}"
    return SideShown(side=observed.side, holds=False, shown=shown)


_REPORT = "report it with the output of `constparity doctor --report json:-`"


def problems(found: Diagnosis, *, engine_error: str, names_error: str) -> Iterator[Problem]:
    """Yield what is wrong; `found` has no problems yet.

    In another interpreter a JAX that the engine refuses is none: stock JAX is compared there.
    `engine_error` is the exception of `import engine`, `names_error` says why no private name was
    looked at; "" where there is none.
    """
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
    if is_ours(shown.side):
        return Problem(what=what, to_do=_REPORT)
    to_do = "the fault is in this release of jax: compare on another one, or without this side"
    return Problem(what=what, to_do=to_do)


# -- what is installed beside constparity ----------------------------------------------------------

_PLUGIN = "constparity"
_NO_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
# The extras for users, and what each is for.
FOR_USERS = {
    "cluster": "constparity campaign --scheduler",
    "corpus": "programs of other libraries in the built-in corpus",
    "environments": "--jax, and constparity environments make",
    "fuzz": "constparity fuzz",
    "init": "constparity init in a project with a .gitlab-ci.yml",
    "lint": "constparity lint",
    "tables": "reports in CSV and Parquet, and frames in notebooks",
}


def extras() -> tuple[Extra, ...]:
    """Return each extra for users; none where constparity itself runs from an unpacked tree."""
    return tuple(
        Extra(
            name=name,
            purpose=purpose,
            missing=tuple(each for each in _packages_of(name) if not _is_installed(each)),
        )
        for name, purpose in FOR_USERS.items()
        if _is_installed("constparity")
    )


def extras_in(python: Path) -> tuple[Extra, ...]:
    """Return what an interpreter of other versions may have besides, for the programs it runs."""
    needed = {"corpus": _packages_of("corpus"), "--reload": FOR_RELOAD}
    return tuple(
        Extra(name=name, missing=missing_in(python, packages)) for name, packages in needed.items()
    )


def _packages_of(extra: str) -> tuple[str, ...]:
    """Return the packages of an extra; none where constparity runs from an unpacked tree."""
    try:
        found = map(Requirement, importlib.metadata.requires("constparity") or ())
        return tuple(
            each.name for each in found if each.marker and each.marker.evaluate({"extra": extra})
        )
    except importlib.metadata.PackageNotFoundError:
        return ()


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def pytest_plugin(environment: Mapping[str, str] = os.environ) -> PytestPlugin:
    """Say whether a pytest that starts here loads the plugin, and what to do where it does not.

    Nothing of the plugin is imported for that.
    """
    try:
        importlib.metadata.distribution("pytest")
    except importlib.metadata.PackageNotFoundError:
        return PytestPlugin(is_loaded=False, to_do="without pytest: pip install pytest")
    found = [
        each for each in importlib.metadata.entry_points(group="pytest11") if each.name == _PLUGIN
    ]
    if not found:
        to_do = "not registered: install constparity with pip, for it runs from an unpacked tree"
        return PytestPlugin(is_loaded=False, to_do=to_do)
    if environment.get(_NO_AUTOLOAD):
        to_do = f"not loaded, for {_NO_AUTOLOAD} is set: pytest -p {found[0].value}"
        return PytestPlugin(is_loaded=False, to_do=to_do)
    return PytestPlugin(is_loaded=True)
