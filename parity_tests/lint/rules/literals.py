"""The rules of captured arrays as Literals."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.jitted import functions_named
from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import Module, dotted_tail, is_called, text_of
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.rule import rule

_SCALAR = ("float", "int", "bool", "complex", "hash", "round")
_NUMBER = ("float", "int", "bool", "complex", "Number", "Scalar")
_OF_SCALARS = re.compile(
    r"^\s+(def shape\(self\).*:\s+return|(self\.)?shape =) \(\)$", re.MULTILINE
)
_SHAPE = re.compile(r"\b(shape|ndim|size|isscalar|item_size|is_scalar)\b")


@rule(re.compile(r"\.val\b"))
def literal_as_scalar(kinds: Kinds) -> Iterator[Match]:
    """CP104: the value of a Literal is used as a scalar.

    Today a Literal holds a scalar. After the flip it may hold any captured array.
    `float(atom.val)`, `atom.val == 0` in a condition, `hash(atom.val)` and `atom.val.item()` then
    raise, or decide by one element. So does code that raises unless a value is of certain classes,
    without `jax.Array`, and code that takes it as it is, but converts that of a constvar.

        env[v] = np.asarray(c)                                   # for each constvar
        return v.val if isinstance(v, Literal) else env[v]       # a jax.Array after the flip

    What to do: ask for the shape first, `if atom.aval.shape == ():`, and treat other Literals as
    the values of constvars. An interpreter that converts neither works in both forms and is not
    reported.
    """
    module = kinds.module
    converted = _converted_constvars(kinds)
    refused: set[cst.If] = set()
    for node in module.nodes(cst.Attribute):
        if node.attr.value != "val":
            continue
        value = kinds.of(node.value)
        if value is None or value.kind is not Kind.ATOM:
            continue
        for use in _held(module, node):
            how = "" if _asks_for_shape(kinds, use) else _as_scalar(kinds, use)
            branch = _refusal(module, use)
            if branch is not None and branch not in refused:
                refused.add(branch)
                how = "a Literal's value that has none of these classes is refused"
            elif converted is not None and _is_taken_as_it_is(module, use):
                line = module.place(converted).line
                how = f"a Literal's value is not converted, as those of constvars in line {line}"
            # An assertion is about a program whose Literals are known.
            if how and module.enclosing(use, cst.Assert) is None:
                message = f"{how}; after the flip a Literal may hold a captured array of any shape"
                yield module.match(use, message, min(value.confidence, Confidence.HIGH))


def _held(module: Module, node: cst.Attribute) -> Iterator[cst.BaseExpression]:
    """Yield a value, and where a name is read that holds nothing else."""
    yield node
    assign = module.parent(node)
    name: cst.CSTNode | None = None
    if isinstance(assign, cst.Assign):
        name = assign.targets[0].target
    elif isinstance(assign, cst.NamedExpr):
        yield assign
        name = assign.target
    if isinstance(name, cst.Name) and len(module.assignments(name)) == 1:
        yield from (each for each in module.accesses(name) if isinstance(each, cst.Name))


def _converted_constvars(kinds: Kinds) -> cst.Call | None:
    """Return the first call that converts the value of a constvar, as `env[v] = asarray(c)`."""
    module = kinds.module
    for node, _ in kinds.attributes(Kind.CONSTVARS, "constvars"):
        pairs = module.call_with(node)
        loop = module.parent(pairs) if is_called(pairs, "zip", "safe_zip") else None
        names = loop.target if isinstance(loop, cst.For) else None
        if not isinstance(names, cst.Tuple) or len(names.elements) != 2:
            continue
        variable, value = (each.value for each in names.elements)
        for access in module.accesses(value):
            call = module.call_with(access)
            assign = module.parent(call) if call is not None else None
            if isinstance(assign, cst.Assign) and any(
                module.is_inside(each, assign.targets[0]) for each in module.accesses(variable)
            ):
                return call
    return None


def _is_taken_as_it_is(module: Module, node: cst.CSTNode) -> bool:
    """Say whether a value is what a function returns, or an operand, perhaps for Literals alone."""
    above = module.parent(node)
    if isinstance(above, cst.IfExp) and above.test is not node:
        above = module.parent(above)
        if isinstance(above, cst.ListComp | cst.GeneratorExp):
            return True
    return isinstance(above, cst.Return | cst.Lambda)


_ARRAY = re.compile(r"\b(Array|ArrayImpl|ArrayLike|hasattr)\b|\b(jnp|jax\.numpy)\.ndarray\b")


def _refusal(module: Module, use: cst.CSTNode) -> cst.If | None:
    """Return the last branch of an `if` that raises unless a value is of certain classes.

    The function asks nowhere for `jax.Array`.
    """
    call = module.call_with(use)
    if not is_called(call, "isinstance") or call.args[0].value is not use:
        return None
    branch, function = module.enclosing(call, cst.If), module.enclosing(call, cst.FunctionDef)
    if branch is None or not module.is_inside(call, branch.test):
        return None
    if function is not None and _ARRAY.search(module.code(function.body)):
        return None
    if isinstance(branch.test, cst.UnaryOperation):
        return branch if _raises(branch.body) else None
    while isinstance(branch.orelse, cst.If):
        branch = branch.orelse
    if branch.orelse is not None:
        return branch if _raises(branch.orelse.body) else None
    return branch if _raises(_after(module, branch)) else None


def _after(module: Module, branch: cst.If) -> cst.CSTNode | None:
    """Return the statement after an `if`, with all its branches."""
    outer, block = branch, module.parent(branch)
    while isinstance(block, cst.If):
        outer, block = block, module.parent(block)
    body = block.body if isinstance(block, cst.IndentedBlock) else ()
    place = next((number for number, each in enumerate(body) if each is outer), len(body))
    return body[place + 1] if place + 1 < len(body) else None


def _raises(block: cst.CSTNode | None) -> bool:
    """Say whether a block, or a statement, raises in each case."""
    lines = block.body if isinstance(block, cst.IndentedBlock) else (block,)
    return any(
        isinstance(each, cst.Raise)
        for line in lines
        if isinstance(line, cst.SimpleStatementLine | cst.SimpleStatementSuite)
        for each in line.body
    )


def _as_scalar(kinds: Kinds, node: cst.BaseExpression) -> str:
    parent, call = kinds.module.parent(node), kinds.module.call_with(node)
    if is_called(call, *_SCALAR):
        return f"{dotted_tail(call.func)}() of a Literal's value"
    if call is not None and _takes_scalar(kinds.module, call, parent):
        return f"a Literal's value is given to {dotted_tail(call.func)}, which takes a scalar"
    if isinstance(parent, cst.Attribute) and parent.attr.value in ("item", "__hash__"):
        return f".{parent.attr.value}() of a Literal's value"
    if isinstance(parent, cst.Comparison | cst.ComparisonTarget) and not _is_identity(kinds, node):
        return "a Literal's value is compared as a scalar"
    if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
        return "a Literal's value is taken for true or false"
    if isinstance(parent, cst.If | cst.While | cst.IfExp) and parent.test is node:
        return "a Literal's value is taken for true or false"
    is_hashed = _is_key(kinds.module, node) or _is_in_hashed_tuple(kinds.module, node)
    return "a Literal's value is hashed" if is_hashed else ""


def _takes_scalar(module: Module, call: cst.Call, arg: cst.CSTNode | None) -> bool:
    """Say whether a call gives an argument to a function or a class of the file that takes scalars.

    A parameter or a field says so by its annotation, and a class by its shape, which is ().
    """
    if not isinstance(arg, cst.Arg) or not isinstance(call.func, cst.Name):
        return False
    place, keyword = call.args.index(arg), arg.keyword.value if arg.keyword else ""
    for assignment in module.assignments(call.func):
        taker = assignment.node
        if isinstance(taker, cst.ClassDef) and _OF_SCALARS.search(module.code(taker)):
            return True
        for number, (name, annotation) in enumerate(_annotated(module, taker)):
            is_given = name == keyword if keyword else number == place
            if is_given and annotation is not None:
                return dotted_tail(annotation.annotation) in _NUMBER
    return False


def _annotated(module: Module, taker: cst.CSTNode) -> Iterator[tuple[str, cst.Annotation | None]]:
    """Yield the parameters of a function, or the fields of a class, in order."""
    if isinstance(taker, cst.FunctionDef):
        yield from ((each.name.value, each.annotation) for each in taker.params.params)
    elif isinstance(taker, cst.ClassDef):
        for field in module.nodes_in(taker, cst.AnnAssign):
            if module.enclosing(field, cst.ClassDef, cst.FunctionDef) is taker:
                yield dotted_tail(field.target), field.annotation


def _is_in_hashed_tuple(module: Module, node: cst.CSTNode) -> bool:
    """Say whether `hash` takes a tuple with a value, as `hash(tuple(v.val for v in vs))`."""
    inner = node
    for outer in module.around(node):
        if is_called(outer, "hash"):
            return True
        is_element = isinstance(outer, cst.GeneratorExp) and outer.elt is inner
        parts = cst.Element | cst.Tuple | cst.Arg | cst.IfExp
        if not (is_element or isinstance(outer, parts) or is_called(outer, "tuple")):
            return False
        inner = outer
    return False


def _is_identity(kinds: Kinds, node: cst.BaseExpression) -> bool:
    comparison = kinds.module.enclosing(node, cst.Comparison)
    operators = comparison.comparisons if comparison is not None else ()
    return all(isinstance(each.operator, cst.Is | cst.IsNot) for each in operators)


def _asks_for_shape(kinds: Kinds, node: cst.BaseExpression) -> bool:
    """Say whether the function asks for a shape, or for the class of this value."""
    function = kinds.module.enclosing(node, cst.FunctionDef, cst.Lambda)
    code = kinds.module.code(function) if function is not None else ""
    asks = f"isinstance({kinds.module.code(node)}, "
    return asks in code or _SHAPE.search(code) is not None


@rule(re.compile(r"\bLiteral\b"))
def literal_decides(kinds: Kinds) -> Iterator[Match]:
    """CP105: a decision by which operands are Literals.

    Code that asks whether all or certain operands of an equation are Literals finds scalars today.
    After the flip captured arrays are Literals, too: an equation such as `x * table`, with two
    variables today, then matches a pattern for a variable and a number, and work on captured arrays
    alone counts as work on Literals.

        if tuple(map(type, eqn.invars)) == (Var, Literal): ...   # also `x * table` after the flip

    What to do: say what is meant. For numbers ask `atom.aval.shape == ()` as well; for values that
    are known let constvars and Literals pass alike.
    """
    module = kinds.module
    for call in module.nodes(cst.Call):
        if dotted_tail(call.func) in ("all", "any") and len(call.args) == 1:
            asked = _asked_of_each(kinds, call.args[0].value)
            if asked is not None:
                message = (
                    f"{dotted_tail(call.func)}() asks whether operands are Literals; "
                    "after the flip captured arrays are"
                )
                yield module.match(call, message, asked)
    for comparison in module.nodes(cst.Comparison):
        confidence = _compares_types(kinds, comparison)
        if confidence is not None:
            yield module.match(
                comparison,
                "the types of operands are compared; after the flip captured arrays are Literals",
                confidence,
            )


def _asked_of_each(kinds: Kinds, node: cst.BaseExpression) -> Confidence | None:
    if not isinstance(node, cst.GeneratorExp | cst.ListComp):
        return None
    test = node.elt
    if isinstance(test, cst.UnaryOperation):
        return None  # "not a Literal": asks for variables, as any reader does
    if not isinstance(test, cst.Call) or dotted_tail(test.func) != "isinstance":
        return None
    if len(test.args) != 2 or not _is_literal(kinds, test.args[1].value):
        return None
    source = kinds.of(node.for_in.iter)
    return source.confidence if source is not None and source.kind is Kind.ATOMS else None


def _compares_types(kinds: Kinds, node: cst.Comparison) -> Confidence | None:
    sides = [node.left, *(each.comparator for each in node.comparisons)]
    if not any(_has_literal(kinds, side) for side in sides):
        return None
    for call in (each for each in sides if isinstance(each, cst.Call)):
        inner = call.args[0].value if call.args else None
        if is_called(inner, "map") and len(inner.args) == 2:
            source = kinds.of(inner.args[1].value)
            if source is not None and source.kind is Kind.ATOMS:
                return source.confidence
    return None


def _has_literal(kinds: Kinds, node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Tuple | cst.List) and any(
        _is_literal(kinds, each.value) for each in node.elements
    )


def _is_literal(kinds: Kinds, node: cst.BaseExpression) -> bool:
    return kinds.module.last_name(node) == "Literal" and kinds.is_jax_class(node)


@rule(re.compile(r"\.outvars\b"))
def outvars_looked_up(kinds: Kinds) -> Iterator[Match]:
    """CP106: output variables are looked up without asking for Literals.

    An output of a jaxpr is a Literal where the function returns a constant: today that is a scalar,
    and rare. After the flip it is each captured array that is returned. A Literal is in no
    environment and cannot be hashed, so `[env[v] for v in jaxpr.outvars]` raises TypeError, as do
    `set(jaxpr.outvars)`, `dict.fromkeys(jaxpr.outvars)` and `{v: ... for v in jaxpr.outvars}`.

    What to do: read outputs as operands are read.

        def read(atom):
            return atom.val if isinstance(atom, jax.extend.core.Literal) else env[atom]

        outputs = [read(v) for v in jaxpr.outvars]

    Asking whether operands are Literals says nothing of outputs. Where an output itself is asked,
    `[v for v in jaxpr.outvars if isinstance(v, Var)]`, its function is not reported.
    """
    module = kinds.module
    outputs = list(kinds.attributes(Kind.OUTVARS, "outvars"))
    asking = {_outermost(module, node) for node, _ in outputs if _are_asked(module, node)}
    for node, value in outputs:
        if _outermost(module, node) in asking:
            continue
        where = _looked_up(module, node)
        if where is not None:
            message = "outputs are looked up as variables; after the flip a returned captured array"
            # A program that returns a captured array as it is, is needed as well.
            at_most = min(value.confidence, Confidence.MEDIUM)
            yield module.match(where, f"{message} is a Literal", at_most)


def _outermost(module: Module, node: cst.CSTNode) -> cst.CSTNode:
    """Return the outermost function around a node; the module where there is none."""
    functions = [each for each in module.around(node) if isinstance(each, cst.FunctionDef)]
    return functions[-1] if functions else module.root


def _are_asked(module: Module, outvars: cst.CSTNode) -> bool:
    """Say whether the elements of outvars are asked one by one whether they are Literals."""
    return any(
        _is_question(module, access)
        for name in _names_of_each(module, outvars)
        for access in module.accesses(name)
    )


_PREDICATE = re.compile(r"(^|_)is_?(a_)?(literal|var|constant|const)", re.IGNORECASE)


def _is_question(module: Module, access: cst.CSTNode) -> bool:
    """Say whether a use of an atom tells Literals from variables."""
    parent, call = module.parent(access), module.call_with(access)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in ("val", "is_literal")
    if call is None:
        return False
    name = dotted_tail(call.func)
    if name in ("isinstance", "type"):
        return True
    if name in ("hasattr", "getattr"):
        return len(call.args) > 1 and text_of(call.args[1].value) == "val"
    return _PREDICATE.search(name) is not None


def _names_of_each(
    module: Module, node: cst.CSTNode, place: int | None = None, seen: frozenset[str] = frozenset()
) -> Iterator[cst.Name]:
    """Yield the names that loops bind the elements of a sequence to, also after `a = node`.

    `place` is where the element is in what the loop gets: `zip` and `enumerate` make tuples.
    """
    parent = module.parent(node)
    if isinstance(parent, cst.For | cst.CompFor):
        target: cst.BaseExpression = parent.target
        if place is not None and isinstance(target, cst.Tuple | cst.List):
            target = target.elements[place].value if place < len(target.elements) else target
        if isinstance(target, cst.Name):
            yield target
    elif isinstance(parent, cst.Assign):
        for target in (each.target for each in parent.targets):
            if isinstance(target, cst.Name) and target.value not in seen:
                for access in module.accesses(target):
                    yield from _names_of_each(module, access, place, seen | {target.value})
    elif isinstance(parent, cst.BinaryOperation):
        yield from _names_of_each(module, parent, place, seen)
    elif isinstance(parent, cst.StarredElement):
        holder = module.parent(parent)
        if isinstance(holder, cst.List | cst.Tuple):
            yield from _names_of_each(module, holder, place, seen)
    elif isinstance(parent, cst.Arg):
        call = module.parent(parent)
        if is_called(call, "list", "tuple", "chain", "reversed"):
            yield from _names_of_each(module, call, place, seen)
        elif is_called(call, "zip", "safe_zip", "enumerate"):
            number = call.args.index(parent) + (dotted_tail(call.func) == "enumerate")
            yield from _names_of_each(module, call, number, seen)


def _looked_up(module: Module, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return where a dict or set is asked for the elements of outvars, or made of them."""
    for access in _reads_of_each(module, node):
        if _is_key(module, access):
            return access
    parent = module.parent(node)
    if isinstance(parent, cst.Arg):
        return _hashed_by_call(module, parent)
    if isinstance(parent, cst.StarredElement):
        holder = module.parent(parent)
        return holder if isinstance(holder, cst.Set) else None
    return None


