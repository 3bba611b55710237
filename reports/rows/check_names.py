"""The names of the checks that each side must pass by itself: observe makes them, judge reads."""

from __future__ import annotations

from typing import Literal

# On every side. A program with state of its own fails these, on every side alike.
AGREE = "calls agree"
RECOMPILES = "recompiles"
DISPATCH = "dispatch in C++"
EFFECTS = "effects agree"
LEAVES_NOTHING = "calls leave nothing"
# Where a campaign is asked for them.
EXPORT = "export, read back"
RELOAD = "reload from a cache"
# A side that fails one of these alone is slower or larger, and still right.
OF_SPEED = (RECOMPILES, DISPATCH, LEAVES_NOTHING)
OF_PROGRAMS = (AGREE, RECOMPILES, DISPATCH, EFFECTS, LEAVES_NOTHING, EXPORT, RELOAD)

# On our sides, whatever the program.
WRITES = "writes into captured arrays"
VALUES = "const arg values"
BUFFERS = "const arg buffers"
SHARDINGS = "const arg shardings"
FLIPS = "flag flips"
# How that check runs the other form: "lowered" does not compile it, and "first" runs it for the
# first program of a process alone.
Flips = Literal["called", "lowered", "first"]
# No check: the stage in which stock sides call a program that is not one jitted function.
AS_WRITTEN = "calls as written"
DONATING = "donating call"  # as its user makes it, of a program that is one jitted function
PLACED = "placement as written"
SETTINGS = "settings left alone"
