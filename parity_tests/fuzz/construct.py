"""Constructs: how each kind of piece is written, over which arrays, under which transformations.

Every construct takes the state `x` to a state of the same shape. Elements between -1 and 1 stay
there; gradients may leave, and a tanh brings them back. Nothing branches on a float that is
computed from the state, and nothing rounds one: two lowerings of a program may differ in last bits,
and last bits must not grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from string import Formatter
from typing import Any, Literal

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
    """The place of a piece in a program: a mapping of the fields of its text to expressions.

    A field is the name of what is below, and the number of the captured array or body if that is
    not the first. `rank` is the rank of the state here. `bodies` are the names of the functions
    that are its bodies. `number` is unique to the piece, which has it in the names that it defines.
    """

    piece: Piece
    arrays: tuple[ArrayText, ...]
    rank: int
    size: int
    bodies: tuple[str, ...]
    number: int

    def __getitem__(self, field: str) -> Any:
        name, k = _parts(field)
        found = getattr(self, name)
        return found(k) if callable(found) else found

    def raw(self, k: int = 0) -> str:
        """Return the captured array itself, of any dtype and shape."""
        return self._array(k).name

    def value(self, k: int = 0) -> str:
        """Return a float32 operand that broadcasts to the state."""
        return self._array(k).value(self.rank, self.piece.option)

    def full(self, k: int = 0) -> str:
        """Return a float32 operand of the state's shape."""
        return f"jnp.broadcast_to({self.value(k)}, x.shape)"

    def row(self, k: int = 0) -> str:
        """Return a float32 vector."""
        return f"jnp.broadcast_to({self._array(k).value(1, self.piece.option)}, ({self.size},))"

    def matrix(self, k: int = 0) -> str:
        """Return a float32 matrix: the captured array itself where it is a matrix."""
        array = self._array(k)
        value = array.value(2, self.piece.option)
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

    def f(self, k: int = 0) -> str:
        """Return the function of a body."""
        return self.bodies[k]

    @property
    def twice(self) -> int:
        """Twice the size."""
        return 2 * self.size

    @property
    def falling(self) -> list[float]:
        """The elements of a row, between 0 and 1."""
        return [0.9 - i / 16 for i in range(self.size)]

    @property
    def of_state(self) -> str:
        """What makes a matrix of the rank of the state."""
        return "[0]" * (self.rank == 1)

    @property
    def spec(self) -> str:
        """The spec of the state over the mesh."""
        return 'P("i")' if self.size % 2 == 0 else "P()"

    def _array(self, k: int) -> ArrayText:
        return self.arrays[self.piece.captured[k]]


def _parts(field: str) -> tuple[str, int]:
    """Return the name of a field and its number: ("value", 1) of "value1"."""
    name = field.rstrip("012")
    return name, int(field[len(name) :] or 0)


_OF_ARRAYS = ("raw", "value", "full", "row", "matrix", "scalar", "indices", "key", "host")


@dataclass(frozen=True)
class Construct:
    """One entry of the catalogue.

    `text` has the statements that assign `x`, with fields of `Site` in braces. Each of `ways` may
    stand for its field "way". `parts` of a captured block or matrix may be an operand. `survives`
    are the transformations that the construct supports, `demands` those that it applies to its
    bodies. `ranks` are the ranks of state that it takes. With `by_row` its bodies see the rows of a
    matrix.
    """

    name: str
    text: str
    ways: tuple[str, ...] = ()
    parts: int = 1
    survives: frozenset[Demand] = ALL
    demands: frozenset[Demand] = NOTHING
    ranks: tuple[int, ...] = (1, 2)
    by_row: bool = False

    @cached_property
    def captured(self) -> int:
        """The number of captured arrays of a piece."""
        return self._count(_OF_ARRAYS)

    @cached_property
    def bodies(self) -> int:
        """The number of bodies of a piece."""
        return self._count(("f",))

    @property
    def options(self) -> int:
        """The number of ways to write a piece."""
        return max(self.parts, len(self.ways))

    def takes(self, rank: int) -> bool:
        """Say whether it takes a state of this rank."""
        return rank in self.ranks and not (self.by_row and rank == 1)

    def written(self, site: Site) -> str:
        """Return the statements of a piece."""
        text = self.text
        if self.ways:
            text = text.replace("{way}", self.ways[site.piece.option % len(self.ways)])
        return text.format_map(site)

    def _count(self, names: Sequence[str]) -> int:
        fields = [
            _parts(field)
            for text in (self.text, *self.ways)
            for _, field, _, _ in Formatter().parse(text)
            if field
        ]
        return max((k + 1 for name, k in fields if name in names), default=0)
