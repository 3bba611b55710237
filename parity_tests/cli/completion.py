"""What a shell completes behind options: the names that each takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def one_of(names: Callable[[], Iterable[str]], *, behind: str = "") -> Callable[[str], list[str]]:
    """Return what completes a name, or the last one of a list where `behind` is a comma.

    `names` is called when a shell asks, since what it imports takes a while.

    Example::

        one_of(lambda: ["cpu", "cuda"], behind=",")("tpu,cu") == ["tpu,cuda"]
    """

    def completed(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(behind) if behind else ("", "", incomplete)
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last)]

    return completed


def sides() -> Iterable[str]:
    """Return the names of the sides."""
    from reports.rows import SIDES

    return SIDES


def rules() -> Iterable[str]:
    """Return the names of the rules of --fail-on."""
    from reports.rows.fail_rules import RULE_NAMES

    return RULE_NAMES


def programs() -> Iterable[str]:
    """Return the names of the programs in the files of this folder, which are not imported."""
    from parity_tests.marked_programs import programs_in

    return [name for file in sorted(Path().glob("*.py")) for name in programs_in(file)]
