"""Which sweep belongs to a program of a campaign, and what says that one does not."""

from __future__ import annotations

from collections.abc import Sequence

from reports.rows.experiments import Sweep
from reports.rows.program_row import ProgramRow


class SweepRefusedError(ValueError):
    """A sweep is of no program of a campaign, or was measured otherwise; the message says which."""


def check_sweeps(sweeps: Sequence[Sweep], programs: Sequence[ProgramRow]) -> None:
    """Make sure that each sweep is of one of the programs, and no two of the same.

    Raises `SweepRefusedError` where one is of another program, of another text of its file, or was
    measured with other versions than the program.

    Example::

        check_sweeps(campaign.sweeps, campaign.programs)
    """
    rows = {(row.name, row.source): row for row in programs}
    seen = set()
    for sweep in sweeps:
        if program_of(sweep) in seen:
            raise SweepRefusedError(f"there are two sweeps of {sweep.program} ({sweep.source})")
        seen.add(program_of(sweep))
        row = rows.get(program_of(sweep))
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


def program_of(sweep: Sweep) -> tuple[str, str]:
    """Return what tells the program of a sweep from others: its name and its source."""
    return sweep.program, sweep.source
