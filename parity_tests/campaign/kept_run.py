"""The option --store: a campaign is kept in a store of runs while it goes on."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parity_tests.campaign.collection import Collected
from parity_tests.campaign.folder import Setup
from parity_tests.campaign.options import CampaignOptions
from parity_tests.campaign.users_commit import commit_of
from parity_tests.evidence.records import log
from reports.rows import Campaign, ProgramRow
from reports.rows.history import RunBegin
from reports.store import writing
from reports.store.errors import StoreError

# The options that figures depend on, beside the variables.
_SETTINGS = ("steady_calls", "fresh", "reload", "processes")


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
def kept_run(
    targets: Sequence[str], options: CampaignOptions, collected: Collected, setup: Setup
) -> Iterator[KeptRun | None]:
    """Begin a run in the store of `options`; None without one, or without programs.

    Raises `StoreError`.
    """
    if options.store is None or not collected.programs:
        yield None
        return
    begin = RunBegin(
        started=writing.now(),
        environment=collected.environment,
        sides=options.sides,
        machine=options.machine or platform.node(),
        commit=commit_of(targets),
        settings=_settings(options, setup),
        planned=tuple(each.name for each in collected.programs),
    )
    with writing.begun(options.store, begin) as writer:
        yield KeptRun(writer, collected)


def _settings(options: CampaignOptions, setup: Setup) -> dict[str, str]:
    given = {name: str(getattr(setup, name)) for name in _SETTINGS}
    return {**given, "rounds": str(options.rounds), **setup.variables}
