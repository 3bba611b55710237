"""The row of one program: all that is known of it, and the environment that it was measured in."""

from __future__ import annotations

from typing import Literal, get_args

from reports.rows.comparison import TimeComparison, TimeSamples
from reports.rows.flip import DriftAttribution, FlipVerdict, Hazard, TooLate
from reports.rows.in_file import Comparisons, Observations
from reports.rows.row import Row

Verdict = Literal[
    "parity", "agrees here, not proved", "could not compare", "not repeatable", "difference"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)  # from the best to the worst


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
    cpu: str = ""  # the model; "" where the system does not tell it


class NamedProgram(Row):
    """What a program is called, where it is, and what its declaration says of it."""

    name: str
    source: str  # file:line, relative to the working directory where it lies below it
    target: str = ""  # loads it again; "" in reports older than this field
    digest: str = ""  # SHA-256 of the file of `source`
    summary: str
    tags: tuple[str, ...] = ()  # of its declaration; empty in reports older than this field


class ProgramRow(NamedProgram):
    """All that is known of one program."""

    verdict: Verdict
    reasons: tuple[str, ...]
    observations: Observations
    comparisons: Comparisons
    time_samples: tuple[TimeSamples, ...] = ()
    times: tuple[TimeComparison, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    drift: tuple[DriftAttribution, ...] = ()  # empty where there is none, or nobody asked
    flip: FlipVerdict | None = None  # None: the campaign compares no two sides across the flip
    # What its module set when JAX had started already; None in reports older than this field, too.
    too_late: TooLate | None = None
    # When the result was made, ISO 8601, that the row is taken from, without its times; "" where
    # the program was run.
    taken_from: str = ""
    # Both forms are proved one computation, and it was not run: nothing of it was measured.
    proved_only: bool = False

    @property
    def size(self) -> tuple[str, int] | None:
        """The name without its size, and the size, of a program that declares sizes."""
        name, _, n = self.name.rpartition(".n")
        return (name, int(n)) if f"n={n}" in self.tags else None

    @property
    def is_proof_alone(self) -> bool:
        """Whether it is proved, was not run, and its contract says nothing against it."""
        return (
            self.proved_only and self.flip is not None and self.flip.outcome == "could not compare"
        )

    @property
    def is_not_here(self) -> bool:
        """Whether each side has traced and lowered it, and none can run it on this machine."""
        failures = [each.failure for each in self.observations]
        return bool(failures) and all(
            each is not None and each.kind == "not here" for each in failures
        )
