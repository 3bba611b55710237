"""Diagnose an installation: ask processes about it, prove each side, and say what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity_tests.campaign import run as campaign
from parity_tests.campaign.collection import SidesError
from parity_tests.campaign.options import CampaignOptions
from parity_tests.diagnosis.installed import extras, extras_in, pytest_plugin
from parity_tests.diagnosis.problems import problems
from parity_tests.diagnosis.records import ChangedName, Diagnosis, Flag, Problem, SideShown
from parity_tests.observe.environment import version
from parity_tests.processes.interpreters import InterpreterError, interpreter_at
from parity_tests.processes.own_sides import engine_file, is_own, refusal_of
from parity_tests.processes.protocol import Progress
from parity_tests.processes.side_environment import (
    FOLDER,
    JAX_FLAG,
    OUR_FLAG,
    with_our_packages,
    with_packages,
)
from parity_tests.targets import TargetError
from reports.rows import SIDES, Observation

_PROGRAM = "parity_tests.diagnosis.small_program:captured_twice"
_ANOTHER = "name another Python, of 3.11 or newer, with a JAX of 0.7.0 or newer"
_SECONDS = 120.0  # for a file that is run there
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
    sides = tuple(side for side in SIDES if refusal is None or not is_own(side))
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
    wrong = problems(found, engine_error=told.get("engine_error", ""), names_error=unread)
    if not row.observations:
        what = f"no side runs: {'; '.join(row.reasons)}"
        wrong = (*wrong, Problem(what=what, to_do=_ANOTHER))
    return found.model_copy(update={"problems": wrong})


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


class FileFailedError(RuntimeError):
    """The file printed no JSON; the message is the last line of what it said."""


def run_file(file: Path, python: Path | None = None) -> Any:
    """Run a file, without its folder on the path, and return what it printed.

    It finds our packages. The interpreter `python`, by default this one, finds nothing else of what
    is installed beside them. Raises `FileFailedError`.
    """
    # -P: modules that lie beside the file have names that others import, as "arrays" and "names".
    if python is None:
        command = [sys.executable, "-P", str(file)]
        environment = with_our_packages(os.environ)
    else:
        command = [str(python), "-P", *with_packages(file)]
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONHOME"}
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise FileFailedError(f"no end in {_SECONDS:g} seconds") from error
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        said = _last_line_of_error(done.stderr) or f"exit status {done.returncode}"
        raise FileFailedError(said)
    return json.loads(lines[-1])


def _last_line_of_error(said: str) -> str:
    """Return the exception of a traceback; JAX prints a remark after it, below dashes."""
    lines = [line for line in said.split("\n----", 1)[0].splitlines() if line.strip()]
    return lines[-1] if lines else ""
