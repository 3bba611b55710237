"""Laws of the numbering, each by evaluation: both sides of it give the same bits."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from parity_tests.jax_internals import const_args
from parity_tests.proof import laws, operations
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.modules import number_module

X = jnp.array([1.5, -0.0, np.nan, np.inf], jnp.float32)
WHOLE = jnp.array([3, 0, -7, 5], jnp.int32)


def digest(fun, *args):
    return number_jaxpr(jax.jit(fun).trace(*args).jaxpr).digest


def bits(found):
    return np.asarray(found).tobytes()


def holds(one, two, *args):
    """Whether a law is applied, and both sides of it give the same bits."""
    assert digest(one, *args) == digest(two, *args)
    assert bits(one(*args)) == bits(two(*args))


def test_a_select_of_equal_cases_is_the_case():
    holds(lambda x: lax.select_n(x > 0, x, x), lambda x: x, X)
    assert digest(lambda x: lax.select_n(x > 0, x, -x), X) != digest(lambda x: x, X)


def test_stop_gradient_gives_what_it_takes():
    holds(lambda x: lax.stop_gradient(x), lambda x: x, X)


def test_branches_that_give_one_value_are_the_value():
    holds(lambda x: lax.cond(x[0] > 0, lambda: x * 2, lambda: x * 2), lambda x: x * 2, X)


def test_in_a_branch_a_result_of_the_same_index_is_that_of_its_branch():
    def twice(x, y):
        first = lax.cond(y > 0, lambda: x * 2, lambda: x * 3)
        return lax.cond(y > 0, lambda: first + 1, lambda: first - 1)

    def once(x, y):
        return lax.cond(y > 0, lambda: x * 2 + 1, lambda: x * 3 - 1)

    def other_index(x, y):
        first = lax.cond(y > 1, lambda: x * 2, lambda: x * 3)
        return lax.cond(y > 0, lambda: first + 1, lambda: first - 1)

    for y in (1.0, -1.0):
        assert bits(twice(X, y)) == bits(once(X, y))
    assert digest(twice, X, 1.0) == digest(once, X, 1.0)
    assert digest(other_index, X, 1.0) != digest(once, X, 1.0)


# -- repeated values -------------------------------------------------------------------------------

_SPECIAL = {
    "integer_pow": lambda x: lax.integer_pow(x, 3),
    "reduce_precision": lambda x: lax.reduce_precision(x, 5, 10),
    "convert_element_type": lambda x: lax.convert_element_type(x, jnp.float16),
    "select_n": lambda x: lax.select_n(x > 0, x, x + 1),
    "clamp": lambda x: lax.clamp(x - 1, x, x + 1),
    "round": lambda x: lax.round(x),
    "complex": lambda x: lax.complex(x, x),
    "conj": lambda x: lax.conj(lax.complex(x, x)),
    "imag": lambda x: lax.imag(lax.complex(x, x)),
    "real": lambda x: lax.real(lax.complex(x, x)),
    "copy": lambda x: lax.copy_p.bind(x),
    "copy_p": lambda x: jnp.copy(x),
    "not": lambda x: lax.bitwise_not(x > 0),
    "and": lambda x: lax.bitwise_and(x > 0, x < 2),
    "or": lambda x: lax.bitwise_or(x > 0, x < 2),
    "xor": lambda x: lax.bitwise_xor(x > 0, x < 2),
    "is_finite": lambda x: lax.is_finite(x),
    **{
        name: lambda x, name=name: getattr(lax, name)(lax.convert_element_type(x, jnp.int32), 1)
        for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical")
    },
}


_OF_ONE_RELEASE = {
    "chlo.asin", "chlo.lgamma", "stablehlo.count_leading_zeros", "stablehlo.round_nearest_even"
}  # fmt: skip


def _function(name):
    if name in _SPECIAL:
        return _SPECIAL[name]
    of_one = getattr(lax, name)
    try:
        jax.eval_shape(of_one, X)
    except TypeError:
        return lambda x: of_one(x, x + 1)
    return of_one


def repeated(x):
    return lax.broadcast_in_dim(x, (3, *jnp.shape(x)), tuple(range(1, 1 + jnp.ndim(x))))


def evaluated(pairs, *args):
    """Lower both functions of each pair in one module, and compare their numbers and their bits.

    Return the names of pairs with two numbers, of those with other bits, and what the module does.
    """
    lowered = jax.jit(lambda x: [(one(x), two(x)) for one, two in pairs.values()]).lower(*args)
    numbered = number_module(lowered.compiler_ir(), const_args(lowered))
    ones, twos = numbered.outputs[::2], numbered.outputs[1::2]
    apart = {name for name, one, two in zip(pairs, ones, twos, strict=True) if one != two}
    found = zip(pairs, lowered.compile()(*args), strict=True)
    others = {name for name, (one, two) in found if bits(one) != bits(two)}
    return apart, others, {step.name for step in numbered.steps}


def test_to_repeat_elements_first_or_last_is_one():
    functions = {name: _function(name) for name in sorted(laws._ELEMENTWISE)}
    pairs = {
        name: (lambda x, f=fun: f(repeated(x)), lambda x, f=fun: repeated(f(x)))
        for name, fun in functions.items()
    }
    applied = {name: digest(one, X) == digest(two, X) for name, (one, two) in pairs.items()}
    assert [name for name, is_applied in applied.items() if not is_applied] == []
    apart, others, used = evaluated(pairs, X)
    assert (apart - {"lgamma"}, others) == (set(), set())  # 0.12 looks it up in tables
    assert operations.ELEMENTWISE - used <= _OF_ONE_RELEASE


def test_to_repeat_and_to_reduce_commute():
    of_jnp = {"reduce_and": jnp.all, "reduce_or": jnp.any}

    def reducing(name):
        if name == "reduce_xor":
            return lambda x, axis: lax.reduce_xor(x, (axis,))
        return of_jnp.get(name) or getattr(jnp, name.removeprefix("reduce_"))

    pairs = {
        name: (
            lambda x, f=fun: f(lax.broadcast_in_dim(x, (2, 3, 4), (0, 2)), axis=2),
            lambda x, f=fun: lax.broadcast_in_dim(f(x, axis=1), (2, 3), (0,)),
        )
        for name in sorted(laws._REDUCING)
        for fun in [reducing(name)]
    }
    matrix = jnp.stack([WHOLE, -WHOLE])
    applied = {n: digest(one, matrix) == digest(two, matrix) for n, (one, two) in pairs.items()}
    assert [name for name, is_applied in applied.items() if not is_applied] == []
    apart, others, _ = evaluated(pairs, matrix)
    assert (apart, others) == ({"argmax", "argmin"}, set())  # in modules, of two operands


def test_what_is_not_repeated_along_one_axis_stays():
    def over_rows(x):
        return lax.broadcast_in_dim(x, (4, 4), (1,)) + lax.broadcast_in_dim(x, (4, 4), (0,))

    def over_columns(x):
        return lax.broadcast_in_dim(x + x, (4, 4), (1,))

    assert digest(over_rows, X) != digest(over_columns, X)
    reduced = lambda x: jnp.sum(lax.broadcast_in_dim(x, (4, 4), (1,)), axis=0)  # noqa: E731
    assert digest(reduced, X) != digest(lambda x: x, X)


def test_to_repeat_and_to_slice_or_reshape_commute_in_modules():
    """As of `W[0]` in a branch under `vmap`: legacy repeats `W` along the batch."""
    functions = {
        "row": lambda x: x[1],
        "element": lambda x: x[1, 2],
        "strided": lambda x: x[:, 1::2],
        "flat": lambda x: x.ravel() + 1,
        "unit axis": lambda x: x[None, :, None],
        "nothing": lambda x: x[:0],
    }
    matrix = jnp.stack([X, -X, X + 1])
    vmapped = {name: (lambda x, f=f: jax.vmap(f)(repeated(x)), lambda x, f=f: repeated(f(x)))
               for name, f in functions.items()}  # fmt: skip
    equal_rows = jnp.asarray([[1.0, 2.0, 3.0, 4.0]] * 3)
    vmapped["row of equal rows"] = (
        lambda x: jax.vmap(lambda y, c: y + c[1])(repeated(x[0]), repeated(equal_rows)),
        lambda x: repeated(x[0] + equal_rows[1]),
    )
    apart, others, used = evaluated(vmapped, matrix)
    assert (apart, others) == ({"nothing"}, set())
    assert {"stablehlo.slice", "stablehlo.reshape"} <= used


def test_a_slice_or_reshape_of_what_is_repeated_otherwise_stays_another_one():
    def repeated_last(x):
        return lax.broadcast_in_dim(x, (4, 3), (0,))

    pairs = {
        "other rows": (lambda x: repeated(x)[:, 1:], lambda x: repeated(x[:3])),
        "rows as columns": (lambda x: repeated(x).reshape(4, 3), repeated_last),
        "last axis": (lambda x: repeated_last(x).reshape(12), lambda x: repeated(x).reshape(12)),
        "halves": (lambda x: repeated(x).reshape(6, 2), lambda x: repeated(x[:2])[:1].repeat(6, 0)),
    }
    apart, others, _ = evaluated(pairs, X)
    assert (apart, others) == (pairs.keys(), pairs.keys())
