"""Hijax primitives and a hijax type of a user, which are Python until JAX lowers a program."""

import jax
from jax.experimental import hijax

HiPrimitive = getattr(hijax, "HiPrim", None) or hijax.VJPHiPrimitive  # 0.12 has another name


class Expanding(HiPrimitive):
    def __init__(self, to, avals, of):
        self.in_avals, self.out_aval, self.params, self.to = avals, of, {}, to
        super().__init__()

    def expand(self, *operands):
        return self.to(*operands)

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def expanding(to):
    """Return a call of a primitive that expands to a function; the result is as the first operand.

    Example::

        jax.jit(expanding(lambda x: x * table))(x)
    """

    def call(*operands):
        avals = tuple(map(jax.typeof, operands))
        return Expanding(to, avals, avals[0])(*operands)

    return call


class PairType(hijax.HiType):
    def __init__(self, of):
        self.of = of

    def __hash__(self):
        return hash(self.of)

    def __eq__(self, other):
        return type(self) is type(other) and self.of == other.of

    def lo_ty(self):
        return [self.of] * 2

    def lower_val(self, pair):
        return [*pair.arrays]

    def raise_val(self, *arrays):
        return Pair(arrays)

    def str_short(self, short_dtypes=False, **_):
        return f"Pair[{self.of.str_short(short_dtypes)}]"


class Pair:
    """Two arrays that are one value of a program until it is lowered."""

    def __init__(self, arrays):
        self.arrays = arrays


hijax.register_hitype(Pair, lambda pair: PairType(jax.typeof(pair.arrays[0])))


def paired(x):
    """Return an array twice, as a value of a hijax type."""
    return Expanding(lambda x: Pair([x, x]), (jax.typeof(x),), PairType(jax.typeof(x)))(x)
