"""What JAX's functions return, and what the attributes of its objects are, as tables."""

from __future__ import annotations

import re

from parity_tests.lint.kinds.values import Kind, Value, tuple_of
from parity_tests.lint.records import Confidence

JAXPR = Value(Kind.JAXPR)
_PRIVATE = Value(Kind.JAXPR, is_private=True)
_CONSTS = Value(Kind.CONSTS)


# By the last name of a function of JAX.
RESULTS: dict[str, Value] = {
    "make_jaxpr": Value(Kind.MAKER),
    "jit": Value(Kind.JITTED),
    "pjit": Value(Kind.JITTED),
    "pmap": Value(Kind.JITTED),
    "ClosedJaxpr": JAXPR,
    "Jaxpr": JAXPR,
    "JaxprEqn": Value(Kind.EQUATION),
    "new_jaxpr_eqn": Value(Kind.EQUATION),
    "Literal": Value(Kind.ATOM),
    "close_jaxpr": JAXPR,
    "convert_constvars_jaxpr": JAXPR,
    "trace_to_jaxpr_dynamic": tuple_of(_PRIVATE, None, _CONSTS),
    "trace_to_jaxpr_dynamic2": tuple_of(_PRIVATE, None, _CONSTS),
    "trace_to_jaxpr_final": tuple_of(_PRIVATE, None, _CONSTS),
    "trace_to_jaxpr_nounits": tuple_of(_PRIVATE, None, _CONSTS),
    "trace_to_jaxpr": tuple_of(_PRIVATE, None, _CONSTS),
    "dce_jaxpr": tuple_of(JAXPR, None),
}
ANNOTATED: dict[str, Kind] = {
    "ClosedJaxpr": Kind.JAXPR,
    "Jaxpr": Kind.JAXPR,
    "JaxprEqn": Kind.EQUATION,
    "Literal": Kind.ATOM,
    "Var": Kind.ATOM,
    "Atom": Kind.ATOM,
    "Traced": Kind.TRACED,
    "Lowered": Kind.LOWERED,
    "Compiled": Kind.COMPILED,
}
ATTRIBUTES: dict[tuple[Kind, str], Kind] = {
    (Kind.JAXPR, "jaxpr"): Kind.JAXPR,
    (Kind.TRACED, "jaxpr"): Kind.JAXPR,
    (Kind.JAXPR, "eqns"): Kind.EQUATIONS,
    (Kind.JAXPR, "consts"): Kind.CONSTS,
    (Kind.JAXPR, "literals"): Kind.CONSTS,
    (Kind.JAXPR, "constvars"): Kind.CONSTVARS,
    (Kind.JAXPR, "invars"): Kind.INVARS,
    (Kind.JAXPR, "outvars"): Kind.OUTVARS,
    (Kind.EQUATION, "params"): Kind.PARAMS,
    (Kind.EQUATION, "invars"): Kind.ATOMS,
    (Kind.EQUATION, "outvars"): Kind.ATOMS,
}
METHODS: dict[tuple[Kind, str], Kind] = {
    (Kind.JAXPR, "replace"): Kind.JAXPR,
    (Kind.JAXPR, "map_jaxpr"): Kind.JAXPR,
    (Kind.JAXPR, "pretty_print"): Kind.JAXPR_TEXT,
    (Kind.EQUATION, "replace"): Kind.EQUATION,
    (Kind.JITTED, "trace"): Kind.TRACED,
    (Kind.JITTED, "lower"): Kind.LOWERED,
    (Kind.TRACED, "lower"): Kind.LOWERED,
    (Kind.LOWERED, "compile"): Kind.COMPILED,
    (Kind.LOWERED, "as_text"): Kind.MODULE_TEXT,
    (Kind.COMPILED, "as_text"): Kind.MODULE_TEXT,
    (Kind.COMPILED, "memory_analysis"): Kind.ANALYSIS,
    (Kind.COMPILED, "runtime_executable"): Kind.EXECUTABLE,
}
ELEMENTS: dict[Kind, Kind] = {
    Kind.JAXPRS: Kind.JAXPR,
    Kind.EQUATIONS: Kind.EQUATION,
    Kind.ATOMS: Kind.ATOM,
    Kind.INVARS: Kind.ATOM,
    Kind.OUTVARS: Kind.ATOM,
    Kind.CONSTVARS: Kind.ATOM,
}
# The names of attributes and parameters that are jaxprs and equations nearly everywhere.
_NAMED_JAXPR = re.compile(r"(^|_)jaxpr$|^jaxpr_$")
_NAMED_EQUATION = re.compile(r"(^|_)eqn$")
_BODIES = re.compile(r"(^|_)jaxpr(_thunk)?$")


def by_name(name: str) -> Value | None:
    """Return the kind that a name shows where nothing else does."""
    if _NAMED_JAXPR.search(name):
        return Value(Kind.JAXPR, Confidence.MEDIUM)
    if _NAMED_EQUATION.search(name):
        return Value(Kind.EQUATION, Confidence.MEDIUM)
    return None


def body(key: str | None, confidence: Confidence) -> Value | None:
    """Return the kind of what a param of an equation holds, by the key of the param."""
    if key is None:
        return None
    if _BODIES.search(key):
        return Value(Kind.JAXPR, confidence)
    return Value(Kind.JAXPRS, confidence) if key == "branches" else None
