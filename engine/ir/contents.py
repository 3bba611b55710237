"""What the passes look for in a body, found in one walk: its Literals, and the bodies within it.

The steps of a first call ask the same of each program: which arrays it holds, and whether there is
a body to enter. One walk answers all of them, because a walk over the equations is most of what
such a question takes. JAX never changes a body, so the answer holds while the body lives.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

from jax.extend.core import JaxprEqn, Literal

from engine.jax_internals import Body, bodies_of, open_part


class Contents(NamedTuple):
    """The parts of a body that are neither variables nor plain equations, in program order.

    - `literals`: those of outputs, then those of equations. Literals and not their values, because
      `snapshot` replaces the value of a Literal.
    - `nested`: the equations that have bodies, each with its bodies.
    """

    literals: list[Literal]
    nested: list[tuple[JaxprEqn, list[Body]]]


_contents: weakref.WeakKeyDictionary[Body, Contents] = weakref.WeakKeyDictionary()


def contents_of(body: Body) -> Contents:
    """Return the contents of a body, without those of the bodies within it.

    Example::

        [literal] = contents_of(engine.make_jaxpr(lambda x: x + 1)(2.0)).literals
    """
    body = open_part(body)  # what several closed bodies share
    contents = _contents.get(body)
    if contents is None:
        contents = _contents[body] = _walked(body)
    return contents


def _walked(body: Body) -> Contents:
    literals = [atom for atom in body.outvars if isinstance(atom, Literal)]
    nested = []
    for eqn in body.eqns:
        for atom in eqn.invars:
            if isinstance(atom, Literal):
                literals.append(atom)
        if eqn.params and (bodies := bodies_of(eqn)):
            nested.append((eqn, bodies))
    return Contents(literals, nested)
