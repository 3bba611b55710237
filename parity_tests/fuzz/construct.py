"""A construct: how one kind of step is written, and what it asks of what stands around it.

Every construct takes the state `x` to a state of the same shape whose elements stay between -1
and 1 where they were (gradients may leave, and are brought back by a tanh). Nothing branches on a
float that is computed from the state, nor rounds one: two lowerings of a program may differ in last
bits, and those must stay last bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from parity_tests.fuzz.arrays import ArrayText
from parity_tests.fuzz.recipe import Step

# What is done to a piece of a program from outside of it. What stands which of them was tried with
# plain `jax.jit` (jax 0.10.2), construct by construct.
Demand = Literal["forward", "reverse", "batch", "remat"]
ALL: frozenset[Demand] = frozenset({"forward", "reverse", "batch", "remat"})
NOTHING: frozenset[Demand] = frozenset()


@dataclass(frozen=True)
class Site:
    """Where a step stands: its text is made of what this gives it.

    `rank` is that of the state here, `bodies` are the names of the functions that were defined for
    its bodies, and `number` is its own, for the names of what it defines.
    """

    step: Step
    arrays: tuple[ArrayText, ...]
    rank: int
    size: int
    bodies: tuple[str, ...]
    number: int

    @property
    def option(self) -> int:
        """Which way of writing the construct was chosen."""
        return self.step.option

    def raw(self, k: int = 0) -> str:
        """The captured array itself, whatever it is."""
        return self._array(k).name

    def value(self, k: int = 0) -> str:
        """A float32 operand that broadcasts to the state."""
        return self._array(k).value(self.rank, self.option)

    def full(self, k: int = 0) -> str:
        """A float32 operand of the state's shape."""
        return f"jnp.broadcast_to({self.value(k)}, x.shape)"

    def row(self, k: int = 0) -> str:
        """A float32 vector."""
        return f"jnp.broadcast_to({self._array(k).value(1, self.option)}, ({self.size},))"

    def matrix(self, k: int = 0) -> str:
        """A float32 matrix; it is the captured array itself where that is one."""
        array = self._array(k)
        value = array.value(2, self.option)
        if array.kind.shape == "matrix" and array.kind.dtype != "key":
            return value
        return f"jnp.broadcast_to({value}, ({self.size}, {self.size}))"

    def scalar(self, k: int = 0) -> str:
        """A float32 scalar."""
        array = self._array(k)
        if array.kind.shape == "scalar" and array.kind.dtype != "key":
            return array.floats()
        # A sum and not a mean, for the mean of nothing is not a number.
        return f"jnp.sum({array.floats()}) / {2 * self.size**2}"

    def indices(self, k: int = 0) -> str:
        """A permutation of the indices of a row."""
        return f"jnp.argsort({self.row(k)})"

    def key(self, k: int = 0) -> str:
        """A PRNG key, captured where the captured array is one."""
        array = self._array(k)
        if array.kind.dtype != "key":
            return f"jax.random.key({array.kind.seed})"
        return array.name if array.kind.shape == "scalar" else f"{array.name}[1]"

    def host(self, k: int = 0) -> str:
        """A NumPy array of the state's shape that is made while the function is traced."""
        return f"np.resize({self._array(k).host()}, x.shape)"

    @property
    def f(self) -> str:
        """The function of the first body."""
        return self.bodies[0]

    def _array(self, k: int) -> ArrayText:
        return self.arrays[self.step.captured[k]]


@dataclass(frozen=True)
class Construct:
    """One entry of the catalogue.

    `text` writes the statements that assign `x`. `captured` and `bodies` count what a step of it
    has, `options` the ways to write it. `survives` are the demands that it stands, `demands` those
    that it puts on its bodies, `ranks` the ranks of state that it takes; with `by_row` its bodies
    see the rows of the state.
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
