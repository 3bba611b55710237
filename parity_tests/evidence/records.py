"""The evidence of a program: what one side left of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parity_tests.evidence.values import Value
from reports.rows import Observation


@dataclass(frozen=True)
class Evidence:
    """What a side left of a program: its observation, its output arrays and its printed jaxpr."""

    observation: Observation
    outputs: Sequence[Value] = ()
    jaxpr: str = ""
