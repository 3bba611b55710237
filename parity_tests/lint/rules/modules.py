"""The rules of lowered modules, compiled programs and printed jaxprs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import dotted_tail, is_called, text_of
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.rule import rule

_CONSTANT = re.compile(r"constant|dense<")
_ARGUMENT = re.compile(r"%arg\d|@main\(|parameter\(\d")
_HASHES = ("hash", "md5", "sha256", "sha1")
_SEARCHES = ("find", "count", "index", "rfind", "split", "search", "findall", "finditer", "match",
             "fullmatch", "startswith", "assertIn", "assertNotIn", "assertRegex", "check_count",
             "contains", "sub")  # fmt: skip


@rule(re.compile(r"as_text\("))
def module_text(kinds: Kinds) -> Iterator[Match]:
    """CP501: the text of a module is hashed, or searched for constants or numbered arguments.

    Today captured arrays are constants in a lowered module. After the flip they are arguments of
    its main function, before those of the user, with the attribute `jax.const`. Code that searches
    the text for constants finds fewer, arguments that are named by their number, `%arg0`, are
    others, and two programs that differ in their captured arrays alone have one hash.

    What to do: look for a captured array among constants and arguments alike, count the arguments
    without `jax.const = true`, and hash captured arrays beside the text. A function, or a statement
    outside of all functions, that looks for `jax.const` as well is not reported.
    """
    module = kinds.module
    for text in module.nodes(cst.SimpleString, cst.ConcatenatedString):
        content = text_of(text)
        if content is None or not (_CONSTANT.search(content) or _ARGUMENT.search(content)):
            continue
        confidence = _searched(kinds, text)
        if confidence is None or _looks_for_const_args(kinds, text):
            continue
        what = (
            "constants; after the flip captured arrays are arguments"
            if _CONSTANT.search(content)
            else "numbered arguments; after the flip captured arrays come before them"
        )
        yield module.match(text, f"the text of a module is searched for {what}", confidence)
    for call in module.nodes(cst.Call):
        if dotted_tail(call.func) not in _HASHES or not call.args:
            continue
        confidence = _best(kinds, [_stripped(call.args[0].value)])
        if confidence is not None and not _looks_for_const_args(kinds, call):
            message = "the text of a module is hashed; after the flip captured arrays are not in it"
            yield module.match(call, message, confidence)


def _looks_for_const_args(kinds: Kinds, text: cst.CSTNode) -> bool:
    module = kinds.module
    around = module.enclosing(text, cst.FunctionDef) or module.enclosing(
        text, cst.SimpleStatementLine
    )
    return around is not None and "jax.const" in module.code(around)


def _searched(kinds: Kinds, text: cst.CSTNode) -> Confidence | None:
    """Return how sure it is that a text is searched for in that of a module; None if it is not."""
    above = kinds.module.parent(text)
    if isinstance(above, cst.Comparison):
        return _best(kinds, [each.comparator for each in above.comparisons])
    call = kinds.module.call_with(text)
    if not is_called(call, *_SEARCHES):
        return None
    others: list[cst.BaseExpression] = [each.value for each in call.args]
    if isinstance(call.func, cst.Attribute):
        others.append(call.func.value)
    return _best(kinds, others)


def _best(kinds: Kinds, nodes: list[cst.BaseExpression]) -> Confidence | None:
    found = [kinds.of(node) for node in nodes]
    return max(
        (each.confidence for each in found if each and each.kind is Kind.MODULE_TEXT), default=None
    )


_CALLS = ("execute", "execute_sharded", "execute_sharded_on_local_devices")


@rule(re.compile(r"runtime_executable"))
def raw_executable(kinds: Kinds) -> Iterator[Match]:
    """CP502: a raw executable is called.

    `compiled.runtime_executable()` is XLA's own executable. After the flip its first arguments are
    the captured arrays, which the compiled stage passes by itself. Whoever calls `execute` with the
    user's arguments alone passes too few.

    What to do: call the compiled stage, `compiled(x)`.
    """
    module = kinds.module
    for call in module.nodes(cst.Call):
        function = call.func
        if not isinstance(function, cst.Attribute) or function.attr.value not in _CALLS:
            continue
        value = kinds.of(function.value)
        if value is not None and value.kind is Kind.EXECUTABLE:
            confidence = value.confidence
        elif _is_made_here(function.value):
            confidence = Confidence.MEDIUM
        else:
            continue
        message = "a raw executable is called; after the flip it takes captured arrays as well"
        yield module.match(call, message, confidence)


def _is_made_here(node: cst.BaseExpression) -> bool:
    return is_called(node, "runtime_executable") and isinstance(node.func, cst.Attribute)


@rule(re.compile(r"\.in_avals\b"))
def lowered_in_avals(kinds: Kinds) -> Iterator[Match]:
    """CP503: `in_avals` of a lowered stage.

    `jax.jit(f).lower(x).in_avals` counts the types of captured arrays among those of the arguments
    after the flip, and raises ValueError where a program captures an array ("Too many leaves for
    PyTreeDef"); seen on JAX 0.10.2 and 0.12.0.1.

    What to do: read `lowered.args_info`, which has the types of the arguments in both forms, or
    `in_avals` of the compiled or the traced stage.
    """
    module = kinds.module
    for node in module.nodes(cst.Attribute):
        value = kinds.of(node.value) if node.attr.value == "in_avals" else None
        if value is not None and value.kind is Kind.LOWERED:
            message = "`in_avals` of a lowered stage raises after the flip if an array is captured"
            yield module.match(node, message, value.confidence)


_SIZES = ("argument_size_in_bytes", "generated_code_size_in_bytes")


@rule(re.compile(r"argument_size_in_bytes|generated_code_size_in_bytes"))
def memory_analysis(kinds: Kinds) -> Iterator[Match]:
    """CP504: a size that captured arrays count in.

    Today captured arrays are part of the code of a compiled program. After the flip they are
    arguments of it, so `memory_analysis().argument_size_in_bytes` grows by their bytes, once for
    each use in the outermost program, and `generated_code_size_in_bytes` shrinks.

    What to do: expect other figures, or count captured arrays separately. A limit that is compared
    with one of them may be crossed by the flip alone.
    """
    module = kinds.module
    for node in module.nodes(cst.Attribute):
        if node.attr.value not in _SIZES:
            continue
        value = kinds.of(node.value)
        is_analysis = value is not None and value.kind is Kind.ANALYSIS
        message = f"{node.attr.value} is read; after the flip captured arrays count as arguments"
        yield module.match(node, message, Confidence.HIGH if is_analysis else Confidence.MEDIUM)


_COMPARERS = ("assertEqual", "assertMultiLineEqual", "assertExpectedInline", "assert_equal")


@rule(re.compile(r"jaxpr"))
def jaxpr_text(kinds: Kinds) -> Iterator[Match]:
    """CP505: the text of a jaxpr is compared, or is a key.

    A printed jaxpr has captured arrays as variables before the semicolon today, and as `[...]` in
    the place of operands after the flip; all other variables have other letters then. A text that
    was kept is not equal any more, and a hash of it is another one. Programs that differ in their
    captured arrays alone have one text, and after the flip no `.consts` that tell them apart.

    What to do: keep one expected text for each form, compare equations and not texts, add the
    values of Literals to a key, or search for the name of a primitive, which stays; searching is
    not reported.
    """
    module = kinds.module
    message = (
        "the text of a jaxpr is compared; captured arrays are printed otherwise after the flip"
    )
    for node in module.nodes(cst.Comparison):
        if all(isinstance(each.operator, cst.Equal | cst.NotEqual) for each in node.comparisons):
            sides = [node.left, *(each.comparator for each in node.comparisons)]
            yield from _texts(kinds, node, sides, message)
    for call in module.nodes(cst.Call):
        if dotted_tail(call.func) in (*_COMPARERS, *_HASHES):
            yield from _texts(kinds, call, [each.value for each in call.args], message)
    message = (
        "the text of a jaxpr is a key; after the flip no `.consts` beside it tell programs apart"
    )
    for index in module.nodes(cst.Index):
        yield from _texts(kinds, index.value, [index.value], message)
    for call in module.nodes(cst.Call):
        if is_called(call, "get", "setdefault", "pop") and isinstance(call.func, cst.Attribute):
            yield from _texts(kinds, call, [each.value for each in call.args[:1]], message)


def _texts(
    kinds: Kinds, node: cst.CSTNode, sides: list[cst.BaseExpression], message: str
) -> Iterator[Match]:
    found = [kinds.of(_stripped(side)) for side in sides]
    texts = [each for each in found if each is not None and each.kind is Kind.JAXPR_TEXT]
    # Two jaxprs of one process are printed in the same form.
    if texts and (len(texts) < 2 or len(texts) < len(sides)):
        yield kinds.module.match(node, message, min(each.confidence for each in texts))


def _stripped(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the text that .strip() and .encode() are called on."""
    while (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in ("strip", "rstrip", "lstrip", "encode", "replace")
    ):
        node = node.func.value
    return node
