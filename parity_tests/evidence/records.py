"""The evidence of a program: what one side left of it, in memory and in files."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity_tests.evidence import digests, values
from parity_tests.evidence.digests import DamagedError
from parity_tests.evidence.folder_layout import ProgramFiles, truth_files
from parity_tests.evidence.found import HazardsFound
from parity_tests.evidence.values import Value
from reports.rows import Observation

# A logger without a handler prints warnings on stderr, as they are.
log = logging.getLogger("constparity")


@dataclass(frozen=True)
class Evidence:
    """What a side left of a program: its observation, its output arrays and its printed jaxpr."""

    observation: Observation
    outputs: Sequence[Value] = ()
    jaxpr: str = ""


@dataclass(frozen=True)
class Recorded:
    """What a process left of one program: its observation, and its other files, if it has any."""

    observation: Observation
    files: ProgramFiles | None = None

    def evidence(self) -> Evidence:
        """Load the output arrays and the printed jaxpr; there are none where the side failed."""
        if self.files is None:
            return Evidence(self.observation)
        return Evidence(
            self.observation,
            values.load(self.files.outputs),
            self.files.jaxpr.read_text("utf-8"),
        )

    def hazards(self) -> HazardsFound:
        """Read the hazards; there are none but on the side that detects them."""
        if self.files is None or not self.files.hazards.exists():
            return HazardsFound()
        return HazardsFound.model_validate_json(self.files.hazards.read_text("utf-8"))


def record_of(files: ProgramFiles) -> Recorded:
    """Read what a process left of a program."""
    observation = Observation.model_validate_json(files.observation.read_text("utf-8"))
    if not files.outputs.exists():  # the process was lost with the program
        return Recorded(observation)
    return Recorded(observation, files)


def truth_of(folder: Path, number: int) -> tuple[Value, ...]:
    """Read the arbiter's outputs for a program; there are none where it was not asked.

    Nor are there where they are damaged: then it is asked again.
    """
    files = truth_files(folder, number)
    if not files.truth.exists():
        return ()
    try:
        digests.check(files.seal)
    except DamagedError as damage:
        log.warning("constparity: %s, so the arbiter is asked again", damage)
        return ()
    return values.load(files.truth)
