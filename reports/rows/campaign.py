"""The rows a report is made of: what was observed, how it compared, and the verdict.

A report prints nothing else: `reports.output.json_file.render` writes these records unchanged, and
the pages are views of them. The other files of this folder have the records below a `ProgramRow`.
Sizes are in bytes, times in seconds. A field that is None was not measured; it never means zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from pydantic import Field, computed_field, model_validator

from reports.rows.comparison import Growth
from reports.rows.experiments import Sweep
from reports.rows.headline import Headline, headline
from reports.rows.program_row import VERDICTS, Environment, ProgramRow, Verdict
from reports.rows.row import Row, Side

SCHEMA_VERSION = 4


class Campaign(Row):
    """One run of the tester: the root of a report."""

    schema_version: int = SCHEMA_VERSION
    created: str  # ISO 8601, UTC
    environment: Environment
    # What a reader must know of how it was measured: a busy machine, or, of two saved campaigns,
    # other versions, machines, sources. Empty where there is nothing of that.
    provenance: tuple[str, ...] = ()
    # What each of two saved campaigns was measured with, where sides are compared with themselves
    # and that is not the same. Rows have one observation for each side, that of the first.
    files_measured: tuple[str, ...] = ()
    # The options and variables that verdicts depend on; None in reports older than this field.
    settings: dict[str, str] | None = None
    # SHA-256 of the files whose lines are told; empty in reports older than this field.
    sources: dict[str, str] = Field(default_factory=dict)
    sides: tuple[Side, ...]
    programs: tuple[ProgramRow, ...]
    growth: tuple[Growth, ...] = ()  # of programs with sizes, where times were taken in rounds
    # Names of programs that `run -x` left out, or that an interrupted run did not come to.
    not_run: tuple[str, ...] = ()
    sweeps: tuple[Sweep, ...] = ()  # over the embed threshold, at most one of a program

    @computed_field  # type: ignore[prop-decorator]
    @property
    def headline(self) -> Headline:
        """May the default be flipped? It is in the JSON, and worked out again when that is read."""
        return headline(self.programs, self.not_run)

    @model_validator(mode="before")
    @classmethod
    def _without_headline(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {name: value for name, value in data.items() if name != "headline"}
        return data

    @model_validator(mode="after")
    def _sweeps_are_of_programs(self) -> Self:
        check_sweeps(self.sweeps, self.programs)
        return self

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the programs; a campaign over nothing could not compare."""
        verdicts = [row.verdict for row in self.programs]
        return max(verdicts, key=VERDICTS.index, default="could not compare")

    def with_sweep(self, sweep: Sweep) -> Campaign:
        """Return the campaign with a sweep of one of its programs, in place of an earlier one.

        Raises `SweepRefusedError` as `check_sweeps` does.
        """
        check_sweeps([sweep], self.programs)
        others = (each for each in self.sweeps if _program(each) != _program(sweep))
        return self.model_copy(update={"sweeps": (*others, sweep)})


# -- sweeps, each of one program -------------------------------------------------------------------


class SweepRefusedError(ValueError):
    """A sweep is of no program of a campaign, or was measured otherwise; the message says which."""


def check_sweeps(sweeps: Sequence[Sweep], programs: Sequence[ProgramRow]) -> None:
    """Make sure that each sweep is of one of the programs, and no two of the same.

    Raises `SweepRefusedError` where one is of another program, of another text of its file, or was
    measured with other versions than the program.
    """
    rows = {(row.name, row.source): row for row in programs}
    seen = set()
    for sweep in sweeps:
        if _program(sweep) in seen:
            raise SweepRefusedError(f"there are two sweeps of {sweep.program} ({sweep.source})")
        seen.add(_program(sweep))
        row = rows.get(_program(sweep))
        _check(sweep, row, [each.source for each in programs if each.name == sweep.program])


def _check(sweep: Sweep, row: ProgramRow | None, elsewhere: Sequence[str]) -> None:
    of = f"the sweep is of {sweep.program} ({sweep.source})"
    if row is None and not elsewhere:
        raise SweepRefusedError(f"{of}, and the result has no program of that name")
    if row is None:
        raise SweepRefusedError(f"{of}, and the result has it at {', '.join(elsewhere)}")
    if row.digest and sweep.digest and row.digest != sweep.digest:
        raise SweepRefusedError(f"{of}, whose file has changed since the result was measured")
    swept = sweep.environment
    measured = {
        (each.measured_with.jax, each.measured_with.jaxlib, each.measured_with.backend)
        for each in row.observations
        if each.measured_with is not None
    }
    if measured and (swept.jax, swept.jaxlib, swept.backend) not in measured:
        told = " and ".join(_versions(*each) for each in sorted(measured))
        raise SweepRefusedError(
            f"{of}, with {_versions(swept.jax, swept.jaxlib, swept.backend)}, and the result was "
            f"measured with {told}"
        )


def _versions(jax: str, jaxlib: str, backend: str) -> str:
    return f"jax {jax} and jaxlib {jaxlib} on {backend}"


def _program(sweep: Sweep) -> tuple[str, str]:
    """Return what tells the program of a sweep from others: its name and its source."""
    return sweep.program, sweep.source
