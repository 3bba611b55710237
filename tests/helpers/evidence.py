"""Reads off a stage object which pipeline made it: proves that the two never mix."""

import re

import engine

_CONSTANT = re.compile(r"stablehlo\.constant .*: tensor<(\d+(?:x\d+)*)x[a-z]+(\d+)>")


def inlined_bytes(text, threshold=32):
    """Bytes of the non-scalar constants above the threshold in the text of a module."""
    total = 0
    for dims, bits in _CONSTANT.findall(text):
        size = int(bits) // 8
        for dim in dims.split("x"):
            size *= int(dim)
        total += size if size > threshold else 0
    return total


def array_literals(closed_jaxpr):
    """Count the Literals with arrays above the threshold in a closed jaxpr and its bodies."""
    bodies = [closed_jaxpr.jaxpr]
    found = 0
    for jaxpr in bodies:
        atoms = [*jaxpr.outvars, *(atom for eqn in jaxpr.eqns for atom in eqn.invars)]
        found += sum(
            isinstance(a, engine.Literal) and engine.is_hoistable(a.val, 32) for a in atoms
        )
        for eqn in jaxpr.eqns:
            bodies += [getattr(b, "jaxpr", b) for b in engine.ir.jaxprs.bodies_of(eqn)]
    return found


def side_shown_by(traced, lowered):
    """Return the side that the stages of a program with captured arrays prove, or "mixture"."""
    shown = (
        bool(array_literals(traced.jaxpr)),
        bool(traced.consts),
        bool(lowered.const_args),
        bool(inlined_bytes(lowered.as_text())),
    )
    return {
        (True, False, True, False): "simplified",
        (False, True, False, True): "legacy",
    }.get(shown, "mixture")
