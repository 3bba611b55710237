"""How the law that the flag may flip between calls takes the other form of each program."""

from __future__ import annotations

from typing import Literal

# "lowered" does not compile it; "first" leaves it out, but for the first program of a process.
Flips = Literal["called", "lowered", "first"]
