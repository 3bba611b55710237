"""An export whose constants are inputs of its module and stand beside it, each once.

A HoistedExport holds a *program*, which is an ordinary `jax.export.Exported` with a tuple of
constants as its first argument, and those constants. The program is small, portable and JAX's own
in every respect; whoever reads it without this project passes the constants by hand.

Derivatives are taken with respect to the arguments alone. The derivative of a program is a program
with constants of its own: rules of `jax.custom_vjp` may capture arrays that the function itself
does not use.
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
    """A constant that is in memory: the captured array, and the view of it that is passed."""

    key: Hashable
    value: Any
    passed: Any

    @property
    def operand(self) -> Any:
        """What is passed; for a call that executes, an array of NumPy is on a device.

        A program that is traced gets it as it is: there the memory of an array tells that it is
        one constant, wherever else it is captured.
        """
        if isinstance(self.passed, np.ndarray) and jax_internals.outside_of_transformations():
            return self._on_device
        return self.passed

    @functools.cached_property
    def _on_device(self) -> jax.Array:
        return put(self.passed)


def put(value: Any, where: Any = None) -> jax.Array:
    """Put a constant on devices, now: also while a program that calls an export is traced."""
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):  # or 64 bits would become 32
        return jax.device_put(value, where)


@jax.tree_util.register_pytree_with_keys_class
class Inputs:
    """The positional arguments of a program: the constants, then those of the user.

    As a pytree it names the arguments of the user as the user counts them, so that JAX's errors
    say `args[0]` of the first one, and not of the constants.
    """

    def __init__(self, constants: Sequence[Any], args: Sequence[Any]) -> None:
        self.constants = tuple(constants)
        self.args = tuple(args)

    def tree_flatten_with_keys(self) -> tuple:
        """The constants under a name, the arguments under their positions."""
        children: list[Any] = [(jax.tree_util.GetAttrKey("constants"), self.constants)]
        children += [(jax.tree_util.SequenceKey(i), arg) for i, arg in enumerate(self.args)]
        return children, None

    @classmethod
    def tree_unflatten(cls, _: None, children: Sequence[Any]) -> Inputs:
        """The inverse."""
        constants, *args = children
        return cls(constants, args)


def _of_the_program(name: str) -> Any:
    def read(self: Any) -> Any:
        return getattr(self.program, name)

    return property(read, doc=f"As in `jax.export.Exported`: its `{name}`.")


@dataclass(frozen=True, eq=False)
class HoistedExport:
    """A function lowered to StableHLO with its constants beside it; made by `engine.export`.

    It has the attributes of `jax.export.Exported`, and they describe the function of the user:
    `in_avals`, `in_tree`, `in_shardings_hlo` and `module_kept_var_idx` leave the constants out,
    while main of `mlir_module()` takes them before the arguments, marked `jax.const`.

    - `program`: the `jax.export.Exported` that takes the constants as its first argument, a tuple.
    - `constants`: the arrays, in the order in which `program` takes them.

    Example::

        exported = engine.export.export(engine.jit(f, constants="simplified"),
                                        hoist_constants=True)(x)
        exported.save("f.safetensors", vjp_order=1)
        y = engine.export.load("f.safetensors").call(x)

    Source: `jax.export.Exported`; the export document (seed 003).
    """

    program: jax.export.Exported
    held: tuple[Constant, ...]
    _get_vjp: Callable[[HoistedExport], HoistedExport] | None = None

    fun_name = _of_the_program("fun_name")
    out_tree = _of_the_program("out_tree")
    out_avals = _of_the_program("out_avals")
    out_shardings_hlo = _of_the_program("out_shardings_hlo")
    nr_devices = _of_the_program("nr_devices")
    platforms = _of_the_program("platforms")
    ordered_effects = _of_the_program("ordered_effects")
    unordered_effects = _of_the_program("unordered_effects")
    disabled_safety_checks = _of_the_program("disabled_safety_checks")
    mlir_module_serialized = _of_the_program("mlir_module_serialized")
    calling_convention_version = _of_the_program("calling_convention_version")
    uses_global_constants = _of_the_program("uses_global_constants")

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
        """As in `jax.export.Exported`, of the arguments."""
        return self.program.in_shardings_hlo[len(self.held) :]

    @property
    def module_kept_var_idx(self) -> tuple[int, ...]:
        """Which of `in_avals` main takes, after the constants."""
        n = len(self.held)
        return tuple(i - n for i in self.program.module_kept_var_idx if i >= n)

    def in_shardings_jax(self, mesh: Any) -> Sequence[Any]:
        """The shardings of the arguments over a mesh."""
        return self.program.in_shardings_jax(mesh)[len(self.held) :]

    def out_shardings_jax(self, mesh: Any) -> Sequence[Any]:
        """The shardings of the results over a mesh."""
        return self.program.out_shardings_jax(mesh)

    def mlir_module(self, serialized: bool = True) -> Any:
        """The StableHLO: as text, or as a module where `serialized` is False."""
        return self.program.mlir_module(serialized)

    def has_vjp(self) -> bool:
        """Whether the function can be differentiated."""
        return self._get_vjp is not None

    def vjp(self) -> HoistedExport:
        """The exported derivative: arguments and cotangents of the results to those of arguments.

        Raises ValueError where there is none.
        """
        if self._get_vjp is None:
            raise ValueError("No VJP is available")
        return self._get_vjp(self)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, also while JAX traces or takes derivatives in reverse mode.

        Raises ValueError for arguments of another tree, dtype or shape than exported, for another
        platform or number of devices, and "No VJP is available" for a derivative beyond those
        that were exported.
        """
        flat, in_tree = jax.tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            # Raises, in JAX's words.
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
        """The bytes of the file that `save` writes, with derivatives up to `vjp_order`.

        Raises ValueError where there is no derivative of that order, and for a constant that cannot
        be written: one of which this process holds a part only, or a PRNG key of a generator that
        the user made.
        """
        return bytearray().join(self._pieces(vjp_order))

    def save(self, path: str | os.PathLike, vjp_order: int = 0) -> None:
        """Write a file for `engine.export.load`, with derivatives up to `vjp_order`.

        The file appears under its name when it is complete, and no constant is copied in memory.
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
            # A program that may hoist captures the arrays themselves: each is one constant of it.
            hoists = jax_internals.staged_by_jax() and jax_internals.jax_emits_simplified_jaxprs()
            operands = [constant.value if hoists else constant.operand for constant in self.held]
            return jax_internals.call_exported(program, [*operands, *flat])

        def forward(*flat: Any) -> tuple[list[Any], tuple]:
            return call(*flat), flat

        def backward(flat: tuple, cotangents: Sequence[Any]) -> Any:
            derivative = self.vjp()
            avals = derivative.in_avals[len(flat) :]
            fixed = map(jax_internals.cotangent, cotangents, avals)
            return tuple(derivative.call(*flat, *fixed))

        call.defvjp(forward, backward)
        return call


def _arguments(tree: PyTreeDef) -> tuple[list[PyTreeDef], PyTreeDef]:
    """The structures of positional arguments, one by one, and of keyword arguments.

    A structure is taken apart and never filled: nodes of the user may look at their leaves.
    """
    args, kwargs = treedef_children(_of_default_registry(tree))
    return treedef_children(args), kwargs


def _of_default_registry(tree: PyTreeDef) -> PyTreeDef:
    """The same structure as `jax.tree.structure` makes it: `jax.export` flattens with another."""
    children = [_of_default_registry(child) for child in treedef_children(tree)]
    return node(tree.node_data(), children)


def takes_constants(program: jax.export.Exported, count: int) -> bool:
    """Whether the first argument of a program is a tuple of so many constants."""
    tree: Any = program.in_tree
    children = tree.children()
    args = children[0].children() if children else []
    return len(children) == 2 and bool(args) and args[0] == jax.tree.structure((0,) * count)


def inputs_as_arguments(program: jax.export.Exported) -> jax.export.Exported:
    """Let a program whose positional arguments are `Inputs` take a tuple of constants first."""
    inputs, kwargs = _arguments(program.in_tree)
    in_tree = treedef_tuple((treedef_tuple(inputs), kwargs))
    return dataclasses.replace(program, in_tree=in_tree, _get_vjp=None)
