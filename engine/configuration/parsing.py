"""What a setting may be, and the one parser of each: from Python and from the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, cast, get_args

from engine.configuration.policy_table import read_table

Side = Literal["legacy", "simplified"]


SIDES: tuple[Side, ...] = ("legacy", "simplified")


# Takes an `engine.CapturedConstant` (a record of a floor above this one) and returns "inline",
# "embed", "hoist" or None; `simplified_consts/hoisting/selection.py` asks it.
ConstantPolicy = Callable[[Any], str | None]


# "off", or "auto": `simplified_consts/preamble/choice.py` decides which equations are done once.
Precompute = Literal["off", "auto"]


# Hashing an array reads all of it, once for each program, and copies it from its device.
DEDUPLICATED_MAX_BYTES = 64 * 2**20


_TRUE = ("1", "true", "yes", "on", "y", "t")


_FALSE = ("0", "false", "no", "off", "n", "f")


def parse_bool(value: Any, what: str) -> bool:
    """Read a boolean setting from Python or from the environment; `what` names it in the error."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _TRUE:
        return True
    if isinstance(value, str) and value.strip().lower() in _FALSE:
        return False
    raise ValueError(
        f"{what} must be True or False (or one of {', '.join(_TRUE + _FALSE)} as a string), "
        f"got {value!r}"
    )


def parse_bytes(value: Any, what: str) -> int:
    """Read a size in bytes, a whole number of at least 0."""
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError(f"{what} must be a number of bytes, 0 or more, got {value!r}")


def parse_policy(value: Any, what: str) -> ConstantPolicy | None:
    """Check a constant policy: a hashable callable, a table or its text, or None for no policy.

    Of a table a copy is taken, so that who changes it afterwards changes nothing.
    """
    if value is None:
        return None
    if isinstance(value, (Mapping, str)):
        return read_table(value, what)
    if not callable(value):
        raise ValueError(
            f"{what} must be a function of a captured constant that returns 'inline', 'embed', "
            "'hoist' or None, a table such as {'float32[64,64]': 'inline'}, or None for no policy, "
            f"got {value!r}"
        )
    try:
        hash(value)
    except TypeError as error:
        raise ValueError(
            f"{what} must be hashable, since what is compiled is cached by it, got {value!r}"
        ) from error
    return value


def parse_precompute(value: Any, what: str) -> Precompute:
    """Read whether work on constants alone is done once."""
    if isinstance(value, str) and value.strip().lower() in get_args(Precompute):
        return cast(Precompute, value.strip().lower())
    raise ValueError(
        f"{what} must be {' or '.join(map(repr, get_args(Precompute)))}, got {value!r}"
    )


def parse_deduplicate(value: Any, what: str) -> int:
    """Read up to how many bytes captured arrays are compared by value: True has a default size."""
    if isinstance(value, str):  # from the environment, where "1" and "0" are words
        word = value.strip().lower()
        value = word in _TRUE if word in _TRUE + _FALSE else int(word) if word.isdecimal() else word
    if value is True:
        return DEDUPLICATED_MAX_BYTES
    if value is False:
        return 0
    if isinstance(value, int) and value >= 0:
        return value
    raise ValueError(f"{what} must be True, False or a number of bytes, 0 or more, got {value!r}")


def parse_side(value: Any) -> Side | None:
    """Check the `constants` argument of a function of the engine."""
    if value is None or (isinstance(value, str) and value in SIDES):
        return value
    raise ValueError(f"constants must be 'legacy', 'simplified' or None, got {value!r}")
