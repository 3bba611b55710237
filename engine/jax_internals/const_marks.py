"""`jax.const = true` on the arguments of an MLIR module that are const args."""

from __future__ import annotations

from typing import Any

from jax._src.lib.mlir import ir as _ir
from jax._src.lib.mlir.dialects import func as _func
from jax._src.lib.mlir.dialects import hlo as _hlo


def mark_const_args(module: Any, count: int, after: int) -> None:
    """Set `jax.const` on the arguments of main that are const args, and on those they flow to.

    There are `count`, and `after` arguments after them: the user's, and captured references. What
    comes before are dimension variables, tokens, and the const args that JAX hoisted. Idempotent,
    because JAX shares one module among computations that differ in their devices alone. An inner
    function gets its constants as operands of its calls, so following the uses of main's arguments
    finds its const args, at a cost that grows with the uses of constants and not with the size of
    the module.
    """
    if not count:
        return
    functions = _functions(module)
    main = functions["main"]
    with module.context:
        attributes_of = {"main": _argument_attributes(main)}
        before = len(attributes_of["main"]) - count - after
        marked: dict[str, set[int]] = {"main": set(range(before, before + count))}
        # Listed once: to MLIR's bindings each look at `arguments` is a walk of its own. Where main
        # is alone, as in most small programs, there is nothing that they could flow to.
        arguments = {"main": list(main.arguments) if len(functions) > 1 else []}
        pending: list[Any] = arguments["main"][before : before + count]
        while pending:
            for use in pending.pop().uses:
                # By name first: a view of each operation would take as long as all else here.
                if use.owner.name not in (_func.CallOp.OPERATION_NAME, _hlo.WhileOp.OPERATION_NAME):
                    continue
                op, index = use.owner.opview, use.operand_number
                if isinstance(op, _func.CallOp):
                    callee = _symbol(op.callee)
                    if callee not in arguments:
                        arguments[callee], marked[callee] = list(functions[callee].arguments), set()
                    if index not in marked[callee]:
                        marked[callee].add(index)
                        pending.append(arguments[callee][index])
                elif _is_invariant(op, index):
                    pending.extend(region.blocks[0].arguments[index] for region in op.regions)
        true = _ir.BoolAttr.get(True)
        alone = _ir.DictAttr.get({"jax.const": true})
        for name, indices in marked.items():
            attributes = attributes_of.get(name) or _argument_attributes(functions[name])
            for index in indices:
                if len(attributes[index]) == 0:  # nearly all: to look at each takes half as long
                    attributes[index] = alone
                elif "jax.const" not in attributes[index]:
                    named = {a.name: a.attr for a in attributes[index]}
                    attributes[index] = _ir.DictAttr.get(named | {"jax.const": true})
            functions[name].arg_attrs = _ir.ArrayAttr.get(attributes)


def _is_invariant(loop: Any, index: int) -> bool:
    """Whether a stablehlo.while hands its operand on unchanged from one turn to the next."""
    body = loop.regions[1].blocks[0]
    last = list(body.operations)[-1]
    return last.operands[index] == body.arguments[index]


def _functions(module: Any) -> dict[str, Any]:
    functions = (op for op in module.body.operations if isinstance(op, _func.FuncOp))
    return {_symbol(op.sym_name): op for op in functions}


def _symbol(attribute: Any) -> str:
    return attribute.value


def _argument_attributes(function: Any) -> list:
    if "arg_attrs" in function.attributes:
        return list(function.arg_attrs)
    return [_ir.DictAttr.get({}) for _ in function.type.inputs]
