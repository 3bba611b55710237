"""The option --store: a campaign is kept in a store of runs while it goes on."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity_tests.evidence.records import log
from parity_tests.run.collection import Collected
from parity_tests.run.context import Context
from parity_tests.run.folder import setup_of
from parity_tests.run.options import CampaignOptions
from reports.rows import Campaign, ProgramRow
from reports.rows.history import Commit, RunBegin
from reports.store import writing
from reports.store.database import StoreError

# The options that figures depend on, beside the variables.
_SETTINGS = ("steady_calls", "fresh", "reload", "processes")
_GIT_SECONDS = 20.0
# A hook of git sets these, and they outrank the folder.
_OF_HOOKS = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})


@dataclass
class KeptRun:
    """A campaign in its store. Where the store fails, the campaign goes on without it."""

    writer: writing.RunWriter
    collected: Collected
    has_failed: bool = False

    @property
    def name(self) -> str:
        """How the user finds it again."""
        return f"run {self.writer.run} of {self.writer.path}"

    def put(self, number: int, row: ProgramRow) -> None:
        """Commit a program that is finished; a warning says where that is no longer possible."""
        if self.has_failed:
            return
        try:
            self.writer.put(number, row)
        except StoreError as error:
            self.has_failed = True
            log.warning("constparity: %s; the end of the run tries once more", error)

    def finish(self, campaign: Campaign) -> None:
        """Commit the whole campaign. Raises `StoreError`."""
        places = {each.name: number for number, each in enumerate(self.collected.programs)}
        self.writer.finish(campaign, places)


@contextlib.contextmanager
def kept_run(targets: Sequence[str], context: Context) -> Iterator[KeptRun | None]:
    """Begin a run in the store of the options; None without one, or without programs.

    Raises `StoreError`.
    """
    options, collected = context.options, context.collected
    if options.store is None or not collected.programs:
        yield None
        return
    begin = RunBegin(
        started=writing.now(),
        environment=collected.environment,
        sides=options.sides,
        machine=options.machine or platform.node(),
        commit=commit_of(targets),
        settings=_settings(options),
        planned=tuple(each.name for each in collected.programs),
    )
    with writing.begun(options.store, begin) as writer:
        yield KeptRun(writer, collected)


def _settings(options: CampaignOptions) -> dict[str, str]:
    setup = setup_of(options)
    given = {name: str(getattr(setup, name)) for name in _SETTINGS}
    return {**given, "rounds": str(options.rounds), **setup.variables}


def commit_of(targets: Sequence[str]) -> Commit | None:
    """Return the commit of the repository that the first target on the disk lies in.

    Without one it is the repository of the working directory. None where there is no repository,
    no commit in it, or no git.

    Example::

        commit_of(["my_model.py:step"]).id
    """
    paths = (Path(each.split(":")[0] or ".") for each in targets)
    first = next((each for each in paths if each.exists()), Path())
    folder = first if first.is_dir() else first.parent
    told = _git(folder, "log", "-1", "--format=%H %cI")
    if not told:
        return None
    commit, date = told.split()
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return Commit(commit, date, is_dirty=changed is None or bool(changed))


def _git(folder: Path, *arguments: str) -> str | None:
    variables = {name: each for name, each in os.environ.items() if name not in _OF_HOOKS}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_SECONDS,
            # Looking at a repository must not write its index.
            env={**variables, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
