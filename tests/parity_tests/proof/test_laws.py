"""Laws of the numbering, each by evaluation: both sides of it give the same bits."""

import importlib
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.random import threefry2x32_p
from jax.interpreters import mlir

from parity_tests.jax_internals import const_args
from parity_tests.proof import laws
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.modules import number_module

INTERPRETER = importlib.import_module("jaxlib.mlir.dialects.stablehlo")
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
    "clz": lambda x: lax.clz(lax.convert_element_type(x, jnp.int32)),
    "population_count": lambda x: lax.population_count(lax.convert_element_type(x, jnp.int32)),
    "threefry2x32": lambda x: threefry2x32_p.bind(*[(x > 0).astype(jnp.uint32)] * 4)[1],
    **{
        name: lambda x, name=name: getattr(lax, name)(lax.convert_element_type(x, jnp.int32), 1)
        for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical")
    },
}


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


def same_bits(pairs, *args):
    """Evaluate both functions of each pair, all in one compilation, and compare their bits."""
    found = jax.jit(lambda *args: [(one(*args), two(*args)) for one, two in pairs.values()])(*args)
    return {name: bits(one) == bits(two) for name, (one, two) in zip(pairs, found, strict=True)}


def test_to_repeat_elements_first_or_last_is_one():
    functions = {name: _function(name) for name in sorted(laws._ELEMENTWISE)}
    pairs = {
        name: (lambda x, f=fun: f(repeated(x)), lambda x, f=fun: repeated(f(x)))
        for name, fun in functions.items()
    }
    applied = {name: digest(one, X) == digest(two, X) for name, (one, two) in pairs.items()}
    assert [name for name, is_applied in applied.items() if not is_applied] == []
    assert [name for name, is_same in same_bits(pairs, X).items() if not is_same] == []


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
    assert [name for name, is_same in same_bits(pairs, matrix).items() if not is_same] == []


def test_what_is_not_repeated_along_one_axis_stays():
    def over_rows(x):
        return lax.broadcast_in_dim(x, (4, 4), (1,)) + lax.broadcast_in_dim(x, (4, 4), (0,))

    def over_columns(x):
        return lax.broadcast_in_dim(x + x, (4, 4), (1,))

    assert digest(over_rows, X) != digest(over_columns, X)
    reduced = lambda x: jnp.sum(lax.broadcast_in_dim(x, (4, 4), (1,)), axis=0)  # noqa: E731
    assert digest(reduced, X) != digest(lambda x: x, X)


# -- views, in jaxprs and in modules ---------------------------------------------------------------


def rows(x, count=3):
    """The array, repeated along a new first axis."""
    return lax.broadcast_in_dim(x, (count, *x.shape), tuple(range(1, 1 + x.ndim)))


def numbers(low, *args):
    """What the reference interpreter computes of a module, which is neither XLA nor ours."""
    module = low.compiler_ir("stablehlo")
    passed = [*const_args(low), *args]
    with module.context:
        taken = [mlir.ir.DenseElementsAttr.get(np.asarray(each)) for each in passed]
        return [np.array(each) for each in INTERPRETER.eval_module(module, taken)]


def digests(fun, *args):
    traced = jax.jit(fun).trace(*args)
    low = traced.lower()
    module = number_module(low.compiler_ir("stablehlo"), const_args(low))
    return (number_jaxpr(traced.jaxpr).digest, module.digest), numbers(low, *args)


M = jnp.arange(12.0, dtype=jnp.float32).reshape(3, 4) * 0.5 - 2
SQUARE = M[:, :3]
WHICH = jnp.array([2, 0], jnp.int32)
GATHER = lax.GatherDimensionNumbers((1,), (0,), (0,))
BATCHED = lax.GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,))


def dot(x, y, contracted, batch=((), ())):
    return lax.dot_general(x, y, (contracted, batch))


