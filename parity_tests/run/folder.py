"""The folder of a campaign: finished programs stay in it, so an interrupted campaign goes on.

A campaign without a folder of the user has a temporary one. Each finished program of a side is a
file there, written whole or not at all, and a campaign that finds such files starts with them.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from parity_tests.evidence.digests import DamagedError, digest
from parity_tests.evidence.folder_layout import CampaignFiles, finished_programs, left_by_waiting
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.processes.kept_files import finished
from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Listed, Listing, as_bytes, to_json, write
from parity_tests.processes.side_environment import CACHE_OFF, environment_of
from parity_tests.processes.side_runs import was_killed
from parity_tests.run.options import CampaignOptions, side_with_hazards
from parity_tests.targets import digest_of
from reports.rows import SCHEMA_VERSION, Row

# Others of CONSTPARITY_* are folders of this machine, or secret.
_VARIABLES = (
    "JAX_", "XLA_FLAGS", "LIBTPU_INIT_ARGS", "NVIDIA_TF32_OVERRIDE", "PYTHONHASHSEED", CACHE_OFF,
    "CONSTPARITY_CONSTANT_POLICY", "CONSTPARITY_DEDUPLICATE_CONSTANTS",
    "CONSTPARITY_EMBEDDED_CONSTANTS_MAX_BYTES", "CONSTPARITY_PRECOMPUTE_CONSTANTS",
    "CONSTPARITY_STRICT_PLACEMENT",
)  # fmt: skip
_NONE_OF_THEM = "JAX_COMPILATION_CACHE"  # a folder of this machine, and no side reads it


_MAY_NAME_A_FILE = "XLA_FLAGS"  # which has the flags, where it does not begin with one


def variables_of_figures() -> dict[str, str]:
    """Return the environment variables that figures depend on, by name.

    A file of flags is its name and the digest of what it holds.
    """
    environment = environment_of("jax-legacy")  # without what is set for every process anyway
    flags = environment.get(_MAY_NAME_A_FILE, "").strip()
    if flags and not flags.startswith("-") and (held := digest_of(Path(flags))):
        environment[_MAY_NAME_A_FILE] = f"{flags} (SHA-256 {held})"
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_VARIABLES) and not name.startswith(_NONE_OF_THEM)
    }


class Setup(RunOptions):
    """How a campaign measures, as its folder keeps it; `variables` are from the environment.

    Its limits and the number of its processes may be others when it goes on.
    """

    variables: dict[str, str] = Field(default_factory=variables_of_figures)


def setup_of(options: CampaignOptions) -> Setup:
    """Return how a campaign with these options measures."""
    given = options.model_dump(include=set(RunOptions.model_fields))
    return Setup(**{**given, "hazards_on": side_with_hazards(options)})


# Of the folder, with the number of the schema that its records have. It goes up with every change
# after which a campaign cannot go on; format 1 had no number and no digests.
FORMAT = f"4.{SCHEMA_VERSION}"


class _Identity(Row):
    """What the folder of a campaign says of it; `sha256` is the digest of all the rest."""

    format: str
    listing: Listing
    setup: Setup
    sha256: str = ""


class ResumeError(ValueError):
    """A campaign cannot go on in a folder; the message names the folder, why, and what to do."""


@contextlib.contextmanager
def campaign_folder(resume: Path | None) -> Iterator[Path]:
    """Hold the folder of a campaign: `resume`, created where it is missing, or a temporary one.

    Raises `ResumeError` where it cannot be used, or another campaign is at work in it.
    """
    if resume is None:
        with temporary_folder() as temporary:
            yield temporary
        return
    try:
        resume.mkdir(parents=True, exist_ok=True)
        lock = open(CampaignFiles(resume).lock, "w")  # noqa: SIM115 - closed below, with the lock
    except OSError as error:
        raise ResumeError(
            f"cannot keep a campaign in {str(resume)!r}: {error.strerror}; name another folder"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResumeError(
                f"another campaign is at work in {str(resume)!r}; wait for it or name another "
                "folder"
            ) from None
        # Nobody is at work here. A campaign that was killed may have left outputs in them.
        for abandoned in left_by_waiting(resume):
            shutil.rmtree(abandoned, ignore_errors=True)
        yield resume.absolute()


def check_same_campaign(folder: Path, listing: Listing, setup: Setup) -> None:
    """Make sure that a folder holds results of these programs, measured alike and here.

    An empty folder is given to `listing` and `setup`. Where a limit is larger now, programs that
    exceeded it are dropped and so run again, as are those that something outside killed. Raises
    `ResumeError`, which names the first difference.
    """
    file = CampaignFiles(folder).identity
    now = _sealed(_Identity(format=FORMAT, listing=listing, setup=setup))
    if file.exists():
        before = _read(file)
        if what := _difference(before, _Identity.model_validate_json(now)):
            raise _cannot_be_resumed(folder, what)
        _drop(folder, _raised(before.setup, setup))
    elif any(finished_programs(folder)):
        raise _cannot_be_resumed(folder, f"{file.name}, which says what it measured, is missing")
    write(file, now)


def _cannot_be_resumed(folder: Path, what: str) -> ResumeError:
    return ResumeError(
        f"{str(folder)!r} holds a campaign that cannot be resumed: {what}; name another folder, or "
        "remove this one"
    )


def _sealed(identity: _Identity) -> str:
    """Return an identity as JSON, with its digest."""
    unsealed = identity.model_copy(update={"sha256": ""})
    text = to_json(unsealed)
    return to_json(unsealed.model_copy(update={"sha256": digest(as_bytes(text))}))


def _read(file: Path) -> _Identity:
    """Read an identity. Raises `ResumeError` where it is damaged, or of another format."""
    try:
        text = file.read_text("utf-8")
        found = json.loads(text)
        format_ = found.get("format", "1")
        if format_ == FORMAT:
            identity = _Identity.model_validate(found)
            if _sealed(identity) == text:
                return identity
            raise ValueError("it was changed since it was written")
    except OSError as error:
        raise ResumeError(
            f"cannot read {str(file)!r}: {error.strerror}; make it readable, or name another folder"
        ) from error
    except (ValueError, AttributeError, RecursionError) as error:
        raise ResumeError(
            f"{str(file)!r} is no campaign of this constparity: {error}; name another folder, or "
            "remove this one"
        ) from error
    raise _cannot_be_resumed(
        file.parent,
        f"it is in format {format_}, and this constparity keeps campaigns in format {FORMAT}",
    )


def _raised(before: Setup, now: Setup) -> tuple[str, ...]:
    """Return the kinds of failures whose limit is larger now."""
    memory = [each.memory_limit or math.inf for each in (before, now)]
    raised = {"timeout": now.timeout > before.timeout, "memory": memory[1] > memory[0]}
    return tuple(kind for kind, is_larger in raised.items() if is_larger)


def _drop(folder: Path, kinds: tuple[str, ...]) -> None:
    """Remove the records of failures of some kinds, and of processes that were killed."""
    for files in list(finished_programs(folder)):
        try:
            observation = finished(files).observation
        except DamagedError:
            continue  # said where the program is to be run
        failure = observation.failure
        if was_killed(observation) or (failure is not None and failure.kind in kinds):
            files.observation.unlink()


def _difference(before: _Identity, now: _Identity) -> str | None:
    for then, today in zip(_conditions(before), _conditions(now), strict=True):
        if then != today:
            key = next(key for key in {**then, **today} if then.get(key) != today.get(key))
            return f"its {key} was {then.get(key)!r} and is {today.get(key)!r}"
    programs, named = before.listing.programs, now.listing.programs
    if [each.target for each in programs] != [each.target for each in named]:
        return f"it has {len(programs)} programs and the targets name other ones"
    read, now_there = before.listing.imported, now.listing.imported
    files = (f"{each!r} has changed since" for each in read if read[each] != now_there.get(each))
    return next(filter(None, map(_changed, programs, named)), None) or next(files, None)


def _conditions(identity: _Identity) -> tuple[dict[str, object], ...]:
    """Return by name what figures depend on, beside the programs."""
    environment, setup = identity.listing.environment, identity.setup
    options = setup.model_dump(exclude={"timeout", "memory_limit", "processes", "variables"})
    return environment.model_dump() if environment else {}, options, {**setup.variables}


def _changed(before: Listed, now: Listed) -> str | None:
    if (before.name, before.digest, before.unavailable) == (now.name, now.digest, now.unavailable):
        return None
    return f"the source of {now.name} ({now.source or now.target}) has changed since"
