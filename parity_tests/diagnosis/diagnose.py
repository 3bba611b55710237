"""Diagnose an installation: ask processes about it, prove each side, and say what is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity_tests.campaign import run as campaign
from parity_tests.campaign.options import CampaignOptions
from parity_tests.diagnosis.extras import extras
from parity_tests.diagnosis.own_file import FileFailedError, run_file
from parity_tests.diagnosis.problems import problems
from parity_tests.diagnosis.records import Diagnosis, Flag, NameFinding, Problem, SideShown
from parity_tests.processes.own_sides import engine_file, is_own, refusal_of
from parity_tests.processes.protocol import Progress
from parity_tests.processes.side_environment import FOLDER, JAX_FLAG, OUR_FLAG, with_our_packages
from reports.rows import SIDES, Observation

_PROGRAM = "parity_tests.diagnosis.small_program:captured_twice"
_FLAGS = FOLDER / "parity_tests" / "diagnosis" / "flags_probe.py"


def diagnose(progress: Progress = lambda done, total, text: None) -> Diagnosis:
    """Diagnose the installation that this process belongs to.

    Example::

        assert not diagnose().problems
    """
    told, no_jax = _told_by(_FLAGS)
    if no_jax:
        to_do = "make `import jax; jax.devices()` work in this Python, then ask again"
        return Diagnosis(problems=(Problem(what=f"JAX does not start: {no_jax}", to_do=to_do),))
    refusal = refusal_of(told["jax"])
    sides = tuple(side for side in SIDES if refusal is None or not is_own(side))
    options = CampaignOptions(sides=sides, steady_calls=0)
    result = campaign.run([_PROGRAM], options, progress=progress)
    names, unread = _told_by(engine_file("jax_internals/private_names.py"))
    found = Diagnosis(
        environment=result.environment,
        flags=_flags(told),
        engine_refuses=refusal,
        sides=tuple(map(_shown, result.programs[0].observations)),
        names_looked_at=names.get("looked_at", 0),
        names=tuple(NameFinding.model_validate(each) for each in names.get("findings", ())),
        extras=extras(),
    )
    wrong = problems(found, engine_error=told.get("engine_error", ""), names_error=unread)
    return found.model_copy(update={"problems": wrong})


def _told_by(file: Path) -> tuple[Mapping[str, Any], str]:
    """Return what a file of ours prints in the user's environment, or why it prints nothing."""
    try:
        return run_file(file, with_our_packages(os.environ)), ""
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
