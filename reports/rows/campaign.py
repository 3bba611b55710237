"""The rows a report is made of: what was observed, how it compared, and the verdict.

A report prints nothing else: `reports.output.json_file.render` writes these records unchanged, and
the pages are views of them. The other files of this folder have the records below a `ProgramRow`.
Sizes are in bytes, times in seconds. A field that is None was not measured; it never means zero.
"""

from __future__ import annotations

from typing import Literal

from reports.rows.captured_array import Hazard
from reports.rows.comparison import Comparison, TimeComparison, TimeSamples
from reports.rows.flip import DriftAttribution, FlipVerdict
from reports.rows.observation import Observation
from reports.rows.row import Row, Side

SCHEMA_VERSION = 2

# "not repeatable": a side, run twice, differs from itself where the sides differ.
Verdict = Literal["parity", "difference", "not repeatable", "could not compare"]
# From the best to the worst.
VERDICTS: tuple[Verdict, ...] = ("parity", "could not compare", "not repeatable", "difference")


class Environment(Row):
    """What the numbers were measured with; figures from unequal environments do not compare."""

    constparity: str
    python: str
    jax: str
    jaxlib: str
    numpy: str
    backend: str
    device_kind: str
    device_count: int
    cpu_count: int
    system: str


class ProgramRow(Row):
    """All that is known of one program."""

    name: str
    source: str  # file:line, relative to the working directory where it lies below it
    target: str = ""  # loads it again; "" in reports older than this field
    digest: str = ""  # SHA-256 of the file of `source`
    summary: str
    verdict: Verdict
    reasons: tuple[str, ...]
    observations: tuple[Observation, ...]
    comparisons: tuple[Comparison, ...]
    time_samples: tuple[TimeSamples, ...] = ()
    times: tuple[TimeComparison, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    drift: tuple[DriftAttribution, ...] = ()  # empty where there is none, or nobody asked
    flip: FlipVerdict | None = None  # None: the campaign compares no two sides across the flip


class Campaign(Row):
    """One run of the tester: the root of a report."""

    schema_version: int = SCHEMA_VERSION
    created: str  # ISO 8601, UTC
    environment: Environment
    sides: tuple[Side, ...]
    programs: tuple[ProgramRow, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the programs; a campaign over nothing could not compare."""
        verdicts = [row.verdict for row in self.programs]
        return max(verdicts, key=VERDICTS.index, default="could not compare")
