"""The groups that `--help` shows options in."""

from __future__ import annotations

WHAT = "What is run"
HOW = "How it is run"
OUTPUT = "Output"
EXIT_STATUS = "Exit status"
