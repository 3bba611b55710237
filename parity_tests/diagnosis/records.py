"""The records of a diagnosis, as they stand in its JSON."""

from __future__ import annotations

from reports.rows import Environment, Side
from reports.rows.row import Row


class Flag(Row):
    """A flag, its value in a process of the user, and the variable that sets it, if one does.

    `value` is None where this JAX has no such flag, or the engine is not imported.
    """

    name: str
    value: bool | None
    variable: str | None


class SideShown(Row):
    """One side, whether it did produce its form, and the proof, or why there is none."""

    side: Side
    holds: bool
    shown: str


class ChangedName(Row):
    """A private name of JAX that is "gone", "changed", or "extended", which breaks no call."""

    name: str
    what: str
    text: str


class Extra(Row):
    """An extra of the package, and which of its packages are missing.

    `purpose` says what an extra is for; "" of another interpreter, for there the name says it.
    """

    name: str
    missing: tuple[str, ...]
    purpose: str = ""


class PytestPlugin(Row):
    """Whether a pytest that starts here knows `--constparity`, and what to do where it does not."""

    is_loaded: bool
    to_do: str = ""


class Problem(Row):
    """What is wrong for the user, and what to do."""

    what: str
    to_do: str


class Diagnosis(Row):
    """All that `constparity doctor` found; `problems` is empty when all is well.

    `python` is the other interpreter that it is about; None: the one that constparity runs in.
    `environment` is None where JAX does not start. `engine_refuses` says why the
    engine refuses this JAX; None where it runs. `pytest_plugin` is None of another interpreter.
    """

    python: str | None = None
    environment: Environment | None = None
    flags: tuple[Flag, ...] = ()
    engine_refuses: str | None = None
    sides: tuple[SideShown, ...] = ()
    names_looked_at: int = 0
    names: tuple[ChangedName, ...] = ()
    extras: tuple[Extra, ...] = ()
    pytest_plugin: PytestPlugin | None = None
    problems: tuple[Problem, ...] = ()

    def broken_names(self) -> list[ChangedName]:
        """Return the private names that are gone or changed."""
        return [each for each in self.names if each.what != "extended"]


class Diagnoses(Row):
    """The diagnoses of several interpreters, in the order in which they were named."""

    interpreters: tuple[Diagnosis, ...]
