"""Which sides are compared with each other, and two observations of one program as a pair."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reports.rows import Observation, Side

Sides = tuple[Side, Side]

PAIRS: tuple[Sides, ...] = (
    ("legacy", "jax-legacy"),
    ("simplified", "jax-simplified"),
    ("legacy", "simplified"),
    ("jax-legacy", "jax-simplified"),
)
# People flip stock JAX; our own two sides stand in where stock was not run.
FLIPS: tuple[Sides, ...] = (
    ("jax-legacy", "jax-simplified"),
    ("legacy", "simplified"),
)


def mode_of(side: str) -> str:
    """Return the mode of a side.

    Example::

        mode_of("jax-legacy") == "legacy"
    """
    return side.removeprefix("jax-")


def is_one_mode(pair: Sides) -> bool:
    """Say whether a pair is a side of ours and stock JAX in the same mode.

    Example::

        is_one_mode(("legacy", "jax-legacy"))
    """
    return mode_of(pair[0]) == mode_of(pair[1])


def pairs_of(sides: Collection[Side]) -> list[Sides]:
    """Return the pairs of sides that a campaign over `sides` compares."""
    return [pair for pair in PAIRS if set(pair) <= set(sides)]


def flipped(pairs: Sequence[Sides]) -> Sides | None:
    """Return the pair across the flip, of stock JAX if it is there; None where no pair is."""
    return next((pair for pair in FLIPS if pair in pairs), None)


@dataclass(frozen=True)
class Pair:
    """Two observations of one program."""

    left: Observation
    right: Observation

    @property
    def across_modes(self) -> bool:
        """Whether the pair compares legacy with simplified, rather than ours with stock JAX."""
        return mode_of(self.left.side) != mode_of(self.right.side)

    @property
    def is_one_side(self) -> bool:
        """Whether one side is compared with itself, measured another time."""
        return self.left.side == self.right.side
