"""The table of primitives with bodies, against jaxprs of JAX."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.extend.core import primitives

from parity_tests.jaxpr import bodies
from parity_tests.jaxpr.bodies import Call, Cond, LinearSolve, Scan, While

X = jnp.arange(4.0)


def equation_of(fun, *args):
    """The one equation of a function that is in the table."""
    [equation] = [
        each for each in jax.make_jaxpr(fun)(*args).eqns if bodies.structure_of(each) is not None
    ]
    return equation


@jax.custom_jvp
def with_jvp(x):
    return jnp.sin(x)


with_jvp.defjvp(lambda p, t: (with_jvp(*p), t[0]))


@jax.custom_vjp
def with_vjp(x):
    return jnp.sin(x)


with_vjp.defvjp(lambda x: (with_vjp(x), x), lambda x, c: (c * x,))


@jax.custom_vjp
def with_residuals(x):
    return jnp.sin(x)


with_residuals.defvjp(
    lambda x: (jnp.sin(x), jnp.cos(x)), lambda cos, c: (c * cos,), optimize_remat=True
)


@jax.custom_batching.custom_vmap
def with_vmap(x):
    return x + 1


with_vmap.def_vmap(lambda size, batched, x: (x + 1, True))


@pytest.mark.parametrize(
    ("name", "fun"),
    [
        ("jit", jax.jit(lambda x: x + 1)),
        ("checkpoint", jax.checkpoint(lambda x: x + 1)),
        ("custom_jvp_call", with_jvp),
        ("custom_vjp_call", with_vjp),
        ("remat_opt", lambda x: jax.vjp(with_residuals, x)[0]),
    ],
)
def test_a_call_takes_the_operands_one_by_one(name, fun):
    equation = equation_of(fun, X)
    assert equation.primitive.name in (name, "remat2")
    structure = bodies.structure_of(equation)
    assert isinstance(structure, Call)
    assert not structure.is_opaque
    [body] = bodies.bodies_of(equation)
    assert body.operands == (0,)
    assert body.is_call


def test_a_call_of_core_is_one():
    jit = equation_of(jax.jit(lambda x: x + 1), X)
    call = jit.replace(primitive=primitives.call_p, params={"call_jaxpr": jit.params["jaxpr"]})
    assert isinstance(bodies.structure_of(call), Call)


@pytest.mark.parametrize(
    ("name", "fun"),
    [
        ("composite", lax.composite(lambda x: x + 1, "tests.plus_one")),
        ("custom_vmap_call", with_vmap),
    ],
)
def test_an_opaque_call_has_its_body_and_more(name, fun):
    equation = equation_of(fun, X)
    assert equation.primitive.name == name
    assert bodies.structure_of(equation).is_opaque
    [body] = bodies.bodies_of(equation)
    assert body.operands == (0,)


def test_a_scan_has_constants_then_inputs_that_change():
    equation = equation_of(lambda x, y: lax.scan(lambda c, r: (c * y, r), 1.0, x), X, 2.0)
    structure = bodies.structure_of(equation)
    assert isinstance(structure, Scan)
    assert (structure.length, structure.reverse) == (4, False)
    assert structure.split("ycx") == ("y", "c", "x")
    [body] = bodies.bodies_of(equation)
    assert body.operands == (0, None, None)
    assert body.inputs(["y", "c", "x"], "?") == ["y", "?", "?"]


def test_a_while_has_constants_of_its_condition_and_of_its_body():
    equation = equation_of(
        lambda limit, y: lax.while_loop(lambda c: c < limit, lambda c: c * y, 1.0), 9.0, 2.0
    )
    structure = bodies.structure_of(equation)
    assert isinstance(structure, While)
    assert structure.split("lyc") == ("l", "y", "c")
    cond, body = bodies.bodies_of(equation)
    assert cond.inputs(["l", "y", "c"], "?") == ["l", "?"]
    assert body.inputs(["l", "y", "c"], "?") == ["y", "?"]


def test_the_branches_of_a_cond_take_all_but_the_index():
    equation = equation_of(lambda x: lax.cond(x[0] > 0, lambda: x + 1, lambda: x), X)
    structure = bodies.structure_of(equation)
    assert isinstance(structure, Cond)
    assert [body.operands for body in bodies.bodies_of(equation)] == [(1,), (1,)]


def test_a_linear_solve_has_functions_with_constants_of_their_own():
    matrix = jnp.eye(4)

    def solve(m, b):
        return lax.custom_linear_solve(
            lambda x: m @ x, b, lambda matvec, b: m @ b, lambda vecmat, b: m.T @ b
        )

    equation = equation_of(solve, matrix, X)
    structure = bodies.structure_of(equation)
    assert isinstance(structure, LinearSolve)
    operands = [str(var) for var in equation.invars]
    function, given = structure.solver(operands)
    assert function is structure.functions[2]
    assert len(given) == len(bodies.inner(function).invars)
    assert given[-1] == operands[-1]
    for body in bodies.bodies_of(equation):
        assert body.operands[-1] is None


def test_nothing_is_known_of_the_inputs_of_other_bodies():
    closed = jax.make_jaxpr(lambda x: x.at[0].add(1.0))(X)
    [scatter] = [each for each in closed.eqns if each.primitive.name == "scatter-add"]
    assert bodies.structure_of(scatter) is None
    [body] = bodies.bodies_of(scatter)
    assert body.operands is None
    assert body.inputs(list("abc"), "?") == ["?"] * len(bodies.inner(body.jaxpr).invars)


# -- what other releases of JAX write otherwise ----------------------------------------------------

BODY = jax.make_jaxpr(lambda y, c, x: (c * y, x))(1.0, 1.0, 1.0)


class Tree(tuple):
    """A FlatTree, as far as it is read."""

    def unpack(self):
        return tuple(self)


@pytest.mark.parametrize(
    "counts",
    [
        {"num_consts": 1, "num_carry": 1},  # until 0.11.0
        {"ft_in": Tree([(None,), (None,), (None,)])},
    ],
)
def test_a_scan_is_read_in_all_releases(counts):
    params = {"jaxpr": BODY, "length": 3, "reverse": True, **counts}
    equation = SimpleNamespace(primitive=SimpleNamespace(name="scan"), params=params, invars="ycx")
    assert bodies.structure_of(equation) == Scan(BODY, 1, 1, 3, True)
    assert bodies.const_count(params) == 1


@pytest.mark.parametrize("name", ["jaxpr", "call_jaxpr"])  # from 0.11.2 on
def test_a_composite_is_read_in_all_releases(name):
    composite = SimpleNamespace(name="composite")
    equation = SimpleNamespace(primitive=composite, params={name: BODY}, invars="ycx")
    assert bodies.structure_of(equation) == Call(BODY, 3, is_opaque=True)


def hijax_equation(name, operands="x", module="jax._src.hijax", **held):
    hijax = SimpleNamespace(name="call_hi_primitive")
    kind = type(name, (SimpleNamespace,), {"__module__": module})
    return SimpleNamespace(primitive=hijax, params={"_prim": kind(**held)}, invars=operands)


def test_a_hijax_primitive_of_jax_that_calls_its_body_is_a_call():
    """As functions with rules for derivatives are with `jax_custom_jvp3` and others."""
    traced = jax.jit(lambda x: jnp.sin(x) * 2).trace(X)
    jvp = hijax_equation("CustomJVPTraced", traced=traced, jvp_rule=len, symbolic_zeros=False)
    assert bodies.structure_of(jvp) == Call(traced.jaxpr, 1)
    remat = hijax_equation("RematTraced", "ycx", jaxpr=BODY, policy=None)
    assert bodies.structure_of(remat) == Call(BODY, 3)
    search = hijax_equation("SearchSorted", side="right", dimension=0)
    assert bodies.structure_of(search) is None
    assert bodies.bodies_of(search) == ()


@pytest.mark.parametrize(
    "equation",
    [
        # `lax.custom_root` from jax 0.12.0 on: some operands are for its derivative alone.
        hijax_equation("CustomRoot", "aycx", solve_jaxpr=BODY, has_aux=False),
        # `lax.scan_nocarry`: rows in the place of each operand.
        hijax_equation("Scan3", "ycx", jaxpr=BODY, length=3),
        # One of a user may hold a body for its derivative alone, whatever it is called.
        hijax_equation("RematTraced", "ycx", module="mine", jaxpr=BODY),
    ],
    ids=lambda equation: type(equation.params["_prim"]).__name__,
)
def test_a_hijax_primitive_that_does_more_than_call_its_body_is_no_call(equation):
    assert bodies.structure_of(equation) == bodies.Held((BODY,))
    assert bodies.bodies_of(equation) == (bodies.Body(BODY),)


@pytest.mark.parametrize(
    ("switch", "fun"),
    [
        ("jax_custom_jvp3", with_jvp),
        ("jax_custom_vjp3", with_vjp),
        ("jax_remat3", jax.checkpoint(lambda x: jnp.sin(x))),
    ],
)
def test_a_rule_for_derivatives_has_its_body_whatever_primitive_it_is(switch, fun):
    """Some releases before jax 0.12.0 have the switches, but not yet the hijax primitives."""
    before = getattr(jax.config, switch, None)
    if before is not None:
        jax.config.update(switch, True)
    try:
        equation = equation_of(lambda x: fun(x), X)
    finally:
        if before is not None:
            jax.config.update(switch, before)
    is_hijax = jax.__version_info__ >= (0, 12)
    assert (equation.primitive.name == "call_hi_primitive") is is_hijax
    [body] = bodies.bodies_of(equation)
    assert body.operands == (0,)
    assert [each.primitive.name for each in bodies.inner(body.jaxpr).eqns] == ["sin"]


def test_of_parameters_with_new_names_nothing_is_known_but_the_bodies():
    scan = SimpleNamespace(name="scan")
    equation = SimpleNamespace(primitive=scan, params={"body": BODY, "turns": 3}, invars="ycx")
    assert bodies.structure_of(equation) is None
    assert bodies.bodies_of(equation) == (bodies.Body(BODY),)


def test_constants_of_bodies_are_counted_over_all_parameters():
    assert bodies.const_count({"cond_nconsts": 1, "body_nconsts": 2, "num_consts": None}) == 3
    assert bodies.const_count({}) == 0
