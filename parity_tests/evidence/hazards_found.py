"""The hazards of one program, as a file holds them; NumPy is not imported for them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from reports.rows import Hazard


class HazardsFound(BaseModel):
    """The hazards of one program, or in `not_detected` why nobody knows them.

    `again` says that another process may still detect them. `reads` has what the program read in
    simplified form before its process ended, as `parity_tests.observe.reads.recorder` writes it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    hazards: tuple[Hazard, ...] = ()
    not_detected: str = ""
    again: bool = False
    reads: str = ""