def _reads_of_each(module: Module, outvars: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the places that read an element of outvars, also in functions that are given one.

    A function that asks whether it is given a Literal is left out.
    """
    names = list(_names_of_each(module, outvars))
    reads = [access for name in names for access in module.accesses(name)]
    yield from reads
    parameters = [each for read in reads for each in _given_to(module, read)]
    mapped, call = module.parent(outvars), module.call_with(outvars)
    if is_called(call, "map", "safe_map", "unsafe_map"):
        number = call.args.index(mapped) - 1
        parameters += _parameters(module, call.args[0].value, number)
    for parameter in parameters:
        inside = module.accesses(parameter)
        if not any(_is_question(module, each) for each in inside):
            yield from inside


def _given_to(module: Module, access: cst.CSTNode) -> Iterator[cst.Param]:
    """Yield the parameters that get a value which a call of a function of the file is given."""
    call, arg = module.call_with(access), module.parent(access)
    if call is not None and not any(each.star or each.keyword for each in call.args):
        yield from _parameters(module, call.func, call.args.index(arg))


def _parameters(module: Module, function: cst.BaseExpression, number: int) -> Iterator[cst.Param]:
    for found in functions_named(module, function):
        yield from found.params.params[number : number + 1]


def _hashed_by_call(module: Module, arg: cst.Arg) -> cst.CSTNode | None:
    """Return the call that puts outvars into a dict or set, or asks one for them."""
    call = module.parent(arg)
    if not isinstance(call, cst.Call):
        return None
    name, place = dotted_tail(call.func), call.args.index(arg)
    if name in ("set", "frozenset") or module.code(call.func) == "dict.fromkeys":
        return call if place == 0 else None
    if name in ("zip", "safe_zip"):
        made = module.call_with(call) if place == 0 else None
        return made if made is not None and module.code(made.func) == "dict" else None
    if name in ("map", "safe_map"):
        function = call.args[0].value
        if isinstance(function, cst.Attribute) and _is_dict(module, function.value):
            return call
    return None


def _is_key(module: Module, access: cst.CSTNode) -> bool:
    parent, call = module.parent(access), module.call_with(access)
    if isinstance(parent, cst.SetComp):
        return parent.elt is access
    if isinstance(parent, cst.DictComp):
        return parent.key is access
    if isinstance(parent, cst.Index):
        element = module.parent(parent)
        whole = module.parent(element) if element is not None else None
        return isinstance(whole, cst.Subscript) and _is_dict(module, whole.value)
    if is_called(call, "get", "setdefault", "pop") and isinstance(call.func, cst.Attribute):
        return call.args[0].value is access and _is_dict(module, call.func.value)
    return False


def _is_dict(module: Module, node: cst.CSTNode) -> bool:
    """Say whether a name is bound to a dict in this file; other classes may take Literals."""
    if not isinstance(node, cst.Name):
        return False
    for assignment in module.assignments(node):
        above = module.parent(assignment.node)
        statement = module.parent(above) if isinstance(above, cst.AssignTarget) else above
        if _makes_dict(getattr(statement, "value", None)):
            return True
    return False


def _makes_dict(value: cst.CSTNode | None) -> bool:
    if isinstance(value, cst.BinaryOperation):
        return _makes_dict(value.left) or _makes_dict(value.right)
    if isinstance(value, cst.Call):
        return dotted_tail(value.func) in ("dict", "defaultdict")
    return isinstance(value, cst.Dict | cst.DictComp)
