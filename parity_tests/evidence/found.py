"""What processes find of one program, as files and answers hold it; JAX is not imported for it."""

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


class SettingsFound(BaseModel):
    """The number of devices, JAX's settings, and the variables that the import has set.

    `raised` says what the import raised; "" where it went well.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    devices: int
    settings: dict[str, str]
    variables: dict[str, str] = {}
    raised: str = ""