# What is computed of repeated values, and the same that is computed once and repeated.
OF_VIEWS = {
    "concatenate": (
        lambda m: lax.concatenate([rows(m), rows(-m)], 1),
        lambda m: rows(lax.concatenate([m, -m], 0)),
    ),
    "slice": (lambda m: rows(m)[:, 1:, ::2], lambda m: rows(m[1:, ::2])),
    "slice along what is repeated": (lambda m: rows(m)[1:], lambda m: rows(m)[:2]),
    "rev": (lambda m: lax.rev(rows(m), (1,)), lambda m: rows(lax.rev(m, (0,)))),
    "pad": (
        lambda m: lax.pad(rows(m), 1.0, ((0, 0, 0), (1, 0, 2), (0, -1, 0))),
        lambda m: rows(lax.pad(m, 1.0, ((1, 0, 2), (0, -1, 0)))),
    ),
    "dynamic_slice": (
        lambda m: lax.dynamic_slice(rows(m), (WHICH[0], WHICH[0], 0), (3, 2, 4)),
        lambda m: rows(lax.dynamic_slice(m, (WHICH[0], 0), (2, 4))),
    ),
    "dynamic_update_slice": (
        lambda m: lax.dynamic_update_slice(rows(m), rows(-m[:1]), (0, WHICH[0], 1)),
        lambda m: rows(lax.dynamic_update_slice(m, -m[:1], (WHICH[0], 1))),
    ),
    "sort": (lambda m: lax.sort(rows(m), dimension=1), lambda m: rows(lax.sort(m, dimension=0))),
    "sort of two": (
        lambda m: lax.sort([rows(m), rows(-m)], dimension=2)[1],
        lambda m: rows(lax.sort([m, -m], dimension=1)[1]),
    ),
    "cumsum": (lambda m: lax.cumsum(rows(m), 2), lambda m: rows(lax.cumsum(m, 1))),
    "reduce": (lambda m: jnp.sum(rows(m), (1, 2)), lambda m: rows(jnp.sum(m))),
    "iota": (
        lambda m: m * lax.broadcasted_iota(jnp.float32, (3, 4), 1),
        lambda m: m * rows(lax.iota(jnp.float32, 4)),
    ),
    "transpose": (lambda m: jnp.exp(m.T), lambda m: jnp.exp(m).T),
    "transpose of two": (lambda m: m.T + rows(m[:, 0], 4), lambda m: (m + m[:, :1]).T),
    "reshape": (lambda m: rows(m).reshape(3, 12), lambda m: rows(m.reshape(12))),
    "reshape of one": (lambda m: m.reshape(1, 3, 1, 4) * 2, lambda m: (m * 2).reshape(1, 3, 1, 4)),
    "dot_general of a batch": (
        lambda m: dot(rows(m), rows(m), ((2,), (2,)), ((0,), (0,))),
        lambda m: rows(dot(m, m, ((1,), (1,)))),
    ),
    "dot_general of a repeated left side": (
        lambda m: dot(rows(m), m, ((2,), (1,)), ((0,), (0,))),
        lambda m: dot(m, m, ((1,), (1,))).T,
    ),
    "dot_general of a repeated right side": (
        lambda m: dot(m, rows(m), ((1,), (2,)), ((0,), (0,))),
        lambda m: dot(m, m, ((1,), (1,))),
    ),
    "dot_general of a repeated free axis": (
        lambda m: dot(rows(m, 2), m, ((2,), (1,))),
        lambda m: rows(dot(m, m, ((1,), (1,))), 2),
    ),
    "gather by repeated indices": (
        lambda m: lax.gather(m, rows(WHICH[:, None], 2), GATHER2, (1, 4)),
        lambda m: rows(lax.gather(m, WHICH[:, None], GATHER, (1, 4)), 2),
    ),
    "gather from a repeated batch": (
        lambda m: lax.gather(rows(m, 2), WHICH[:, None, None], BATCHED, (1, 1, 4)),
        lambda m: lax.gather(m, WHICH[:, None, None], GATHER2, (1, 4)),
    ),
    "gather of a batch by repeated indices": (
        lambda m: lax.gather(
            jnp.stack([m, -m]), rows(WHICH[:, None], 2), BATCHED, (1, 1, 4)
        ),
        lambda m: lax.gather(jnp.stack([m, -m]), WHICH[:, None], WHOLE_BATCH, (2, 1, 4)),
    ),
    "cond": (
        lambda m: lax.cond(m[0, 0] > 0, lambda: rows(m), lambda: rows(-m)),
        lambda m: rows(lax.cond(m[0, 0] > 0, lambda: m, lambda: -m)),
    ),
    "scan": (
        lambda m: lax.scan(lambda c, r: (c * 2 + r, c), rows(m), rows(m)[:, None] + m)[0],
        lambda m: lax.scan(lambda c, r: (c * 2 + r, c), rows(m), rows(rows(m)) + m)[0],
    ),
    "scan of a repeated carry": (
        lambda m: lax.scan(lambda c, r: (c + rows(r), c), rows(m[0]), m),
        lambda m: jax.tree.map(
            lambda c, axis: lax.broadcast_in_dim(
                c, (*c.shape[:axis], 3, *c.shape[axis:]), tuple({*range(c.ndim + 1)} - {axis})
            ),
            lax.scan(lambda c, r: (c + r, c), m[0], m),
            (0, 1),
        ),
    ),
    "while": (
        lambda m: lax.while_loop(lambda c: c[0, 0, 0] < 9, lambda c: c + 1, rows(m)),
        lambda m: rows(lax.while_loop(lambda c: c[0, 0] < 9, lambda c: c + 1, m)),
    ),
    "no elements": (
        lambda m: jnp.sum(jnp.sin(rows(m[:0])), 1),
        lambda m: rows(jnp.sum(jnp.cos(m[2:2]), 0)),
    ),
    "optimization_barrier": (
        lambda m: lax.optimization_barrier(rows(m)),
        lambda m: rows(lax.optimization_barrier(m)),
    ),
}  # fmt: skip
GATHER2 = lax.GatherDimensionNumbers((2,), (0,), (0,))
WHOLE_BATCH = lax.GatherDimensionNumbers((0, 2), (1,), (1,))


