"""Settings that come too late: what the import of a module sets after the tester has started JAX.

`XLA_FLAGS` at the top of a file is in time when the file runs by itself, and too late here. So a
module that may have set something too late is imported twice more, in processes that start JAX
before the import and after it. Where JAX is set otherwise then, its programs ran otherwise, too.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from parity_tests.advice import advice
from parity_tests.evidence.folder_layout import CampaignFiles
from parity_tests.evidence.found import SettingsFound
from parity_tests.evidence.records import Recorded, log
from parity_tests.judge.verdict import RowDraft
from parity_tests.processes.kept_files import note_refusal
from parity_tests.processes.one_question import Asking, ask_all
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Job, SettingsAtImport
from parity_tests.processes.worker_process import Lost
from parity_tests.run.collection import Context
from reports.rows import Observation, Side, TooLate

BY_IMPORT = "the import of "  # begins what an import changed for its process
_SETS = "sets the environment variable "
_READ_AT_START = tuple(f"{_SETS}{name}" for name in ("XLA_FLAGS", "LIBTPU_", "JAX_"))


def with_late_settings(drafts: Sequence[RowDraft], context: Context) -> list[RowDraft]:
    """Return the drafts, with what their modules set too late, where they do.

    Example::

        with_late_settings(drafts, context)
    """
    of_module: dict[str, list[int]] = {}
    for number, draft in enumerate(drafts):
        if draft.findings.observed:
            of_module.setdefault(module_of(context.job(number).target), []).append(number)
    found = list(drafts)
    for module, numbers in of_module.items():
        observed = (each for number in numbers for each in drafts[number].findings.observed)
        if not any(map(_may_be_late, observed)):
            continue
        what = "imported before JAX starts and after it, for what it sets"
        context.progress(0, 0, f"{module}: {what}")
        try:
            late = set_too_late(context.job(numbers[0]), context.files, context.options.limits)
        except OSError as error:  # the folder is full, or went away
            note_refusal(error)
            log.warning("constparity: what an import sets was not looked into (%s)", error)
            return found
        for number in numbers if late else ():
            findings = replace(drafts[number].findings, too_late=late)
            found[number] = replace(drafts[number], findings=findings)
    return found


def module_of(target: str) -> str:
    """Return the module or the file of a target of one program."""
    return target.rpartition(":")[0]


def modules_maybe_late(
    jobs: Iterable[Job], records: Mapping[tuple[int, Side], Recorded]
) -> dict[str, Job]:
    """Return the modules whose imports may set something too late, each with one of its jobs.

    The first program of a module in a process says what its import sets.
    """
    late = {number for (number, _), each in records.items() if _may_be_late(each.observation)}
    return {module_of(job.target): job for job in jobs if job.number in late}


def _may_be_late(observation: Observation) -> bool:
    failure = observation.failure
    return (failure is not None and failure.stage == "import") or any(
        text.startswith(BY_IMPORT) and any(name in text for name in _READ_AT_START)
        for text in observation.changed_process
    )


def set_too_late(job: Job, files: CampaignFiles, limits: Limits) -> TooLate | None:
    """Import the module of a job before JAX starts and after it, and compare what JAX is set to."""
    asked = []
    for jax_first in (False, True):
        folder = files.settings(job.number, "late" if jax_first else "alone")
        folder.mkdir(parents=True, exist_ok=True)
        question = SettingsAtImport(target=job.target, jax_first=jax_first)
        asked.append(Asking(question, "jax-legacy", folder, limits))
    alone, late = ask_all(asked)
    if isinstance(alone, Lost) or isinstance(late, Lost) or alone.raised:
        return None  # it fails by itself, too
    differences = tuple(_differences(alone, late))
    if not differences:
        return None
    module = module_of(job.target)
    what = (
        f"the import of {module} sets what JAX reads when it starts, and constparity "
        f"starts JAX before the import: run by itself, {', '.join(differences)}"
    )
    variables = dict(sorted(_to_set(alone, late).items()))
    assigned = " ".join(f"{name}={value.strip()!r}" for name, value in variables.items())
    told = advice("late setting", assigned=assigned, target=shlex.quote(module))
    return TooLate(what=what, action=told)


def _differences(alone: SettingsFound, late: SettingsFound) -> Iterator[str]:
    if late.raised:
        yield "it is imported (here it is not)"
    if alone.devices != late.devices:
        yield f"it has {alone.devices} devices (here {late.devices})"
    for name, value in alone.variables.items():
        if new := _new_flags(name, value):
            yield f"it has {new} in {name}"
    for name, value in _settings_apart(alone, late).items():
        yield f"{name} is {value} (here {late.settings.get(name)})"


def _new_flags(name: str, value: str) -> str:
    """Return the flags of a variable that XLA reads once, when it starts, if they are new."""
    if name.startswith("JAX_"):
        return ""
    had = os.environ.get(name, "").split()
    return " ".join(each for each in dict.fromkeys(value.split()) if each not in had)


def _settings_apart(alone: SettingsFound, late: SettingsFound) -> dict[str, str]:
    return {
        name: value for name, value in alone.settings.items() if late.settings.get(name) != value
    }


def _to_set(alone: SettingsFound, late: SettingsFound) -> dict[str, str]:
    """Return the environment variables that give a process of ours the same settings."""
    if alone.variables:
        return dict(alone.variables)
    return {
        name.upper(): value.strip("'\"") for name, value in _settings_apart(alone, late).items()
    }
