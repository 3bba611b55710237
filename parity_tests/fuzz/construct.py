"""Constructs: how each kind of piece is written, over which arrays, under which transformations.

Every construct takes the state `x` to a state of the same shape. Elements between -1 and 1 stay
there; gradients may leave, and a tanh brings them back. Nothing branches on a float that is
computed from the state, and nothing rounds one: two lowerings of a program may differ in last bits,
and last bits must not grow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from parity_tests.fuzz.recipe import Piece, Recipe, RecipeArray, Shape, kind_of

# The beginning of a generated module. All programs share one mesh, since arrays over different
# devices cannot be combined. It has two devices where the process has them.
PRELUDE = '''\
MESH = jax.make_mesh(
    (min(2, len(jax.devices())),), ("i",), axis_types=(jax.sharding.AxisType.Auto,)
)


def draw(seed, *shape):
    """Numbers between -1 and 1."""
    return np.asarray(np.random.default_rng(seed).uniform(-1, 1, shape), np.float32)


def over(array, *spec):
    """The array on the devices of the mesh."""
    return jax.device_put(array, NamedSharding(MESH, P(*spec)))
'''


@dataclass(frozen=True)
class ArrayText:
    """One captured array of a recipe, and the expressions that use it.

    All operands are float32 and between -1 and 1, whatever the captured dtype: state and gradients
    then stay small, and no rounding to a narrow dtype turns a last bit into a visible difference.
    """

    recipe: Recipe
    index: int

    @cached_property
    def kind(self) -> RecipeArray:
        """The record of the array; a view has the dtype and shape of the array that it views."""
        return kind_of(self.recipe.captured, self.index)

    @property
    def name(self) -> str:
        """The name of the variable that holds the array."""
        return f"c{self.index}"

    def definition(self) -> str:
        """Return the statements that make the array."""
        kind = self.kind
        if kind.storage == "view":
            return f"{self.name} = c{self.index - 1}[...]"
        if kind.dtype == "key":
            made = f"jax.random.key({kind.seed})"
            if self._shape != "scalar":
                made = f"jax.random.split({made}, {self.recipe.size})"
            return f"{self.name} = {made}"
        return self._stored(self._values(self._dimensions()))

    @property
    def _shape(self) -> Shape:
        """The shape of the array; keys are a scalar or a vector."""
        if self.kind.dtype != "key" or self.kind.shape == "scalar":
            return self.kind.shape
        return "vector"

    def _dimensions(self) -> list[int]:
        n = self.recipe.size
        return {
            "scalar": [],
            "vector": [n],
            "matrix": [n, n],
            "block": [2, n, n],
            "empty": [0, n],
        }[self._shape]

    def _values(self, dimensions: list[int]) -> str:
        seed = self.kind.seed

        def drawn(seed: int) -> str:
            return f"draw({', '.join(map(str, [seed, *dimensions]))})"

        match self.kind.dtype:
            case "float32":
                return drawn(seed)
            case "bool":
                return f"np.asarray({drawn(seed)} > 0)"
            case "complex64":
                return f"np.asarray({drawn(seed)} + 1j * {drawn(seed + 100)}, np.complex64)"
            case "int32" | "int8":
                return f"np.asarray(4 * {drawn(seed)}, np.{self.kind.dtype})"
            case "uint32":
                return f"np.asarray(4 + 4 * {drawn(seed)}, np.uint32)"
            case _:
                return f"{drawn(seed)}.astype(jnp.{self.kind.dtype})"

    def _stored(self, values: str) -> str:
        dimensions, name = self._dimensions(), self.name
        match self.kind.storage:
            case "jax":
                return f"{name} = jnp.asarray({values})"
            case "replicated":
                return f"{name} = over({values})"
            case "sharded":
                spec = '"i"' if dimensions and dimensions[0] % 2 == 0 else ""
                return f"{name} = over({values}{', ' if spec else ''}{spec})"
            case "readonly":
                return f"{name} = {values}\n{name}.setflags(write=False)"
            case "fortran" if dimensions:
                return f"{name} = np.asfortranarray({values})"
            case "strided" if dimensions:
                return f"{name} = {self._values([2 * dimensions[0], *dimensions[1:]])}[::2]"
            case "reversed" if dimensions:
                return f"{name} = {values}[::-1]"
            case "broadcast" if dimensions:
                row = self._values(dimensions[1:])
                return f"{name} = np.broadcast_to({row}, {tuple(dimensions)})"
            case _:
                return f"{name} = {values}"

    # -- operands ----------------------------------------------------------------------------------

    def floats(self) -> str:
        """Return the array as float32 in its own shape; keys become random numbers."""
        match self.kind.dtype:
            case "float32":
                return self.name
            case "key" if self._shape == "scalar":
                return f"jax.random.uniform({self.name}, ({self.recipe.size},))"
            case "key":
                return f"jax.vmap(jax.random.uniform)({self.name})"
            case "complex64":
                return f"jnp.real({self.name})"
            case "int32" | "int8" | "uint32":
                return f"jnp.multiply({self.name}, np.float32(0.125))"
            case _:
                return f"lax.convert_element_type({self.name}, np.float32)"

    def value(self, rank: int, option: int) -> str:
        """Return an operand that broadcasts to a state of a rank; `option` picks a matrix row."""
        shape = "vector" if self.kind.dtype == "key" else self.kind.shape
        floats = self.floats()
        if shape == "empty":
            return f"jnp.sum({floats}, axis=0)"
        if shape == "block":
            floats, shape = f"{floats}[{option % 2}]", "matrix"
        if shape != "matrix" or rank == 2:
            return floats
        if option % 3 == 2:
            return f"jnp.mean({floats}, axis=0)"
        return f"{floats}[{option % 3}]"

    def host(self) -> str:
        """Return a NumPy expression of the array's values, made while the function is traced."""
        if self.kind.dtype == "key":
            return f"draw({self.kind.seed}, {self.recipe.size})"
        return f"np.cos(np.asarray({self.name}).real.astype(np.float32))"


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
