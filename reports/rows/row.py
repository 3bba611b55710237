"""The base of every row, and the four sides that rows speak of."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Side = Literal["legacy", "simplified", "jax-legacy", "jax-simplified"]
SIDES: tuple[Side, ...] = ("legacy", "simplified", "jax-legacy", "jax-simplified")


class Row(BaseModel):
    """A frozen record: unknown fields are refused, so that a typo never loses a value."""

    # JSON has no infinities and no NaN: as strings they read back, as pydantic's null they do not.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


def spelled_out(text: str) -> str:
    r"""Return text that UTF-8 can hold: halves of characters, as of file names, are spelled out.

    Example::

        >>> spelled_out("a\udcff")
        'a\\udcff'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
