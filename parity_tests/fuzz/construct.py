"""A construct: how one kind of piece is written, and which transformations it supports.

Every construct takes the state `x` to a state of the same shape. Elements between -1 and 1 stay
there; gradients may leave, and a tanh brings them back. Nothing branches on a float that is
computed from the state, and nothing rounds one: two lowerings of a program may differ in last bits,
and last bits must not grow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from parity_tests.fuzz.arrays import ArrayText
from parity_tests.fuzz.recipe import Piece

# The transformations that a part of a program may be under. Which construct supports which was
# tested with plain `jax.jit` (jax 0.10.2).
Demand = Literal["forward", "reverse", "batch", "remat"]
ALL: frozenset[Demand] = frozenset({"forward", "reverse", "batch", "remat"})
NOTHING: frozenset[Demand] = frozenset()


@dataclass(frozen=True)
class Site:
    """The place of a piece in a program; its text is made from the expressions that this gives.

    `rank` is the rank of the state here. `bodies` are the names of the functions that are its
    bodies. `number` is unique to the piece, which has it in the names that it defines.
    """

    piece: Piece
    arrays: tuple[ArrayText, ...]
    rank: int
    size: int
    bodies: tuple[str, ...]
    number: int

    @property
    def option(self) -> int:
        """The chosen way of writing the construct."""
        return self.piece.option

    def raw(self, k: int = 0) -> str:
        """Return the captured array itself, of any dtype and shape."""
        return self._array(k).name

    def value(self, k: int = 0) -> str:
        """Return a float32 operand that broadcasts to the state."""
        return self._array(k).value(self.rank, self.option)

    def full(self, k: int = 0) -> str:
        """Return a float32 operand of the state's shape."""
        return f"jnp.broadcast_to({self.value(k)}, x.shape)"

    def row(self, k: int = 0) -> str:
        """Return a float32 vector."""
        return f"jnp.broadcast_to({self._array(k).value(1, self.option)}, ({self.size},))"

    def matrix(self, k: int = 0) -> str:
        """Return a float32 matrix: the captured array itself where it is a matrix."""
        array = self._array(k)
        value = array.value(2, self.option)
        if array.kind.shape == "matrix" and array.kind.dtype != "key":
            return value
        return f"jnp.broadcast_to({value}, ({self.size}, {self.size}))"

    def scalar(self, k: int = 0) -> str:
        """Return a float32 scalar."""
        array = self._array(k)
        if array.kind.shape == "scalar" and array.kind.dtype != "key":
            return array.floats()
        # A sum and not a mean: the mean of an empty array is NaN.
        return f"jnp.sum({array.floats()}) / {2 * self.size**2}"

    def indices(self, k: int = 0) -> str:
        """Return a permutation of the indices of a row."""
        return f"jnp.argsort({self.row(k)})"

    def key(self, k: int = 0) -> str:
        """Return a PRNG key: captured where the captured array holds keys."""
        array = self._array(k)
        if array.kind.dtype != "key":
            return f"jax.random.key({array.kind.seed})"
        return array.name if array.kind.shape == "scalar" else f"{array.name}[1]"

    def host(self, k: int = 0) -> str:
        """Return a NumPy array of the state's shape, made while the function is traced."""
        return f"np.resize({self._array(k).host()}, x.shape)"

    @property
    def f(self) -> str:
        """The function of the first body."""
        return self.bodies[0]

    def _array(self, k: int) -> ArrayText:
        return self.arrays[self.piece.captured[k]]


@dataclass(frozen=True)
class Construct:
    """One entry of the catalogue.

    `text` writes the statements that assign `x`. `captured` and `bodies` count the captured arrays
    and the bodies of a piece, and `options` the ways to write it. `survives` are the
    transformations that the construct supports, `demands` those that it applies to its bodies.
    `ranks` are the ranks of state that it takes. With `by_row` its bodies see its rows.
    """

    name: str
    text: Callable[[Site], str]
    captured: int = 0
    bodies: int = 0
    options: int = 1
    survives: frozenset[Demand] = ALL
    demands: frozenset[Demand] = NOTHING
    ranks: tuple[int, ...] = (1, 2)
    by_row: bool = False
