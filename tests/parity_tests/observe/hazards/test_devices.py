"""Whether outputs may take over the sharding of a captured array, by the equations between them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec

from parity_tests.observe import hazards
from parity_tests.observe.hazards.devices import may_shard_outputs
from parity_tests.observe.hazards.traced_program import stated_places
from parity_tests.program import from_function

DEVICES = jax.devices()[:2]
MESH = Mesh(np.array(DEVICES), ("x",))
TABLE, OTHER = jnp.arange(64.0), jnp.arange(64.0) + 1
SPEC = NamedSharding(MESH, PartitionSpec("x"))
EXPLICIT = Mesh(np.array(DEVICES), ("x",), axis_types=(AxisType.Explicit,))
TYPED = jax.device_put(np.arange(64.0), NamedSharding(EXPLICIT, PartitionSpec("x")))


def mapped(*operands):
    specs = PartitionSpec("x")
    function = jax.shard_map(lambda *each: sum(each), mesh=MESH, in_specs=specs, out_specs=specs)
    return function(*operands)


def mapped_partly(operand):
    mesh, spec = Mesh(np.array([DEVICES]), ("y", "x")), PartitionSpec("y")
    function = jax.shard_map(jnp.sin, mesh=mesh, in_specs=spec, out_specs=spec, axis_names={"y"})
    return function(operand)


def constrained(value, *axes):
    sharding = NamedSharding(MESH, PartitionSpec(*axes)) if axes else SPEC
    return lax.with_sharding_constraint(value, sharding)


def traced(fun):
    form = "jax_use_simplified_jaxpr_constants"
    before = getattr(jax.config, form)
    jax.config.update(form, True)
    try:
        return jax.make_jaxpr(fun)(np.ones(64, np.float32))
    finally:
        jax.config.update(form, before)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: x * TABLE,
        lambda x: (mapped(TABLE), x + TABLE),
        lambda x: jax.jit(lambda y: y * TABLE)(x),
        lambda x: jax.jit(lambda y, z: (y, z))(x, x * TABLE)[1],
        lambda x: lax.cond(x[0] > 0, lambda y: y * TABLE, lambda y: y, x),
        lambda x: lax.cond(x[0] > 0, lambda y: TABLE, lambda y: y, x),
        lambda x: lax.scan(lambda c, _: (c * TABLE, None), x, None, 3)[0],
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: c + TABLE, x),
        lambda x: (x, TABLE),
        lambda x: constrained(x * TABLE, PartitionSpec.UNCONSTRAINED),
        lambda x: mapped_partly(x * TABLE),
        lambda x: ((y := jnp.sin(x)), constrained(y * TABLE)),
        lambda x: ((y := jnp.sin(x)), constrained(jax.jit(lambda z: z * TABLE)(y))),
        lambda x: ((y := jnp.sin(x)) + 1, constrained(jnp.cos(y) * TABLE)),
    ],
)
def test_an_output_may_be_sharded(fun):
    assert may_shard_outputs(traced(fun), TABLE)
    assert not may_shard_outputs(traced(fun), OTHER)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: mapped(x, TABLE),
        lambda x: mapped(x * TABLE) + 1,
        lambda x: constrained(x * TABLE) + x,
        lambda x: mapped(jax.jit(lambda y: y * TABLE)(x)),
        lambda x: jax.jit(lambda y, z: (y, z))(x, x * TABLE)[0],
        lambda x: jax.jit(lambda y: mapped(y, TABLE))(x),
        lambda x: ((y := jnp.sin(x)), mapped(y, TABLE)),
        lambda x: ((y := x.sum()) + x, constrained(y * TABLE)),
    ],
)
def test_no_output_can_be_sharded(fun):
    assert not may_shard_outputs(traced(fun), TABLE)


@pytest.mark.parametrize(
    ("fun", "is_told"),
    [
        (lambda x, r: (x * TABLE, TABLE), True),
        (lambda x, r: (x * TABLE, r + TABLE), True),
        (lambda x, r: (constrained(r * TABLE), TABLE + 1), True),
        (lambda x, r: x * TABLE + TABLE, False),
        (lambda x, r: (x * TABLE, r + 1), False),
        (lambda x, r: (x + 1, r + TABLE), False),
        (lambda x, r: (x * TABLE, TABLE.sum() + r), False),
        (lambda x, r: ((y := jnp.sin(TABLE)), x * y), False),
    ],
)
def test_what_is_not_committed_may_be_sharded_as_what_it_is_used_with(fun, is_told):
    args = (
        jax.device_put(OTHER, SPEC),
        jax.device_put(OTHER, NamedSharding(MESH, PartitionSpec())),
    )
    found = hazards.detect(from_function(lambda: (jax.jit(fun), args), "here"))
    assert is_told == ("placement of outputs" in [each.kind for each in found])


def test_an_output_whose_type_states_its_sharding_takes_over_none():
    assert not may_shard_outputs(traced(lambda x: (x + TYPED, x)), TYPED)
    taken = jax.sharding.auto_axes(jnp.sin, out_sharding=PartitionSpec("x"))
    assert not may_shard_outputs(traced(lambda x: taken(TYPED)), TYPED)


@pytest.mark.parametrize(
    ("size", "kind"), [(2, "placement of outputs"), (4, "incompatible devices")]
)
def test_a_committed_array_takes_a_program_for_an_abstract_mesh_to_its_devices(size, kind):
    """JAX refuses it where the mesh has another size, and where outputs are is no question then."""
    abstract = AbstractMesh((size,), ("x",), axis_types=(AxisType.Auto,))
    sharding = NamedSharding(abstract, PartitionSpec("x"))
    x = jax.ShapeDtypeStruct((64,), jnp.float32, sharding=sharding)
    table = jax.device_put(TABLE, SPEC)
    [found] = hazards.detect(from_function(lambda: (lambda x: x * table, (x,)), "here"))
    assert found.kind == kind
    assert "abstract mesh" in found.what


def nested(fun, depth=60):
    """A function that is called twice at each of so many levels: 2**60 times in all."""
    for _ in range(depth):
        fun = jax.jit(lambda x, fun=fun: fun(x) + fun(x * 0.5))
    return fun


def test_calls_that_nest_deeply_are_looked_into_once_each():
    deep = nested(lambda x: x * TABLE)
    assert may_shard_outputs(traced(deep), TABLE)
    assert may_shard_outputs(traced(lambda x: lax.cond(x[0] > 0, deep, jnp.sin, x)), TABLE)
    assert not may_shard_outputs(traced(deep), OTHER)
    assert set(stated_places(traced(nested(constrained)))) == {("sharding_constraint", MESH)}


def test_meshes_are_stated_by_shard_maps_and_constraints_in_bodies_as_well():
    assert list(stated_places(traced(lambda x: x * TABLE))) == []
    found = list(stated_places(traced(lambda x: constrained(jax.jit(mapped)(x)))))
    assert found == [("shard_map", MESH), ("sharding_constraint", MESH)]
