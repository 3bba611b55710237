"""What a value is, by where it comes from: a jaxpr, an equation, a lowered module, and so on.

Nothing is run, so a value is known where its source shows it: the result of `jax.make_jaxpr`, an
annotation, an `isinstance`, an attribute of a known value. A name such as `jaxpr` shows it with
less confidence. A value that nothing shows has no kind, and the rules are silent about it.
"""

from parity_tests.lint.kinds.all_kinds import Kinds
from parity_tests.lint.kinds.values import Kind, Value

__all__ = ["Kind", "Kinds", "Value"]
