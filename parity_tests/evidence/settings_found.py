"""What JAX is set to when a module is imported, as an answer holds it; JAX is not imported here."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SettingsFound(BaseModel):
    """The number of devices, JAX's settings, and the variables that the import has set.

    `raised` says what the import raised; "" where it went well.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    devices: int
    settings: dict[str, str]
    variables: dict[str, str] = {}
    raised: str = ""
