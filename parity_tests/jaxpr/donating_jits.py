"""Donating jits: the jit equations of a trace that donate arguments where a user calls the program.

A program that nobody jits is traced within a jit of the tester's, and JAX drops what a jit within
another one donates. Its user calls it as it is, and then each of its outermost jits donates: a
`jax.jit` within a lambda, `jax.vmap` or `flax.nnx.jit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from parity_tests.jaxpr.bodies import Call, inner, structure_of
from parity_tests.jaxpr.captured import unwrapped
from parity_tests.jaxpr.interpreter import Domain, evaluate
from parity_tests.jaxpr.source_places import kind_of_file


@dataclass(frozen=True)
class DonatingJit:
    """A jit equation that donates operands.

    `donated` has the arguments and captured arrays among these; a computed operand is no array that
    somebody else has.
    """

    equation: Any
    donated: tuple[Any, ...]

    @property
    def body(self) -> Any:
        """The closed_jaxpr that it runs."""
        return self.equation.params["jaxpr"]


def donating_jits(closed: Any, inputs: Sequence[Any]) -> list[DonatingJit]:
    """Return the outermost jit equations that donate, of a closed_jaxpr on its inputs.

    Example::

        donating_jits(jax.make_jaxpr(lambda x: donating(x))(x), [x])[0].donated == (x,)
    """
    found: list[DonatingJit] = []
    evaluate(closed, inputs, _Donations(found))
    return found


def own_jits(closed: Any) -> frozenset[str]:
    """Return where the jitted functions of a user or a library stand that a program calls.

    Example::

        own_jits(jax.make_jaxpr(lambda x: jitted(x))(x))  # {"step at model.py:12"}
    """
    bodies = [each.params["jaxpr"] for each in inner(closed).eqns if _is_jit(each)]
    return frozenset(
        inner(each).debug_info.func_src_info
        for each in bodies
        if kind_of_file(_file_of(each)) != "machinery"
    )


def _file_of(body: Any) -> str:
    """Return the file of the function that a body was traced from."""
    _, _, source = inner(body).debug_info.func_src_info.partition(" at ")
    return str(source.rpartition(":")[0])


def _is_jit(equation: Any) -> bool:
    """Say whether an equation calls a jitted function."""
    return bool(equation.primitive.name == "jit")


def _body_called_eagerly(equation: Any) -> Any:
    """Return the body that JAX evaluates one equation at a time outside of a jit; None without one.

    So do checkpoints and functions with rules for derivatives.
    """
    structure = structure_of(equation)
    if isinstance(structure, Call) and not structure.is_opaque and not _is_jit(equation):
        return structure.body
    return None


def _donates(equation: Any) -> bool:
    return _is_jit(equation) and any(equation.params["donated_invars"])


@dataclass(frozen=True)
class _Donations(Domain[Any]):
    """The domain of the search: a value is an argument or a captured array, or None if computed."""

    found: list[DonatingJit]

    def constant(self, value: Any, aval: Any) -> Any:
        return unwrapped(value)

    def unbound(self, var: Any) -> Any:
        return None

    def equation(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        if _donates(equation):
            pairs = zip(equation.params["donated_invars"], operands, strict=True)
            donated = tuple(v for is_donated, v in pairs if is_donated and v is not None)
            self.found.append(DonatingJit(equation, donated))
        elif (body := _body_called_eagerly(equation)) is not None:
            return evaluate(body, operands, self)
        return [None] * len(equation.outvars)