@pytest.mark.parametrize("law", OF_VIEWS)
def test_what_is_computed_of_views_is_a_view(law):
    one, two = OF_VIEWS[law]
    (of_one, by_one), (of_two, by_two) = digests(one, M), digests(two, M)
    equal = tuple(a == b for a, b in zip(of_one, of_two, strict=True))
    assert equal == (True, law not in ONLY_IN_JAXPRS)
    assert list(map(bits, by_one)) == list(map(bits, by_two))


ONLY_IN_JAXPRS = {"cumsum"}  # whose windows have no law in a module


# -- programs by chance ----------------------------------------------------------------------------


class Chance:
    """A program of operations that are chosen by chance, which returns all that it computes."""

    def __init__(self, seed):
        self.seed = seed

    def __call__(self, m, v):
        self.choose = random.Random(self.seed)
        self.values = [m, v, lax.broadcast_in_dim(m, (2, 3, 3), (1, 2))]
        for _ in range(24):
            made = self.choose.choice(OPERATIONS)(self, self.choose.choice(self.values))
            if made.size <= 400:
                self.values.append(made)
        return self.values

    def like(self, x):
        """A value of the shape of another one."""
        return self.choose.choice([each for each in self.values if each.shape == x.shape])

    def axis(self, x):
        return self.choose.randrange(x.ndim)

    def index(self, x):
        return lax.convert_element_type(self.choose.choice(self.values).ravel()[0], jnp.int32)


def _repeated(self, x):
    axis = self.choose.randint(0, x.ndim)
    shape = (*x.shape[:axis], self.choose.choice((1, 2, 3)), *x.shape[axis:])
    return lax.broadcast_in_dim(x, shape, [n for n in range(len(shape)) if n != axis])


def _stretched(self, x):
    shape = tuple(2 if size == 1 else size for size in x.shape)
    return lax.broadcast_in_dim(x, shape, range(x.ndim))


def _transposed(self, x):
    return lax.transpose(x, self.choose.sample(range(x.ndim), x.ndim))


