"""Numbers of values, and what numbering a program gives.

A number is a digest of how a value is computed, so equal numbers are one computation, in any
process, on any machine and under any hash seed (value numbering; docs/trust/proof.md).
"""

from __future__ import annotations

import marshal
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

Number = bytes
_FORMAT = 2  # of marshal: without references
SIZE = 16  # bytes: two of 2**40 different values share a number with a chance of 2**-49


def number(*parts: bytes | str | int) -> Number:
    """Return the number of something that is made of parts.

    Example::

        number("add", x, y) != number("add", y, x)
    """
    hashed = _hash_of_nothing()  # a copy takes less time than another one of this size
    hashed.update(packed(*parts))
    return hashed.digest()


_hash_of_nothing = blake2b(digest_size=SIZE).copy


def packed(*parts: bytes | str | int) -> bytes:
    """Return the bytes of parts: of each its type, its size and itself."""
    return marshal.dumps(parts, _FORMAT)


class UndecidedError(Exception):
    """Something has no rule, so nothing is claimed of the program; the message names it."""


class Step(NamedTuple):
    """An operation that was numbered: its own number, its name, and the numbers of its operands.

    `params` is what else its number is made of, one text for each by name; `source` is where it
    was written, an object that whoever numbered the program can read a place from.
    """

    number: Number
    name: str
    operands: tuple[Number, ...]
    params: Any
    source: Any


@dataclass(frozen=True)
class Numbered:
    """A program's numbers: of its outputs, of its effects in their order, and of its steps.

    `digest` covers the outputs, the effects and the types of the arguments. `constants` has the
    numbers of the arrays and scalars that the program holds, `bodies` counts its inner functions,
    loops and branches. `by_calls` is the digest with calls that are not expanded; b"" where the
    program is not much larger than it is written. `callbacks` counts the calls of Python functions
    of a module, whose digest has them by their places alone; `functions` is the number of these
    functions, b"" if it is not known. `writers` counts those that may write to a NumPy array; a
    program that `is_native` calls functions that it has the names of. `odd_bits` is the dtype of a
    captured array with bits that mean nothing, as a bool of byte 2.
    """

    digest: Number
    outputs: tuple[Number, ...]
    effects: tuple[Number, ...]
    steps: tuple[Step, ...]
    constants: frozenset[Number]
    bodies: int
    by_calls: Number = b""
    callbacks: int = 0
    functions: Number = b""
    writers: int = 0
    is_native: bool = False
    odd_bits: str = ""
