"""The types of the settings, and one parser for each.

Python and the environment share the parser, so both accept the same values and name the same legal
ones in an error. `what` is the name of the setting in that error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, cast, get_args

from engine.configuration.policy_table import read_table

Side = Literal["legacy", "simplified"]
SIDES: tuple[Side, ...] = ("legacy", "simplified")

# Takes an `engine.CapturedConstant` (Any, because that record is in a layer above this one) and
# returns "inline", "embed", "hoist" or None. `simplified_consts.hoisting` calls it.
ConstantPolicy = Callable[[Any], str | None]

# With "auto", `simplified_consts.preamble` decides which equations are computed once.
Precompute = Literal["off", "auto"]

# The limit of `deduplicate_constants=True`: hashing copies an array from its device and reads all
# of it, once for each program.
DEDUPLICATED_MAX_BYTES = 64 * 2**20

_TRUE = ("1", "true", "yes", "on", "y", "t")
_FALSE = ("0", "false", "no", "off", "n", "f")


def parse_bool(value: Any, what: str) -> bool:
    """Read a boolean: a bool, or one of its usual words as a string."""
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
    """Read a size in bytes: a whole number, 0 or more, or its digits as a string."""
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError(f"{what} must be a number of bytes, 0 or more, got {value!r}")


def parse_policy(value: Any, what: str) -> ConstantPolicy | None:
    """Read a constant policy: a hashable callable, a table or its text, or None for no policy.

    A table is copied, so that later changes of it have no effect.
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
            f"{what} must be hashable, because it is part of cache keys, got {value!r}"
        ) from error
    policy: ConstantPolicy = value
    return policy


def parse_precompute(value: Any, what: str) -> Precompute:
    """Read "off" or "auto", in any case."""
    if isinstance(value, str) and value.strip().lower() in get_args(Precompute):
        return cast(Precompute, value.strip().lower())
    raise ValueError(
        f"{what} must be {' or '.join(map(repr, get_args(Precompute)))}, got {value!r}"
    )


def parse_deduplicate(value: Any, what: str) -> int:
    """Read the size in bytes up to which captured arrays are compared by value.

    True means `DEDUPLICATED_MAX_BYTES`, False means 0. As strings, "1" and "0" mean True and False.
    """
    if isinstance(value, str):
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
    """Read the `constants` argument of a function of the engine."""
    if value is None or (isinstance(value, str) and value in SIDES):
        return value
    raise ValueError(f"constants must be 'legacy', 'simplified' or None, got {value!r}")
