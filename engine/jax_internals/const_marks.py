"""`jax.const = true` on the arguments of an MLIR module that are const args.

JAX marks those of main that it hoisted itself, and the engine's are plain arguments to JAX. Either
may be operands of calls, to which JAX passes no mark on.
"""

from __future__ import annotations

from typing import Any

from jax._src.lib.mlir import ir as _ir
from jax._src.lib.mlir.dialects import func as _func
from jax._src.lib.mlir.dialects import hlo as _hlo


def mark_const_args(module: Any, count: int, after: int) -> None:
    """Set `jax.const` on the const args of main, and on those of inner functions.

    Main has `count` const args to mark, and `after` arguments after them: the user's, and captured
    references. Before them come dimension variables, tokens, and the const args that JAX hoisted.
    Idempotent, because computations that differ in their devices alone share one module in JAX.
    """
    functions = _functions(module)
    with module.context:
        attributes_of_main = _argument_attributes(functions["main"])
        first = len(attributes_of_main) - count - after
        of_jax = [n for n, each in enumerate(attributes_of_main) if "jax.const" in each]
        of_main = {*of_jax, *range(first, first + count)}
        if not of_main:
            return
        true = _ir.BoolAttr.get(True)
        mark_alone = _ir.DictAttr.get({"jax.const": true})
        for name, indices in _indices_of_const_args(functions, of_main).items():
            function = functions[name]
            is_main = name == "main"
            attributes = attributes_of_main if is_main else _argument_attributes(function)
            for index in indices:
                if len(attributes[index]) == 0:  # nearly always, and faster than a look-up by name
                    attributes[index] = mark_alone
                elif "jax.const" not in attributes[index]:
                    named = {a.name: a.attr for a in attributes[index]}
                    attributes[index] = _ir.DictAttr.get(named | {"jax.const": true})
            function.arg_attrs = _ir.ArrayAttr.get(attributes)


_PASS_OPERANDS_ON = (
    _func.CallOp.OPERATION_NAME,
    _hlo.CompositeOp.OPERATION_NAME,
    _hlo.WhileOp.OPERATION_NAME,
)


def _indices_of_const_args(functions: dict[str, Any], of_main: set[int]) -> dict[str, set[int]]:
    """Return the indices of the const args of each function: in main, `of_main`.

    An inner function gets its constants as operands of its calls, so this follows the uses of
    main's const args: the cost grows with the uses of constants, not with the size of the module.
    """
    indices_of = {"main": of_main}
    if len(functions) == 1:  # as in most small programs: no call to follow
        return indices_of
    # Listed once: each look at `arguments` makes MLIR's bindings walk through all of them.
    arguments = {"main": list(functions["main"].arguments)}
    pending = [arguments["main"][index] for index in sorted(of_main)]
    while pending:
        for use in pending.pop().uses:
            # By name first: a view of each operation would take as long as all else here.
            # Of the operation: the view of a composite has the composite's own name.
            if use.owner.operation.name not in _PASS_OPERANDS_ON:
                continue
            op, index = use.owner.opview, use.operand_number
            if not isinstance(op, _hlo.WhileOp):
                callee = _symbol(op.callee if isinstance(op, _func.CallOp) else op.decomposition)
                if callee not in arguments:
                    arguments[callee], indices_of[callee] = list(functions[callee].arguments), set()
                if index not in indices_of[callee]:
                    indices_of[callee].add(index)
                    pending.append(arguments[callee][index])
            elif _is_invariant(op, index):
                pending.extend(region.blocks[0].arguments[index] for region in op.regions)
    return indices_of


def _is_invariant(loop: Any, index: int) -> bool:
    """Say whether each iteration of a stablehlo.while passes an operand on unchanged."""
    body = loop.regions[1].blocks[0]
    last = list(body.operations)[-1]
    return bool(last.operands[index] == body.arguments[index])


def _functions(module: Any) -> dict[str, Any]:
    functions = (op for op in module.body.operations if isinstance(op, _func.FuncOp))
    return {_symbol(op.sym_name): op for op in functions}


def _symbol(attribute: Any) -> str:
    return str(attribute.value)


def _argument_attributes(function: Any) -> list[Any]:
    if "arg_attrs" in function.attributes:
        return list(function.arg_attrs)
    return [_ir.DictAttr.get({}) for _ in function.type.inputs]