def _reshaped(self, x):
    shape = [size for size in x.shape if size != 1] or [1]
    if len(shape) > 1 and self.choose.random() < 0.5:
        axis = self.choose.randrange(len(shape) - 1)
        shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
    return x.reshape(shape)


def _sliced(self, x, axis):
    return lax.slice_in_dim(x, self.choose.randrange(x.shape[axis]), None, 1, axis)


def _along(fun):
    return lambda self, x: fun(self, x, self.axis(x)) if x.ndim else x


def _dotted(self, x):
    y = self.choose.choice(self.values)
    pairs = [(i, j) for i in range(x.ndim) for j in range(y.ndim) if x.shape[i] == y.shape[j]]
    pairs = self.choose.sample(pairs, min(len(pairs), self.choose.randint(0, 2)))
    pairs = pairs[: 1 if len({i for i, _ in pairs}) < 2 or len({j for _, j in pairs}) < 2 else 2]
    ours, theirs = [i for i, _ in pairs], [j for _, j in pairs]
    cut = self.choose.randint(0, len(pairs))
    numbers = ((ours[:cut], theirs[:cut]), (ours[cut:], theirs[cut:]))
    return lax.dot_general(x, y, numbers)


def _gathered(self, x):
    if not x.ndim:
        return x
    return jnp.take(x, jnp.stack([self.index(x), self.index(x)]), self.axis(x), mode="clip")


def _of_batch(self, x, axis):
    x, y = x.reshape(len(x), -1), self.like(x).reshape(len(x), -1)
    return jax.vmap(lambda a, b: jnp.take(a, b.astype(jnp.int32), 0, mode="clip"))(x, y)


def _carried(self, x):
    y = self.like(x)
    return lax.fori_loop(0, 2, lambda _, c: (c[0] + c[1], c[1]), (x, y))[0]


OPERATIONS = [
    _repeated, _repeated, _stretched, _transposed, _transposed, _reshaped, _dotted,
    _dotted, _gathered, _along(_of_batch), _carried,
    lambda self, x: x + self.like(x),
    lambda self, x: x * self.like(x),
    lambda self, x: lax.select(x > self.like(x), x, self.like(x)),
    lambda self, x: lax.cond(self.index(x) > 0, lambda: x, lambda: self.like(x)),
    _along(lambda self, x, axis: lax.concatenate([x, self.like(x)], axis)),
    _along(_sliced),
    _along(lambda self, x, axis: lax.rev(x, (axis,))),
    _along(lambda self, x, axis: lax.cumsum(x, axis)),
    _along(lambda self, x, axis: jnp.sum(x, axis)),
    _along(lambda self, x, axis: jnp.max(x, axis)),
    _along(lambda self, x, axis: lax.sort([x, self.like(x)], axis)[1]),
    _along(lambda self, x, axis: lax.dynamic_slice_in_dim(x, self.index(x), 1, axis)),
    _along(lambda self, x, axis: lax.broadcasted_iota(jnp.float32, x.shape, axis)),
    _along(lambda self, x, axis: jnp.pad(x, [(n == axis, 0) for n in range(x.ndim)])),
]  # fmt: skip


def contradictions(seed):
    """Values of one number that are not equal, and how many values have the number of another."""
    fun, low = Chance(seed), None
    m = np.random.default_rng(seed).permutation(9).reshape(3, 3).astype(np.float32) - 4
    traced = jax.jit(fun).trace(m, m[0])
    low = traced.lower()
    found = numbers(low, m, m[0])
    module = number_module(low.compiler_ir("stablehlo"), const_args(low))
    shared, wrong = 0, []
    for what, of_values in (("jaxpr", number_jaxpr(traced.jaxpr)), ("module", module)):
        known = {}
        for value, number in zip(found, of_values.outputs, strict=True):
            shared += number in known
            if bits(known.setdefault(number, value)) != bits(value):
                wrong.append((seed, what))
    return shared, wrong


def test_values_of_one_number_are_equal():
    """Programs by chance return all their values: equal numbers are equal bits."""
    shared, wrong = zip(*map(contradictions, range(20)), strict=True)
    assert ([each for each in wrong if each], sum(shared) > 100) == ([], True)
