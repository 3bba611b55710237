"""Whether the law that the flag may flip between calls compiles the other form, too."""

from __future__ import annotations

from typing import Literal

Flips = Literal["called", "lowered"]
