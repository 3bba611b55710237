"""What helps a program of a planned campaign: said of its state, and in words of the spec."""

from __future__ import annotations

from reports.rows import ProgramRow
from reports.rows.observation import OF_LIMITS
from reports.rows.plan import State

_OF_STATE: dict[State, str] = {
    "disagree": "report it with a smaller program (constparity reduce): it is a fault of "
    "constparity or of stock JAX",
    "lost": "find out what ended its process or machine; --retry lost runs it once more",
}
# The options of `constparity run` that a spec has as keys.
_KEYS = {
    "--timeout": "`timeout` in the spec",
    "--memory-limit": "`memory_limit` in the spec",
    "more --rounds": "more `rounds` in the spec",
}


def of_state(state: State) -> str:
    """Return what helps all programs in a state; "" where it depends on the program.

    Example::

        of_state("safe") == ""
    """
    return _OF_STATE.get(state, "")


def of_limits(row: ProgramRow) -> str:
    """Return what helps a program that a side of it has no result of, for it exceeded a limit.

    Example::

        of_limits(row) == "raise --timeout, or find out what takes the time"
    """
    kinds = [each.failure.kind for each in row.observations if each.failure]
    return next((OF_LIMITS[kind] for kind in kinds if kind in OF_LIMITS), "")


def in_words_of_spec(action: str) -> str:
    """Name the keys of a spec in the place of the options of `constparity run`.

    Example::

        >>> in_words_of_spec("raise --timeout, or find out what takes the time")
        'raise `timeout` in the spec, or find out what takes the time'
    """
    for option, key in _KEYS.items():
        action = action.replace(option, key)
    return action
