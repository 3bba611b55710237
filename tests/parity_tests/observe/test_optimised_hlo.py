"""The optimised HLO of a program: constants and instructions are counted in its text."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.observe import optimised_hlo

TABLE = np.random.default_rng(0).normal(size=(33, 5)).astype(np.float32)


def test_constants_and_instructions_are_counted():
    compiled = jax.jit(lambda x: jnp.sin(x) @ TABLE + 1.5).lower(np.ones((7, 33))).compile()
    counts = optimised_hlo.count(compiled)
    assert (counts.constants, counts.constant_bytes) == (1, TABLE.nbytes)  # the scalar is none
    assert counts.instructions > 3
    assert counts.fusions >= 1
    assert counts.serialized_bytes > TABLE.nbytes
    passed = jax.jit(lambda x, table: jnp.sin(x) @ table).lower(np.ones((7, 33)), TABLE).compile()
    assert optimised_hlo.count(passed).constants == 0
    assert optimised_hlo.count(passed).serialized_bytes < counts.serialized_bytes


@pytest.mark.parametrize(
    ("dtype", "size"), [(np.bool_, 1), (np.int8, 1), (np.int16, 2), (np.complex64, 8)]
)
def test_sizes_of_constants_of_every_width(dtype, size):
    table = (np.arange(50) % 3).astype(dtype)
    compiled = jax.jit(lambda i: jnp.asarray(table)[i]).lower(1).compile()
    assert optimised_hlo.count(compiled).constant_bytes == 50 * size


def test_tuples_and_control_flow_are_read():
    def fun(x):
        return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))

    compiled = jax.jit(fun).lower(jnp.ones(3)).compile()
    names = [opcode for _, opcode in optimised_hlo._INSTRUCTION.findall(compiled.as_text())]
    assert {"while", "tuple", "parameter", "get-tuple-element"} <= set(names)


def test_what_cannot_be_serialized_says_so():
    shape = jax.ShapeDtypeStruct((), np.float32)
    fun = jax.jit(lambda x: jax.pure_callback(np.sin, shape, x))
    counts = optimised_hlo.count(fun.lower(np.float32(1)).compile())
    assert counts.serialized_bytes is None or counts.serialized_bytes > 0


def test_an_executable_is_serialized_by_its_client_before_jaxlib_0_9():
    executable = SimpleNamespace(
        client=SimpleNamespace(serialize_executable=lambda given: b"123" if given else b"")
    )
    compiled = SimpleNamespace(runtime_executable=lambda: executable)
    assert optimised_hlo._serialized_bytes(compiled) == 3


def test_floating_point_operations_are_counted_and_none_are_zero():
    x = np.ones((4, 4), np.float32)
    of = [
        optimised_hlo.count(jax.jit(fun).lower(x).compile()).flops
        for fun in (lambda x: x, lambda x: x @ x, lambda x: jnp.tanh(x))
    ]
    assert of == [0, 2 * 4**3, 16]


MODULE = """HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[])->f32[4]{0}}

FileNames
1 "/home/me/model.py"

%body.1 (param_0.4: f32[4]) -> f32[4] {
  %param_0.4 = f32[4]{0} parameter(0)
  ROOT %add.3 = f32[4]{0} add(%param_0.4, %param_0.4), metadata={op_name="jit(f)/{x}" id=3}
}

ENTRY %main.4 (x.1: f32[4]) -> f32[4] {
  %x.1 = f32[4]{0} parameter(0), metadata={op_name="x"}
  ROOT %call.2 = f32[4]{0} call(%x.1), to_apply=%body.1, backend_config={"a":["1"]}
}
"""


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("add.3", "add.77", True),
        ("body.1", "region_9.clone", True),
        ("param_0.4", "p.1", True),
        ('"jit(f)/{x}" id=3', '"jit(f)/}, " stack_frame_id=12', True),
        ("/home/me/model.py", "/elsewhere.py", True),
        ("add(%param_0.4, %param_0.4)", "add(%param_0.4)", False),
        ("f32[4]{0} add", "f32[4]{0} multiply", False),
        ('{"a":["1"]}', '{"a":["2"]}', False),
        ("is_scheduled=true", "is_scheduled=false", False),
        ("f32[4]", "f32[5]", False),
    ],
)
def test_the_digest_leaves_out_names_and_metadata_alone(old, new, is_same):
    assert old in MODULE
    digest = optimised_hlo.digest_of(MODULE)
    assert (optimised_hlo.digest_of(MODULE.replace(old, new)) == digest) == is_same


def test_a_module_that_is_not_printed_has_no_digest():
    assert optimised_hlo.digest_of("") == ""
    compiled = jax.jit(lambda x: x + 1).lower(np.float32(1)).compile()
    assert len(optimised_hlo.count(compiled).digest) == 32
