"""The kinds of values that lint tells apart, and what of JAX has which: tables, annotations."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum, auto

import libcst as cst

from parity_tests.lint.module import Module, dotted_tail, text_of
from parity_tests.lint.records import Confidence


class Kind(Enum):
    """What a value is. The plurals are sequences."""

    JAXPR = auto()  # open, closed, or unknown which
    JAXPRS = auto()
    EQUATION = auto()
    EQUATIONS = auto()
    ATOM = auto()
    ATOMS = auto()
    PARAMS = auto()
    CONSTS = auto()
    CONSTVARS = auto()
    INVARS = auto()
    OUTVARS = auto()
    MAKER = auto()  # the result of jax.make_jaxpr
    JITTED = auto()
    TRACED = auto()
    CONVERTED = auto()  # takes the captured arrays of a traced stage as an argument
    LOWERED = auto()
    COMPILED = auto()
    ANALYSIS = auto()  # the result of memory_analysis()
    EXECUTABLE = auto()
    MODULE_TEXT = auto()
    JAXPR_TEXT = auto()
    TUPLE = auto()


@dataclass(frozen=True)
class Value:
    """The kind of a value, and how sure it is.

    `items` are those of a tuple. `is_private` says that private tracing of JAX made the jaxpr,
    `is_open` that it was made with constvars that have no values.
    """

    kind: Kind
    confidence: Confidence = Confidence.HIGH
    items: tuple[Value | None, ...] = ()
    is_private: bool = False
    is_open: bool = False

    def at_most(self, confidence: Confidence) -> Value:
        """Return the value with a confidence that is no higher."""
        return replace(self, confidence=min(self.confidence, confidence))

    def other(self, kind: Kind) -> Value:
        """Return a value of another kind that this one leads to, equally sure."""
        return replace(self, kind=kind, items=())


def tuple_of(*items: Value | None) -> Value:
    """Return a tuple of values; None stands for an item that nothing shows."""
    return Value(Kind.TUPLE, items=items)


def taken_apart(value: Value | None, path: list[int]) -> Value | None:
    """Return the item of nested tuples, or the element of a sequence, at a path of places."""
    for place in path:
        if value is not None and value.kind in ELEMENTS:
            value = value.other(ELEMENTS[value.kind])
            continue
        if value is None or value.kind is not Kind.TUPLE or place >= len(value.items):
            return None
        inner = value.items[place]
        value = inner.at_most(value.confidence) if inner is not None else None
    return value


JAXPR = Value(Kind.JAXPR)
OPEN = Value(Kind.JAXPR, is_open=True)
_PRIVATE = Value(Kind.JAXPR, is_private=True)
_CONSTS = Value(Kind.CONSTS)


# By the last name of a function of JAX.
RESULTS: dict[str, Value] = {
    "make_jaxpr": Value(Kind.MAKER),
    "jit": Value(Kind.JITTED),
    "pjit": Value(Kind.JITTED),
    "pmap": Value(Kind.JITTED),
    "ClosedJaxpr": JAXPR,
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
    (Kind.MODULE_TEXT, "splitlines"): Kind.MODULE_TEXT,
    (Kind.MODULE_TEXT, "split"): Kind.MODULE_TEXT,
    (Kind.COMPILED, "memory_analysis"): Kind.ANALYSIS,
    (Kind.COMPILED, "runtime_executable"): Kind.EXECUTABLE,
}
# Methods of a traced stage that return its captured arrays, and what else.
CONVERTERS = {
    "closure_convert": tuple_of(_CONSTS, Value(Kind.CONVERTED)),
    "with_consts_as_arg": tuple_of(_CONSTS, Value(Kind.TRACED)),
}
ELEMENTS: dict[Kind, Kind] = {
    Kind.JAXPRS: Kind.JAXPR,
    Kind.EQUATIONS: Kind.EQUATION,
    Kind.ATOMS: Kind.ATOM,
    Kind.INVARS: Kind.ATOM,
    Kind.OUTVARS: Kind.ATOM,
    Kind.CONSTVARS: Kind.ATOM,
    Kind.MODULE_TEXT: Kind.MODULE_TEXT,  # a line of it
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


def of_annotation(module: Module, node: cst.CSTNode) -> Value | None:
    """Return the kind that a class stands for; a union or tuple stands for its first one."""
    if isinstance(node, cst.BinaryOperation):
        return of_annotation(module, node.left) or of_annotation(module, node.right)
    if isinstance(node, cst.Tuple):
        found = (of_annotation(module, each.value) for each in node.elements)
        return next((each for each in found if each is not None), None)
    if isinstance(node, cst.Subscript):
        return _of_generic(module, node)
    if (text := text_of(node)) is not None:
        named = (ANNOTATED.get(each.strip().rpartition(".")[2]) for each in text.split("|"))
        kind = next((each for each in named if each is not None), None)
    else:
        kind = ANNOTATED.get(module.last_name(node)) if is_jax_class(module, node) else None
    return Value(kind) if kind is not None else None


def _of_generic(module: Module, node: cst.Subscript) -> Value | None:
    inner = [each.slice.value for each in node.slice if isinstance(each.slice, cst.Index)]
    if not inner:
        return None
    found = next(
        (each for each in (of_annotation(module, each) for each in inner) if each is not None), None
    )
    if found is None or dotted_tail(node.value) in ("Optional", "Union"):
        return found
    if dotted_tail(node.value).lower() in ("list", "sequence", "tuple", "iterable"):
        plural = {each: many for many, each in ELEMENTS.items() if many.name == each.name + "S"}
        return found.other(plural[found.kind]) if found.kind in plural else None
    return None


def is_jax_class(module: Module, node: cst.CSTNode) -> bool:
    """Say whether a class is JAX's; `Literal`, `Var` and the like have namesakes elsewhere."""
    name = module.qualified(node)
    tail = name.rpartition(".")[2]
    if name.startswith(("typing", "typing_extensions", "ast", "libcst")):
        return False
    if tail in ("ClosedJaxpr", "JaxprEqn", "Jaxpr"):
        return bool(name)
    return name.startswith("jax.") or ("jax" in name and ".core." in name) or ".jax" in name
