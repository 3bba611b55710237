"""What JAX's stages hold of a program and have no public name for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def params_of(stage: Any) -> dict[str, Any]:
    """Return the params of jit that a traced stage, or its `lojax`, is lowered with."""
    params: dict[str, Any] = stage._params
    return params


def argument_types_of(lojax: Any) -> list[Any]:
    """Return JAX's type of each argument, as `argument_types` makes them."""
    return list(lojax._meta_tys_flat)


def types_beside(stage: Any) -> tuple[Any, Any]:
    """Return the input and output types, hijax types among them, of a `lojax` or lowered stage."""
    return stage._in_types, stage._out_types


def aval_of(argument: Any) -> Any:
    """Return the aval in an `ArgInfo`, whose public `shape` and `dtype` leave out the rest."""
    return argument._aval


def lowering_of(lowered: Any) -> Any:
    """Return the `Computation` that a lowered stage was made with."""
    return lowered._lowering


def call_params(compiled: Any) -> Any:
    """Return what a compiled stage is called with: its executable, its const args, its trees."""
    return compiled._params


def replace_const_args(compiled: Any, const_args: Sequence[Any]) -> Any:
    """Have a compiled stage pass other const args; return what it is called with from now on."""
    compiled._params = compiled._params._replace(const_args=list(const_args))
    return compiled._params
