"""An export with its constants beside it, each once, instead of inlined into its module.

A HoistedExport holds the constants and a *program*: an ordinary `jax.export.Exported` whose first
argument is a tuple of constants. The program is small and portable, and JAX alone can read it;
without this project, one passes the constants by hand.

Derivatives are taken with respect to the user's arguments alone. The derivative of a program is a
program with constants of its own: rules of `jax.custom_vjp` may capture arrays that the function
itself does not use.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.tree_util import PyTreeDef, treedef_children, treedef_tuple

from engine import jax_internals
from engine.artifacts import container, writer
from engine.artifacts.tree_structures import node
from engine.artifacts.writer import Constant


@dataclass(frozen=True, eq=False)
class HeldConstant:
    """A constant in memory: the captured array (`value`), and the array to pass for it."""

    key: Hashable
    value: Any
    passed: Any

    @property
    def operand(self) -> Any:
        """The array to pass; a call that executes gets NumPy arrays as device arrays.

        A trace gets the NumPy array itself: its memory is its identity, so the trace sees one
        constant even if it captures the array elsewhere, too.
        """
        if isinstance(self.passed, np.ndarray) and jax_internals.outside_of_transformations():
            return self._on_device
        return self.passed

    @functools.cached_property
    def _on_device(self) -> jax.Array:
        return put(self.passed)


def put(value: Any, where: Any = None) -> jax.Array:
    """Put a constant on devices at once, even during a trace of a program that calls an export."""
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):  # without x64, 64 bits become 32
        placed: jax.Array = jax.device_put(value, where)
        return placed


@jax.tree_util.register_pytree_with_keys_class
class Inputs:
    """The positional arguments of a program: the constants, then the user's arguments.

    As a pytree it counts the user's arguments as the user does: in JAX's errors, `args[0]` is the
    first of them, not the tuple of constants.
    """

    def __init__(self, constants: Sequence[Any], args: Sequence[Any]) -> None:
        self.constants = tuple(constants)
        self.args = tuple(args)

    def tree_flatten_with_keys(self) -> tuple[Any, ...]:
        """Return the constants under a name, the arguments under their positions."""
        children: list[Any] = [(jax.tree_util.GetAttrKey("constants"), self.constants)]
        children += [(jax.tree_util.SequenceKey(i), arg) for i, arg in enumerate(self.args)]
        return children, None

    @classmethod
    def tree_unflatten(cls, _: None, children: Sequence[Any]) -> Inputs:
        """Invert `tree_flatten_with_keys`."""
        constants, *args = children
        return cls(constants, args)


def _attribute_of_program(name: str) -> Any:
    def read(self: Any) -> Any:
        return getattr(self.program, name)

    return property(read, doc=f"The `{name}` of the program, as in `jax.export.Exported`.")


@dataclass(frozen=True, eq=False)
class HoistedExport:
    """A function lowered to StableHLO with its constants beside it; made by `engine.export`.

    It has the attributes of `jax.export.Exported`, and they describe the user's function:
    `in_avals`, `in_tree`, `in_shardings_hlo` and `module_kept_var_idx` leave the constants out.
    The main function of `mlir_module()` takes them before the arguments, marked `jax.const`.

    - `program`: the `jax.export.Exported` that takes the constants as its first argument, a tuple.
    - `constants`: the arrays, in the order in which `program` takes them.

    Example::

        exported = engine.export.export(engine.jit(f, constants="simplified"),
                                        hoist_constants=True)(x)
        exported.save("f.safetensors", vjp_order=1)
        y = engine.export.load("f.safetensors").call(x)

    Source: `jax.export.Exported`; JAX's guide "Exporting and serializing staged-out computations".
    """

    program: jax.export.Exported
    held: tuple[Constant, ...]
    _get_vjp: Callable[[HoistedExport], HoistedExport] | None = None

    fun_name = _attribute_of_program("fun_name")
    out_tree = _attribute_of_program("out_tree")
    out_avals = _attribute_of_program("out_avals")
    out_shardings_hlo = _attribute_of_program("out_shardings_hlo")
    nr_devices = _attribute_of_program("nr_devices")
    platforms = _attribute_of_program("platforms")
    ordered_effects = _attribute_of_program("ordered_effects")
    unordered_effects = _attribute_of_program("unordered_effects")
    disabled_safety_checks = _attribute_of_program("disabled_safety_checks")
    mlir_module_serialized = _attribute_of_program("mlir_module_serialized")
    calling_convention_version = _attribute_of_program("calling_convention_version")
    uses_global_constants = _attribute_of_program("uses_global_constants")

    @property
    def constants(self) -> tuple[Any, ...]:
        """The arrays that the program takes before its arguments."""
        return tuple(constant.value for constant in self.held)

    @property
    def in_tree(self) -> PyTreeDef:
        """The tree of `(args, kwargs)`."""
        (_, *args), kwargs = _arguments(self.program.in_tree)
        return treedef_tuple((treedef_tuple(args), kwargs))

    @property
    def in_avals(self) -> tuple[Any, ...]:
        """The avals of the arguments, flat."""
        return self.program.in_avals[len(self.held) :]

    @property
    def in_shardings_hlo(self) -> tuple[Any, ...]:
        """The shardings of the arguments, as in `jax.export.Exported`."""
        return self.program.in_shardings_hlo[len(self.held) :]

    @property
    def module_kept_var_idx(self) -> tuple[int, ...]:
        """Indices of the `in_avals` that the main function takes after the constants."""
        n = len(self.held)
        return tuple(i - n for i in self.program.module_kept_var_idx if i >= n)

    def in_shardings_jax(self, mesh: Any) -> Sequence[Any]:
        """Return the shardings of the arguments over a mesh."""
        return self.program.in_shardings_jax(mesh)[len(self.held) :]

    def out_shardings_jax(self, mesh: Any) -> Sequence[Any]:
        """Return the shardings of the results over a mesh."""
        return self.program.out_shardings_jax(mesh)

    def mlir_module(self, serialized: bool = True) -> Any:
        """Return the StableHLO: as text, or as a module where `serialized` is False."""
        return self.program.mlir_module(serialized)

    def has_vjp(self) -> bool:
        """Say whether the function can be differentiated."""
        return self._get_vjp is not None

    def vjp(self) -> HoistedExport:
        """Return the exported derivative: from arguments and output cotangents to input cotangents.

        Raises ValueError where no derivative was exported.
        """
        if self._get_vjp is None:
            raise ValueError("No VJP is available")
        return self._get_vjp(self)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; works in JAX's traces and in reverse-mode derivatives, too.

        Raises ValueError for arguments of another tree, dtype or shape than exported, for another
        platform or number of devices, and, with "No VJP is available", for a derivative that was
        not exported.
        """
        flat, in_tree = jax.tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            # Raises JAX's own error.
            dataclasses.replace(self.program, in_tree=self.in_tree).call(*args, **kwargs)
        try:
            outputs = self._differentiable()(*flat)
        except ValueError as error:
            if f"was exported for {self.nr_devices} devices" in str(error):  # JAX 0.10.2
                error.add_note(
                    "The constants of a loaded export follow the arguments: put those on "
                    f"{self.nr_devices} devices, or load it with mesh=, which puts the constants "
                    "there."
                )
            raise
        return jax.tree.unflatten(self.out_tree, outputs)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Return the bytes of the file that `save` writes, with derivatives up to `vjp_order`.

        Raises ValueError where no derivative of that order was exported, and for a constant that
        cannot be written: an array of which this process holds only a part, or a PRNG key of a
        user's own generator.
        """
        return bytearray().join(self._pieces(vjp_order))

    def save(self, path: str | os.PathLike[str], vjp_order: int = 0) -> None:
        """Write a file for `engine.export.load`, with derivatives up to `vjp_order`.

        The file appears under its name once it is complete. No constant is copied in memory.
        Raises ValueError as `serialize` does, and OSError as `open` does.
        """
        container.write(path, self._pieces(vjp_order))

    def _pieces(self, vjp_order: int) -> list[bytes | memoryview]:
        exports = [self]
        for _ in range(vjp_order):
            if not exports[-1].has_vjp():
                raise ValueError(
                    "serialization of an Exported that does not have vjps of high-enough order"
                )
            exports.append(exports[-1].vjp())
        return writer.pieces([(each.program, each.held) for each in exports])

    def _differentiable(self) -> Callable[..., Any]:
        inputs, kwargs = _arguments(self.program.in_tree)
        named = node((Inputs, None), inputs)
        program = dataclasses.replace(self.program, in_tree=treedef_tuple((named, kwargs)))

        @jax.custom_vjp
        def call(*flat: Any) -> list[Any]:
            # A trace that may hoist captures the arrays themselves, so each is one constant in it.
            hoists = jax_internals.staged_by_jax() and jax_internals.jax_emits_simplified_jaxprs()
            operands = [constant.value if hoists else constant.operand for constant in self.held]
            return jax_internals.call_exported(program, [*operands, *flat])

        def forward(*flat: Any) -> tuple[list[Any], tuple[Any, ...]]:
            return call(*flat), flat

        def backward(flat: tuple[Any, ...], cotangents: Sequence[Any]) -> Any:
            derivative = self.vjp()
            avals = derivative.in_avals[len(flat) :]
            fixed = map(jax_internals.cotangent, cotangents, avals)
            return tuple(derivative.call(*flat, *fixed))

        call.defvjp(forward, backward)
        return call


def _arguments(tree: PyTreeDef) -> tuple[list[PyTreeDef], PyTreeDef]:
    """Return the structure of each positional argument, and the structure of the keyword arguments.

    Structures are taken apart, never filled with placeholders: a user's node may inspect its
    leaves.
    """
    args, kwargs = treedef_children(_of_default_registry(tree))
    return treedef_children(args), kwargs


def _of_default_registry(tree: PyTreeDef) -> PyTreeDef:
    """Return the structure in JAX's default registry; `jax.export` flattens with another one."""
    children = [_of_default_registry(child) for child in treedef_children(tree)]
    return node(tree.node_data(), children)


def takes_constants(program: jax.export.Exported, count: int) -> bool:
    """Say whether the first argument of a program is a tuple of `count` constants."""
    tree: Any = program.in_tree
    children = tree.children()
    args = children[0].children() if children else []
    return len(children) == 2 and bool(args) and args[0] == jax.tree.structure((0,) * count)


def inputs_as_arguments(program: jax.export.Exported) -> jax.export.Exported:
    """Turn a program of `Inputs` into one of a tuple of constants and the user's arguments."""
    inputs, kwargs = _arguments(program.in_tree)
    in_tree = treedef_tuple((treedef_tuple(inputs), kwargs))
    return dataclasses.replace(program, in_tree=in_tree, _get_vjp=None)
