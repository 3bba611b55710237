"""The hazards of one program, as a file holds them; NumPy is not imported for them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from reports.rows import Hazard


class HazardsFound(BaseModel):
    """The hazards of one program."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hazards: tuple[Hazard, ...] = ()
