"""The base of every row, and the four sides that rows speak of."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, TypeGuard

from pydantic import BaseModel, ConfigDict

Side = Literal["legacy", "simplified", "jax-legacy", "jax-simplified"]
SIDES: tuple[Side, ...] = ("legacy", "simplified", "jax-legacy", "jax-simplified")


def is_ours(side: Side) -> TypeGuard[Literal["legacy", "simplified"]]:
    """Say whether a side is the engine's, and not one of stock JAX."""
    return side in ("legacy", "simplified")


class Row(BaseModel):
    """A frozen record: unknown fields are refused, so that a typo never loses a value."""

    # JSON has no infinities and no NaN: as strings they read back, as pydantic's null they do not.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


def now() -> str:
    """Return the time, as the rows of a campaign have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class PlacedArray(Row):
    """A captured array, or several of one type at one line; the size is that of all or of one."""

    file: str  # "" where the place is not known
    line: int
    function: str
    array: str  # its type in words
    bytes: int


def spelled_out(text: str) -> str:
    r"""Return text that UTF-8 can hold: halves of characters, as of file names, are spelled out.

    Example::

        >>> spelled_out("a\udcff")
        'a\\udcff'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
