"""Recipes: the captured arrays and the pieces of a generated program, as frozen records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

Dtype = Literal[
    "float32", "int32", "bool", "bfloat16", "complex64", "int8", "float16", "uint32", "key"
]
Shape = Literal["matrix", "vector", "scalar", "block", "empty"]
Storage = Literal[
    "jax",
    "numpy",
    "view",
    "readonly",
    "fortran",
    "strided",
    "reversed",
    "broadcast",
    "replicated",
    "sharded",
]
Outside = Literal["nothing", "grad", "vmap", "jvp", "vjp", "linearize", "checkpoint"]

DTYPES: tuple[Dtype, ...] = get_args(Dtype)
SHAPES: tuple[Shape, ...] = get_args(Shape)
STORAGES: tuple[Storage, ...] = get_args(Storage)
OUTSIDES: tuple[Outside, ...] = get_args(Outside)


@dataclass(frozen=True)
class RecipeArray:
    """One array that the program captures.

    Two records with equal fields are distinct arrays of equal values. `storage` says where the
    array is held: in a jax.Array, in NumPy memory of some layout, or as a "view" of the captured
    array before this one, whose dtype and shape it then has.
    """

    dtype: Dtype = "float32"
    shape: Shape = "matrix"
    storage: Storage = "jax"
    seed: int = 0


@dataclass(frozen=True)
class Piece:
    """One construct of the catalogue, applied to the state.

    `captured` are indices into the recipe's captured arrays, `bodies` are the blocks that the
    construct runs, and `option` chooses one of the ways to write the construct.
    """

    construct: str
    captured: tuple[int, ...] = ()
    bodies: tuple[Block, ...] = ()
    option: int = 0


Block = tuple[Piece, ...]


@dataclass(frozen=True)
class Recipe:
    """A program from one array to a tuple: the state after its pieces, and some captured arrays.

    The state is a float32 matrix of `size` by `size`. `returned` are indices of captured arrays
    that are outputs themselves. `outside` is the transformation around the jitted function.
    """

    pieces: Block
    captured: tuple[RecipeArray, ...] = (RecipeArray(),)
    size: int = 4
    returned: tuple[int, ...] = ()
    outside: Outside = "nothing"


def walk(block: Block) -> Iterator[Piece]:
    """Yield every piece of a block and of its bodies, outer pieces first."""
    for piece in block:
        yield piece
        for body in piece.bodies:
            yield from walk(body)


def kind_of(captured: tuple[RecipeArray, ...], index: int) -> RecipeArray:
    """Return a captured array; a view gets the dtype and shape of the array that it views."""
    one = captured[index]
    if one.storage != "view":
        return one
    if index == 0:
        return RecipeArray(one.dtype, one.shape, "numpy", one.seed)
    of = kind_of(captured, index - 1)
    return RecipeArray(of.dtype, of.shape, "view", of.seed)


def uses(recipe: Recipe) -> frozenset[int]:
    """Return the indices of the captured arrays that the program needs, viewed ones included."""
    named = {index for piece in walk(recipe.pieces) for index in piece.captured}
    needed = named | set(recipe.returned)
    for index in sorted(needed, reverse=True):
        while recipe.captured[index].storage == "view" and index > 0:
            index -= 1
            needed.add(index)
    return frozenset(needed)
