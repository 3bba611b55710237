"""The programs that targets name, listed in a process of their own, and a campaign of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity_tests.evidence.folder_layout import CampaignFiles
from parity_tests.evidence.records import Recorded
from parity_tests.judge.sides import Sides, pairs_of
from parity_tests.observe.environment import version
from parity_tests.processes.listing import ListingError, list_programs
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Job, Listed, Listing, Progress
from parity_tests.processes.side_environment import refusal_of
from parity_tests.run.estimates import Announce
from parity_tests.run.options import CampaignOptions
from parity_tests.run.selection import Selection
from parity_tests.targets import MissingModuleError, TargetError
from reports.rows import Environment, Observation, Side, TimeSamples, is_ours

EVERYTHING = Selection()


@dataclass(frozen=True)
class Collected:
    """The programs that are run of those that targets name, with a job for each that can be."""

    listing: Listing

    @property
    def programs(self) -> tuple[Listed, ...]:
        """The programs; each has its own name, since a report is keyed by name."""
        return self.listing.programs

    @property
    def environment(self) -> Environment:
        """The environment that the programs will be measured in."""
        assert self.listing.environment is not None
        return self.listing.environment

    @property
    def jobs(self) -> list[Job]:
        """The programs that can be run; a job's number is the place of its program."""
        return [
            self.job(number)
            for number, program in enumerate(self.programs)
            if program.unavailable is None
        ]

    def job(self, number: int) -> Job:
        """Return the job of one program."""
        program = self.programs[number]
        return Job(number=number, name=program.name, target=program.target)


def collect(
    targets: Sequence[str], folder: Path, limits: Limits, select: Selection = EVERYTHING
) -> Collected:
    """List the programs of targets, or of the built-in corpus where there are none.

    Raises `TargetError`, which says how a target is wrong and is a `MissingModuleError` where a
    module is not there, and `NameExpressionError`.

    Example::

        collect(["my_model.py"], folder, Limits(60)).programs[0].name
    """
    try:
        listing = list_programs(targets, CampaignFiles(folder).listing, limits)
    except ListingError as error:
        raise TargetError(str(error)) from error
    if listing.error is not None:
        if listing.missing_module:
            raise MissingModuleError(listing.error, listing.missing_module)
        failed = TargetError(listing.error)
        if listing.traceback:
            failed.add_note(listing.traceback)  # for --debug
        raise failed
    kept = tuple(each for each in listing.programs if select.takes(each))
    assert listing.environment is not None
    # Another interpreter has no constparity of its own.
    environment = listing.environment.model_copy(update={"constparity": version()})
    told = listing.model_copy(update={"programs": kept, "environment": environment})
    return Collected(told)


class SidesError(ValueError):
    """A side cannot run under the JAX of the campaign; the message says which, and why."""


def with_sides_that_run(
    options: CampaignOptions, collected: Collected, announce: Announce = lambda text: None
) -> CampaignOptions:
    """Return the options with the sides that run under the JAX of the campaign.

    Sides that cannot run are left out with `options.sides_may_miss`, which is announced. Raises
    `SidesError` without it, and where no two sides are left that can be compared.
    """
    jax_version = collected.environment.jax
    refused = {each: refusal_of(jax_version) for each in options.sides if is_ours(each)}
    missing: dict[Side, str] = {side: why for side, why in refused.items() if why}
    if not collected.listing.has_flag and "jax-simplified" in options.sides:
        missing["jax-simplified"] = f"jax {jax_version} has no flag to be flipped"
    if not missing:
        return options
    left = tuple(side for side in options.sides if side not in missing)
    whys = "; ".join(dict.fromkeys(missing.values()))
    if not (options.sides_may_miss and pairs_of(left)):
        still = f"; {' and '.join(left)} can run" if left else ""
        raise SidesError(f"cannot run {' and '.join(missing)}: {whys}{still}")
    verb = "are" if len(missing) > 1 else "is"
    announce(f"{' and '.join(missing)} {verb} left out: {whys}")
    return options.model_copy(update={"sides": left})


# -- what the steps of a campaign are given --------------------------------------------------------


@dataclass(frozen=True)
class Context:
    """The programs of a campaign, its options and its folder, and what was measured so far.

    By the number of a program, which is its place in `collected`: the `records` of its sides, the
    `samples` of its times, and in `again` the observations of its second measurements.
    `has_stopped` says that the programs without records are left out, after the first finding.
    """

    collected: Collected
    options: CampaignOptions
    folder: Path
    progress: Progress = lambda done, total, text: None
    announce: Announce = lambda text: None
    records: Mapping[int, Mapping[Side, Recorded]] = field(default_factory=dict)
    samples: Mapping[int, tuple[TimeSamples, ...]] = field(default_factory=dict)
    again: Mapping[int, tuple[Observation, ...]] = field(default_factory=dict)
    has_stopped: bool = False

    @property
    def files(self) -> CampaignFiles:
        """The files and folders of the campaign."""
        return CampaignFiles(self.folder)

    @property
    def pairs(self) -> list[Sides]:
        """The pairs of sides that are compared."""
        return pairs_of(self.options.sides)

    def job(self, number: int) -> Job:
        """Return the job of one program."""
        return self.collected.job(number)

    def is_told(self, number: int) -> bool:
        """Say whether a program has a row: it was run on all sides, or cannot be."""
        unavailable = self.collected.programs[number].unavailable is not None
        return not self.has_stopped or unavailable or bool(self.records[number])
