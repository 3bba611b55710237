"""The rules of captured arrays that are written to, donated or guarded."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst
from libcst import metadata

from parity_tests.lint.jitted import Jitted, donated_names, jitted_functions
from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import Module, dotted_tail, keyword_of, text_of
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.rule import rule

_MAKERS = (
    "array", "asarray", "zeros", "ones", "empty", "full", "arange", "linspace", "eye", "identity",
    "zeros_like", "ones_like", "empty_like", "full_like", "copy", "load", "loadtxt", "fromfile",
    "concatenate", "stack", "tile", "repeat", "tri", "tril", "triu", "diag", "random.rand",
    "random.randn", "random.normal", "random.uniform", "random.random", "memmap", "frombuffer",
    "ascontiguousarray",
)  # fmt: skip
_METHODS = ("fill", "sort", "partition", "put", "itemset", "resize", "byteswap", "setfield")
_FUNCTIONS = ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "shuffle",
              "at")  # fmt: skip


@rule(re.compile(r"\bnumpy\b(?s:.*)\bjit\b|\bjit\b(?s:.*)\bnumpy\b"))
def written_arrays(kinds: Kinds) -> Iterator[Match]:
    """CP401: a captured NumPy array is written to.

    A jitted function keeps the value that a captured NumPy array had when it was traced. After the
    flip stock JAX on a CPU may compute in the memory of the array itself, where that is aligned to
    64 bytes: what is written later then changes the results, silently, and not in every run.

        table = np.zeros(1024)
        step = jax.jit(lambda x: x + table)
        step(x)
        table[0] = 1.0    # legacy: never seen; after the flip: seen by chance
        step(x)

    What to do: make the array an argument, if the change is meant to be seen. Otherwise capture a
    copy of its own, `table = jnp.array(table)` before the function (`jnp.asarray` and
    `jax.device_put` may share the memory), or make it read-only, `table.flags.writeable = False`.
    """
    module = kinds.module
    for jitted in jitted_functions(module):
        yield from _of_names(module, jitted)
        yield from _of_attributes(module, jitted)


def _of_names(module: Module, jitted: Jitted) -> Iterator[Match]:
    """Find the writes to arrays that the function refers to by a name of an outer scope."""
    for assignment in captured(module, jitted.function):
        if not is_numpy_array(module, assignment):
            continue
        for access in module.references(assignment):
            if module.is_inside(access, jitted.function) or not _is_written(module, access):
                continue
            confidence = _confidence(module, jitted, access)
            if confidence is not None:
                yield module.match(access, _message(module, assignment.name, jitted), confidence)
        for again in _augmented(module, assignment):
            confidence = _confidence(module, jitted, again)
            if confidence is not None and not module.is_inside(again, jitted.function):
                yield module.match(again, _message(module, assignment.name, jitted), confidence)


def _message(module: Module, name: str, jitted: Jitted) -> str:
    line = module.place(jitted.function).line
    return (
        f"NumPy array {name!r} is written to, and the jitted function of line {line} captures it; "
        "after the flip the function may see what is written"
    )


def captured(module: Module, function: cst.CSTNode) -> list[metadata.Assignment]:
    """Return the assignments outside of a function to names that it reads."""
    found: dict[metadata.Assignment, None] = {}
    for name in module.nodes_in(function, cst.Name):
        for assignment in module.assignments(name):
            is_in_class = isinstance(assignment.scope, metadata.ClassScope)
            if is_in_class or module.is_inside(assignment.node, function):
                continue
            if any(each is name for each in module.references(assignment)):
                found[assignment] = None
    return list(found)


def is_numpy_array(module: Module, assignment: metadata.Assignment) -> bool:
    """Say whether an assignment binds a name to an array that NumPy makes."""
    value = _bound(module, assignment)
    return value is not None and _makes_array(module, value)


def _bound(module: Module, assignment: metadata.Assignment) -> cst.BaseExpression | None:
    """Return what an assignment binds a name to, also in `a, b = 1, 2`; None if not known."""
    target = module.parent(assignment.node)
    places = []
    if isinstance(target, cst.Element) and isinstance(whole := module.parent(target), cst.Tuple):
        places = [whole.elements.index(target)]
        target = module.parent(whole)
    statement = module.parent(target) if isinstance(target, cst.AssignTarget) else target
    if not isinstance(statement, cst.Assign | cst.AnnAssign | cst.NamedExpr):
        return None
    value = statement.value
    for place in places:
        if not isinstance(value, cst.Tuple) or len(value.elements) <= place:
            return None
        value = value.elements[place].value
    return value


def _makes_array(module: Module, value: cst.BaseExpression) -> bool:
    if not isinstance(value, cst.Call):
        return False
    name = module.qualified(value.func)
    if name.removeprefix("numpy.") in _MAKERS and name.startswith("numpy."):
        return True
    # np.zeros(3).astype("float32"), np.arange(6).reshape(2, 3)
    methods = ("astype", "reshape", "copy", "ravel", "flatten", "transpose")
    if not isinstance(value.func, cst.Attribute):
        return False
    method, of = value.func.attr.value, value.func.value
    if method in methods:
        return _makes_array(module, of)
    if not _makes_numbers(module, of):
        return False
    sized = {"random": 1, "standard_normal": 1, "normal": 3, "uniform": 3, "integers": 3}
    return keyword_of(value, "size") is not None or len(value.args) >= sized.get(method, 4)


def _makes_numbers(module: Module, node: cst.BaseExpression) -> bool:
    """Say whether an expression is a generator of NumPy, as `np.random.default_rng(0)`."""
    made = [node]
    if isinstance(node, cst.Name):
        bound = (_bound(module, each) for each in module.assignments(node))
        made = [each for each in bound if each is not None]
    return any(
        isinstance(each, cst.Call)
        and module.qualified(each.func) in ("numpy.random.default_rng", "numpy.random.RandomState")
        for each in made
    )


def _is_written(module: Module, access: cst.CSTNode) -> bool:
    """Say whether an access writes to the elements of an array."""
    node, parent = access, module.parent(access)
    while isinstance(parent, cst.Subscript | cst.Attribute) and parent.value is node:
        call = module.parent(parent)
        if isinstance(parent, cst.Attribute):
            if isinstance(call, cst.Call) and call.func is parent:
                return parent.attr.value in _METHODS
            if parent.attr.value not in ("T", "flat", "real", "imag"):
                return False
        elif isinstance(call, cst.AssignTarget | cst.AugAssign) and call.target is parent:
            return True
        node, parent = parent, call
    if not isinstance(parent, cst.Arg):
        return False
    if parent.keyword is not None:
        return parent.keyword.value == "out"
    call = module.parent(parent)
    is_first = isinstance(call, cst.Call) and call.args[0] is parent
    return is_first and _writes_first(module, call)


def _writes_first(module: Module, call: cst.CSTNode | None) -> bool:
    if not isinstance(call, cst.Call) or dotted_tail(call.func) not in _FUNCTIONS:
        return False
    name = module.qualified(call.func)
    return name.startswith(("numpy.", "random.")) or dotted_tail(call.func) == "shuffle"


def _augmented(module: Module, assignment: metadata.Assignment) -> Iterator[cst.CSTNode]:
    """Yield the targets of `a += ...`, which writes to an array."""
    for other in assignment.scope.assignments[assignment.name]:
        node = getattr(other, "node", None)
        if isinstance(node, cst.Name) and isinstance(module.parent(node), cst.AugAssign):
            yield node


def _confidence(module: Module, jitted: Jitted, write: cst.CSTNode) -> Confidence | None:
    """Return how sure it is that a write comes after a call; None where it comes before all."""
    own = module.enclosing(write, cst.FunctionDef)
    made_in = module.enclosing(jitted.made, cst.FunctionDef)
    calls = list(jitted.calls(module))
    if own is not made_in:
        return Confidence.MEDIUM
    loops = [each for each in module.around(write) if isinstance(each, cst.For | cst.While)]
    if any(module.is_inside(call, loop) for call in calls for loop in loops):
        return Confidence.HIGH
    if any(module.order(call) < module.order(write) for call in calls):
        return Confidence.HIGH
    return None


# -- arrays of objects -----------------------------------------------------------------------------


def _of_attributes(module: Module, jitted: Jitted) -> Iterator[Match]:
    """Find the writes to arrays that the function reads as attributes of self."""
    owner = module.enclosing(jitted.made, cst.ClassDef)
    if owner is None:
        return
    own = module.nodes_in(owner, cst.Attribute)
    own = [each for each in own if isinstance(each.value, cst.Name) and each.value.value == "self"]
    read = {each.attr.value for each in own if module.is_inside(each, jitted.function)}
    made = {
        each.attr.value
        for each in own
        if isinstance(target := module.parent(each), cst.AssignTarget)
        and isinstance(assign := module.parent(target), cst.Assign)
        and _makes_array(module, assign.value)
    }
    for each in own:
        name = each.attr.value
        if name not in read & made or module.is_inside(each, jitted.function):
            continue
        function = module.enclosing(each, cst.FunctionDef)
        is_before = function is not None and function.name.value == "__init__"
        if not is_before and _is_written(module, each):
            message = _message(module, f"self.{name}", jitted)
            yield module.match(each, message, Confidence.MEDIUM)


@rule(re.compile(r"\bdonate_arg"))
def donated_arrays(kinds: Kinds) -> Iterator[Match]:
    """CP402: a captured array is donated.

    A jitted function refers to an array of an outer scope, and the same array is passed in a
    donated place. Today the captured value is part of the program. After the flip the same buffer
    would be passed twice, once donated, and XLA refuses the call: "attempt to donate a buffer which
    is also used by the same call".

        step = jax.jit(lambda state: state + table, donate_argnums=0)
        step(table)

    What to do: capture a copy, `jnp.array(table)`, or do not donate that argument.
    """
    module = kinds.module
    for jitted in jitted_functions(module):
        numbers, names = donated_names(jitted)
        for call in jitted.calls(module) if numbers or names else ():
            for arg in _donated(call, jitted, numbers, names):
                if isinstance(arg.value, cst.Name) and _captures(module, jitted, arg.value):
                    message = (
                        f"{arg.value.value!r} is donated to a function that captures it; after the "
                        "flip XLA refuses the call"
                    )
                    yield module.match(arg.value, message, Confidence.HIGH)


def _donated(
    call: cst.Call, jitted: Jitted, numbers: frozenset[int], names: frozenset[str]
) -> Iterator[cst.Arg]:
    parameters = [each.name.value for each in jitted.function.params.params]
    by_number = {parameters[number] for number in numbers if number < len(parameters)}
    for place, arg in enumerate(call.args):
        if arg.star:
            return
        if arg.keyword is not None:
            is_donated = arg.keyword.value in names | by_number
        else:
            is_donated = place in numbers or (
                place < len(parameters) and parameters[place] in names
            )
        if is_donated:
            yield arg


def _captures(module: Module, jitted: Jitted, name: cst.Name) -> bool:
    """Say whether a function reads the same variable as `name` does."""
    return any(
        module.is_inside(reference, jitted.function)
        for assignment in module.assignments(name)
        for reference in module.references(assignment)
    )


_GUARDS = ("jax_transfer_guard", "jax_transfer_guard_host_to_device")
_FORBIDS = ("disallow", "disallow_explicit")


@rule(re.compile(r"\btransfer_guard|\bjax_transfer_guard"))
def guarded_arrays(kinds: Kinds) -> Iterator[Match]:
    """CP403: a NumPy array is captured under a transfer guard.

    A jitted function captures a NumPy array, and a transfer guard forbids implicit transfers from
    the host. Today the value is part of the program. After the flip stock JAX transfers the array
    when the function is first called, and the guard stops that: "Disallowed host-to-device
    transfer".

        table = np.zeros(1024)
        step = jax.jit(lambda x: x + table)
        with jax.transfer_guard("disallow"):
            step(x)

    What to do: capture an array that is on the device, `table = jax.device_put(table)`, made before
    the function is called under the guard. Arrays of at most 32 bytes are inlined in both forms.
    """
    module = kinds.module
    everywhere = any(_is_set_everywhere(call) for call in module.nodes(cst.Call))
    guarded = [each for each in module.nodes(cst.With) if _guards(module, each)]
    for jitted in jitted_functions(module):
        if everywhere or any(
            module.is_inside(call, block.body) for call in jitted.calls(module) for block in guarded
        ):
            yield from _of_function(module, jitted)


def _of_function(module: Module, jitted: Jitted) -> Iterator[Match]:
    for assignment in captured(module, jitted.function):
        reads = (
            each
            for each in module.references(assignment)
            if module.is_inside(each, jitted.function)
        )
        if is_numpy_array(module, assignment) and (first := next(reads, None)):
            message = (
                f"NumPy array {assignment.name!r} is captured, and a transfer guard forbids that "
                "JAX transfers it when it is called, as it does after the flip"
            )
            yield module.match(first, message, Confidence.HIGH)


def _is_set_everywhere(call: cst.Call) -> bool:
    """Say whether a call is `jax.config.update("jax_transfer_guard", "disallow")` or its like."""
    return (
        dotted_tail(call.func) == "update"
        and len(call.args) == 2
        and text_of(call.args[0].value) in _GUARDS
        and text_of(call.args[1].value) in _FORBIDS
    )


def _guards(module: Module, block: cst.With) -> bool:
    calls = [each.item for each in block.items if isinstance(each.item, cst.Call)]
    return any(
        module.qualified(call.func).replace("jax.", "jax_") in _GUARDS
        and call.args
        and text_of(call.args[0].value) in _FORBIDS
        for call in calls
    )
