"""Where a handler works, and how it gets at the program that it works on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.evidence.hazards_found import HazardsFound

if TYPE_CHECKING:
    from parity_tests.program import Program


_HOME = os.getcwd()  # relative targets are relative to it, wherever a program goes


@dataclass(frozen=True)
class Desk:
    """Where a handler works: the files of its process, and the lines that its parent gives it."""

    files: ProcessFiles
    lines: SimpleQueue[str]


def load(target: str) -> Program:
    """Load a program from where the process was started, wherever the one before it went.

    Raises `TargetError`.
    """
    from parity_tests import targets
    from parity_tests.observe.import_reads import recorded_import

    os.chdir(_HOME)
    with recorded_import(target):
        return targets.load_one(target)


def hazards_of(target: str) -> HazardsFound:
    """Detect the hazards of one program; there are none where it cannot even be traced."""
    from parity_tests.observe import hazards

    # The observations have what a program raises; hazards only explain them.
    try:
        return HazardsFound(hazards=hazards.detect(load(target)))
    except Exception:  # noqa: BLE001
        return HazardsFound()
