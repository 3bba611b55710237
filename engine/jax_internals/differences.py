"""Where the supported JAX versions differ: a probe of each capability, with the version beside it.

A probe looks for the capability, not for the version number: changes arrive in patch releases, and
pre-releases have them before their number says so. Delete a probe when every supported version has
its capability.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

import jax
from jax._src import config, core, mesh, pjit
from jax._src.export import _export
from jax._src.interpreters import partial_eval as _partial_eval

_HAS_FLAT_TREES = importlib.util.find_spec("jax._src.flattree") is not None

# Jaxpr and ClosedJaxpr, `jaxpr.jaxpr` is the jaxpr: one class since jax 0.11.0, which has a while
# both names. Not taken from `jax.extend.core`, which imports Pallas as well.
BODIES_ARE_OF_ONE_CLASS = not hasattr(core, "ClosedJaxpr") or core.ClosedJaxpr is core.Jaxpr

if typing.TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr as ClosedJaxpr
else:
    ClosedJaxpr = core.Jaxpr if BODIES_ARE_OF_ONE_CLASS else core.ClosedJaxpr


# The number of constants of a scan is its param `num_consts`; since jax 0.11.0 it is the length of
# the first part of the tree `ft_in`.
_FLAT_TREES: Any = importlib.import_module("jax._src.flattree") if _HAS_FLAT_TREES else None


def num_scan_consts(params: Mapping[str, Any]) -> int:
    """Return the number of constants among the operands of a scan."""
    if "ft_in" in params:
        return len(params["ft_in"].unpack()[0])
    return int(params["num_consts"])


def with_scan_consts(params: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Return the params of a scan with `count` more constants, that say so."""
    if "ft_in" not in params:
        return {"num_consts": params["num_consts"] + count}
    consts, carry, xs = params["ft_in"].unpack()
    return {"ft_in": _FLAT_TREES.pack((_FLAT_TREES.nones(count + len(consts)), carry, xs))}


def is_flat_tree(value: Any) -> bool:
    """Say whether a param is one of JAX's trees in flat form, which jax 0.11.0 introduced."""
    return _FLAT_TREES is not None and isinstance(value, _FLAT_TREES.FlatTree)


def is_shape_alone(tree: Any) -> bool:
    """Say whether a flat tree holds nothing but its shape: no values, and no objects of the user.

    Such trees are equal if `==` says so.
    """
    if isinstance(tree, _FLAT_TREES.FTTuple):
        return all(map(is_shape_alone, tree.elts))
    if isinstance(tree, _FLAT_TREES.FTFiltered):
        return is_shape_alone(tree.val.map(lambda either: either.val))
    if isinstance(tree, _FLAT_TREES.FTSingleton):
        return tree.val is None
    return (
        isinstance(tree, _FLAT_TREES.FTPyTree)
        and all(value is None for value in tree.xs)
        and _is_of_builtins(tree.tree)
    )


def _is_of_builtins(tree: Any) -> bool:
    """Say whether a tree's nodes are lists, tuples and None; others may hold the user's objects."""
    node = tree.node_data()  # None for a leaf
    return (node is None or node[0] in (list, tuple, type(None))) and all(
        map(_is_of_builtins, tree.children())
    )


def dead_code_rule(rule: Callable[[list[bool], Any], Any]) -> Callable[..., Any]:
    """Return a rule for dead code as JAX calls it: since jax 0.12.0 with liveness of the inputs.

    `rule` takes which outputs are used, and the equation.
    """
    if "live_ins" in inspect.signature(_partial_eval._default_dce_rule).parameters:
        return lambda used, live, eqn: rule(used, eqn)
    return rule


def traced_fields(source_info: str | None) -> tuple[Any, ...]:
    """Return the last arguments of the constructor of `Traced`: since jax 0.11.1, a place."""
    return (source_info,) if _takes("fun_sourceinfo", jax.stages.Traced.__init__) else ()


@functools.cache  # every trace asks, and `inspect.signature` takes as long as tracing an equation
def _takes(parameter: str, function: Callable[..., Any]) -> bool:
    return parameter in inspect.signature(function).parameters


def holder_of(name: str) -> Any:
    """Return the Config object of a context, which jax 0.11.2 moved from `config` to `mesh`."""
    return getattr(config if hasattr(config, name) else mesh, name)


def is_reference_type(aval: Any) -> bool:
    """Say whether an aval is the type of mutable state; only JAX before 0.11.1 has such avals."""
    return bool(getattr(aval, "has_qdd", False))


# A program that has hijax primitives, but neither arguments nor results of hijax types, is expanded
# before it is called, so that later calls run no Python: since jax 0.12.0. Before, JAX binds it.
EXPANDS_BEFORE_A_CALL = "lower_jaxpr2" in pjit._run_python_pjit.__code__.co_names


def exported_fields() -> dict[str, Any]:
    """Return the fields of an `Exported` that only some versions need.

    Before jax 0.11.1 a flag says that an export has named shardings; since then each has them.
    """
    named = "_has_named_shardings"
    return {named: True} if named in _export.Exported.__dataclass_fields__ else {}
