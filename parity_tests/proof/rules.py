"""The rules of primitives: which of their params count, and what a call asks beside its body.

A param that is left out says how derivatives are made, which are programs of their own, what a body
is called, or which operands are constants: bodies are walked with their operands. Every other param
is encoded, one that a later release of JAX adds, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax

from parity_tests.exception_texts import named
from parity_tests.jax_internals import callbacks_of, const_args, lowering_rules
from parity_tests.proof.encodings import digest_of_type, encoded
from parity_tests.proof.functions import kinds_of, may_write
from parity_tests.proof.modules import number_module
from parity_tests.proof.numbers import Number, Numbered, UndecidedError, number

# Primitives that do no more than call their body (jax 0.8 to 0.12.0.1).
PLAIN_CALLS = frozenset(
    {
        "jit", "closed_call", "call", "eval_jaxpr", "custom_jvp_call", "custom_vjp_call",
        "custom_vmap_call",
    }
)  # fmt: skip
_LEFT_OUT: dict[str, str] = {
    "jit": "name jaxpr inline keep_unused",
    "closed_call": "call_jaxpr",
    "call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr jvp_jaxpr_fun num_consts symbolic_zeros",
    "custom_vjp_call": "call_jaxpr fwd_jaxpr_thunk bwd out_trees num_consts symbolic_zeros",
    "custom_vmap_call": "call rule in_tree out_tree",
    "checkpoint": "jaxpr policy",
    "remat2": "jaxpr policy",
    "composite": "call_jaxpr jaxpr",
    "xla_metadata_call": "jaxpr",
    "reduce": "computation",
    "shard_map": "jaxpr in_specs out_specs",
    "scan": "jaxpr num_consts num_carry ft_in ft_out linear",
    "while": "cond_jaxpr body_jaxpr cond_nconsts body_nconsts",
    "cond": "branches",
    "custom_linear_solve": "jaxprs const_lengths",
    "pallas_call": "name debug",
    "mpmd_map": "name debug",
}
LEFT_OUT = {name: frozenset(params.split()) for name, params in _LEFT_OUT.items()}

# Bodies that say how two elements are combined, with their constants.
COMBINES = frozenset(
    {
        "reduce", "reduce_window", "scatter", "scatter-add", "scatter-max", "scatter-min",
        "scatter-mul", "scatter-sub", "select_and_scatter",
    }
)  # fmt: skip
COMBINING = {
    "update_jaxpr": "update_consts",
    "select_jaxpr": "select_consts",
    "scatter_jaxpr": "scatter_consts",
    "jaxpr": "consts",
}
# Primitives of one object, which has all that they say and what they expand to.
OF_ONE_OBJECT = frozenset({"call_hi_primitive"})


_jit = jax.jit  # a program may put another function in its place


def lowered_alone(equation: Any) -> Numbered:
    """Return the numbers of what JAX lowers an equation to by itself, on all platforms.

    Of a primitive that is not JAX's, name and params need not say what it does; its modules do, one
    for each platform that has a rule of its own, and one for the others. Raises `UndecidedError`.
    """
    primitive = equation.primitive
    what = f"the primitive {primitive.name}, which is not JAX's and"
    ruled = {platform or "" for platform, rules in lowering_rules() if primitive in rules}
    platforms = sorted(ruled - {""})
    if platforms and "" in ruled:
        platforms += [each for each in _PLATFORMS if each not in ruled][:1]
    if equation.ctx.cur_abstract_mesh.manual_axes:
        raise UndecidedError(f"{what} may be lowered otherwise in a shard_map")
    with equation.ctx.manager:
        traced = _traced_alone(equation, partial(primitive.bind, **equation.params), what)
        # Rules may raise anything at all, above all where they ask what is around them.
        try:
            modules = [
                traced.lower(lowering_platforms=(each,) if each else None)
                for each in platforms or ("",)
            ]
        except Exception as error:
            raise UndecidedError(f"{what} is not lowered by itself: {named(error)}") from error
    founds = [number_module(each.compiler_ir(), const_args(each)) for each in modules]
    if any(each.callbacks for each in founds):
        founds = list(map(with_functions, founds, modules))
    elif not platforms:
        return founds[0]
    by_platform = zip(platforms or ("",), founds, strict=True)
    parts = [(platform, each.digest, each.functions) for platform, each in by_platform]
    return replace(
        founds[0],
        digest=number(*(part for each in parts for part in each if part)),
        steps=tuple(step for each in founds for step in each.steps),
        writers=sum(each.writers for each in founds),
    )


def with_functions(found: Numbered, lowered: Any) -> Numbered:
    """Return the numbers of a module of stock JAX with the number of the Python functions it calls.

    The module has each function by its place among them. Raises `UndecidedError`.
    """
    called = callbacks_of(lowered)
    functions = number("functions", *map(encoded, called))
    return replace(found, functions=functions, writers=sum(map(may_write, called)))


_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def expanded_alone(equation: Any) -> Any:
    """Return the closed_jaxpr that JAX puts in the place of a primitive of one object.

    Raises `UndecidedError`.
    """
    [primitive] = equation.params.values()

    def expanded(*operands: Any) -> Any:
        return jax.tree.leaves(primitive.expand(*jax.tree.unflatten(primitive.in_tree, operands)))

    what = f"the primitive {type(primitive).__name__} of one object, which"
    own, *others = [each for each in type(primitive).__mro__ if "dce" in vars(each)]
    if others and (own.__module__.partition(".")[0], own.__name__) != ("jax", "RematTraced"):
        raise UndecidedError(f"{what} may become another where results are not used")
    if any(var.aval.is_high for var in equation.outvars):
        raise UndecidedError(f"{what} gives more than arrays")
    with equation.ctx.manager:
        return _traced_alone(equation, expanded, what).jaxpr


def _traced_alone(equation: Any, fun: Callable[..., Any], what: str) -> Any:
    """Trace what an equation does to arrays of the types of its operands, in its context.

    A rule may read the mesh, the axes on which a value varies, and settings.
    """
    inputs, results = ([var.aval for var in each] for each in (equation.invars, equation.outvars))
    if not all(type(aval).__name__ == "ShapedArray" for aval in inputs):
        raise UndecidedError(f"{what} takes more than arrays")
    types = (_type_within(equation.ctx.cur_abstract_mesh, aval) for aval in inputs)
    # Rules may raise anything at all, above all where they ask what is around them.
    try:
        traced = _jit(fun).trace(*types)
    except Exception as error:
        raise UndecidedError(f"{what} is not traced by itself: {named(error)}") from error
    found = traced.jaxpr
    alone = [*map(str, found.in_avals), "->", *map(_of_any_axes, found.out_avals)]
    if alone != [*map(str, inputs), "->", *map(_of_any_axes, results)]:
        raise UndecidedError(f"{what} has other types by itself")
    return traced


def _of_any_axes(aval: Any) -> str:
    """Return the text of a type without the axes on which a value varies.

    A primitive of one object leaves them out of its results, and what it expands to does not.
    """
    return _VARYING.sub("", str(aval))


_VARYING = re.compile(r"\{V:[^{}]*\}")


def _type_within(mesh: Any, aval: Any) -> jax.ShapeDtypeStruct:
    """Return a type as an argument; a captured array has that of its form, by a mesh or by none."""
    placed: dict[str, Any] = {}
    if mesh.manual_axes or mesh.explicit_axes:
        placed["sharding"] = jax.sharding.NamedSharding(mesh, aval.sharding.spec)
        placed["manual_axis_type"] = aval.manual_axis_type
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, **placed)


def params_of(equation: Any, params: Mapping[str, Any] | None = None) -> list[bytes]:
    """Encode the params of an equation that count, and the context that it stands in.

    `params` are others in the place of its own. Raises `UndecidedError`.
    """
    made = [digest_of_type(equation.ctx)]
    if not (params := equation.params if params is None else params):
        return made
    primitive = equation.primitive.name
    if primitive == "inspect_sharding":
        raise UndecidedError("inspect_sharding, which is told what XLA does with captured arrays")
    if params.get("partitioned"):
        raise UndecidedError(f"{primitive} of each part, which captured arrays may decide")
    left_out = LEFT_OUT.get(primitive, frozenset())
    for name, value in sorted(params.items()):
        if name in left_out:
            continue
        try:
            # What a foreign function is told has a width: np.int32(1) is no np.int64(1).
            found = encoded((value, kinds_of(value)) if name == "attributes" else value)
        except (UndecidedError, RecursionError) as error:
            what = "a value that holds itself" if isinstance(error, RecursionError) else error
            raise UndecidedError(f"{what}, the param {name} of {primitive}") from None
        made += name.encode(), found
    return made


# -- what a jit asks -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """What an inner jit asks of its operands and its results, beside the call of its body.

    `whole` is for all of them, `operands` and `results` for each; b"" asks nothing.
    """

    whole: bytes
    operands: Sequence[bytes]
    results: Sequence[bytes]

    def into(self, n: int, value: Number, *, is_constant: bool) -> Number:
        """Return the number of an operand inside of the body.

        In one form a captured array is an operand and in the other it stands in the body, so what
        is asked of all does not count for it.
        """
        asked = (b"" if is_constant else self.whole, self.operands[n])
        return number("into", *asked, value) if any(asked) else value

    def out(self, n: int, value: Number) -> Number:
        """Return the number of a result outside of the body."""
        asked = (self.whole, self.results[n])
        return number("out of", *asked, value) if any(asked) else value


_OF_OPERANDS = ("in_shardings", "in_layouts", "donated_invars")
_OF_RESULTS = ("out_shardings", "out_layouts")
_OF_ALL = ("compiler_options_kvs", "ctx_mesh")
_ASKED = frozenset((*_OF_OPERANDS, *_OF_RESULTS, *_OF_ALL))
_UNSET = ("UnspecifiedValue", "NoneType", "AutoLayoutSingleton")


def asked_by(equation: Any) -> Asked:
    """Return what a call asks beside its body. Raises `UndecidedError` for an unknown param."""
    name, params = equation.primitive.name, equation.params
    if name not in PLAIN_CALLS:
        whole = number(name, *params_of(equation))
        return Asked(whole, [b""] * len(equation.invars), [b""] * len(equation.outvars))
    for unknown in sorted(params.keys() - LEFT_OUT[name] - _ASKED):
        raise UndecidedError(f"the param {unknown} of {name}")
    of_all = [params[each] for each in _OF_ALL if _is_set(params.get(each))]
    if getattr(params.get("inline"), "name", "").startswith("XLA_"):
        of_all.append(params["inline"])  # else JAX inlines it, or leaves that open
    return Asked(
        b"".join(map(encoded, of_all)),
        _columns(params, _OF_OPERANDS, len(equation.invars)),
        _columns(params, _OF_RESULTS, len(equation.outvars)),
    )


def _columns(params: Any, names: Sequence[str], count: int) -> list[bytes]:
    columns = [(name, params[name]) for name in names if any(map(_is_set, params.get(name, ())))]
    return [
        b"".join(encoded((name, each[n])) for name, each in columns if _is_set(each[n]))
        for n in range(count)
    ]


def _is_set(value: Any) -> bool:
    if value is False or value == () or type(value).__name__ in _UNSET:
        return False
    return not (type(value).__name__ == "Mesh" and value.empty)


def check_left_out(equation: Any) -> None:
    """Raise `UndecidedError` for a param of a primitive whose rule looks at bodies alone."""
    for unknown in sorted(set(equation.params) - LEFT_OUT[equation.primitive.name]):
        raise UndecidedError(f"the param {unknown} of {equation.primitive.name}")
