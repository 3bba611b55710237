"""Where two saved campaigns come from: what they were not measured alike in.

Results of other sources, versions or machines may be compared, but a reader must know it. Times
may not: nobody could tell the difference from that of the sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from parity_tests.evidence.saved import Saved
from reports.rows import ProgramRow

_NAMES_SHOWN = 3


@dataclass(frozen=True)
class Provenance:
    """What two saved campaigns differ in: facts of the environment, and programs by name."""

    environment: tuple[str, ...]
    other_sources: tuple[str, ...]
    programs: int  # that both have

    @property
    def lines(self) -> tuple[str, ...]:
        """What the headline says of it; nothing where both were measured alike."""
        told = []
        if self.environment:
            told.append(
                f"provenance: not measured alike: {'; '.join(self.environment)}; times are not "
                "judged"
            )
        if self.other_sources:
            more = len(self.other_sources) - _NAMES_SHOWN
            names = ", ".join(self.other_sources[:_NAMES_SHOWN])
            told.append(
                f"provenance: other sources of {len(self.other_sources):,} of {self.programs:,} "
                f"programs ({names}{f' and {more:,} more' if more > 0 else ''}); their times are "
                "not judged"
            )
        return tuple(told)

    def without_times(self, saved: Saved) -> Saved:
        """Return a saved campaign without the times that say nothing of its sides."""
        refused = {row.name for row in saved.campaign.programs if self.environment}
        refused.update(self.other_sources)
        rows = tuple(
            _untimed(row) if row.name in refused else row for row in saved.campaign.programs
        )
        return replace(saved, campaign=saved.campaign.model_copy(update={"programs": rows}))


def _untimed(row: ProgramRow) -> ProgramRow:
    observations = tuple(each.model_copy(update={"times": None}) for each in row.observations)
    return row.model_copy(update={"observations": observations, "time_samples": ()})


def provenance(left: Saved, right: Saved) -> Provenance:
    """Compare the environments of two saved campaigns, and the sources of their programs.

    Example::

        provenance(left, right).environment == ("jax 0.10.2 and 0.10.3",)
    """
    ours, theirs = (each.campaign.environment.model_dump() for each in (left, right))
    of_left, of_right = left.rows(), right.rows()
    both = [name for name in of_left if name in of_right]
    return Provenance(
        environment=tuple(
            f"{name.replace('_', ' ')} {value} and {theirs[name]}"
            for name, value in ours.items()
            if value != theirs[name]
        ),
        other_sources=tuple(name for name in both if of_left[name].digest != of_right[name].digest),
        programs=len(both),
    )
