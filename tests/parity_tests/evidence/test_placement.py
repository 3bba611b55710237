"""Placement: the devices and shards of an array as text."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from parity_tests.evidence import values


def test_a_sharding_is_described_by_what_each_device_holds():
    mesh = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    split = jax.device_put(jnp.arange(16.0), NamedSharding(mesh, PartitionSpec("i")))
    assert values.sharding_of(split).startswith("cpu:0 [0:2]; cpu:1 [2:4]; ")
    assert values.sharding_of(jnp.ones(3)) == "cpu:0"
    assert values.sharding_of(np.ones(3)) is None
    assert values.is_committed(jnp.ones(3)) is False
    assert values.devices_of(split) == 8


@pytest.mark.parametrize("name", ["sharding", "committed", "weak_type"])
def test_an_attribute_that_jax_has_no_more_is_not_taken_for_a_plain_one(monkeypatch, name):
    array = jnp.ones(3)
    monkeypatch.delattr(type(array), name)
    with pytest.raises((AttributeError, NotImplementedError)):
        values.to_host("", array)
