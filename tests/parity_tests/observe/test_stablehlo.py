"""Counters of StableHLO: inlined bytes, const args, arguments of main."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.observe import stablehlo


def parsed(text):
    """A module of our own writing; the context comes from one that JAX made."""
    module = jax.jit(lambda x: x).lower(1.0).compiler_ir()
    return type(module).parse(text, context=module.context)


HOISTED = parsed(
    """
    func.func public @main(%a: tensor<7x11xf32> {jax.const = true}, %b: tensor<f32>)
        -> tensor<7x11xf32> {
      %c = stablehlo.constant dense<1.0> : tensor<7x11xf32>
      %d = stablehlo.constant dense<2> : tensor<i32>
      %e = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
      %f = "stablehlo.while"(%d) ({
      ^bb0(%i: tensor<i32>):
        %g = stablehlo.constant dense<true> : tensor<i1>
        stablehlo.return %g : tensor<i1>
      }, {
      ^bb0(%i: tensor<i32>):
        stablehlo.return %i : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      %h = stablehlo.add %a, %c : tensor<7x11xf32>
      return %h : tensor<7x11xf32>
    }
    func.func private @other(%a: tensor<f32> {jax.const = true}) -> tensor<f32> {
      return %a : tensor<f32>
    }
    """
)


def test_operations_are_counted_in_regions_too():
    counts = stablehlo.count(HOISTED, embed_threshold=32)
    assert counts.functions == 2
    assert counts.operations_by_name == {
        "func.func": 2,
        "func.return": 2,
        "stablehlo.add": 1,
        "stablehlo.constant": 4,
        "stablehlo.return": 2,
        "stablehlo.while": 1,
    }
    assert counts.operations == 12


def test_constants_have_their_logical_size():
    counts = stablehlo.count(HOISTED, embed_threshold=32)
    assert (counts.constants, counts.constant_bytes) == (4, 7 * 11 * 4 + 4 + 24 + 1)


@pytest.mark.parametrize(("embed_threshold", "shapes"), [(32, [(7, 11)]), (8, [(7, 11), (3,)])])
def test_only_arrays_above_the_threshold_are_inlined(embed_threshold, shapes):
    counts = stablehlo.count(HOISTED, embed_threshold=embed_threshold)
    assert [constant.shape for constant in counts.inlined] == shapes
    assert counts.inlined[0].splat


def test_only_arguments_of_main_are_const_args():
    counts = stablehlo.count(HOISTED, embed_threshold=32)
    assert (counts.main_order, counts.const_args) == ("const, argument", 1)
    assert "77" not in counts.argument_types
    assert counts.argument_types.startswith("tensor<")


@pytest.mark.parametrize("mark", ["tf.aliasing_output = 0 : i32", "jax.buffer_donor = true"])
def test_the_types_of_arguments_say_which_are_donated(mark):
    module = parsed(
        f"""
        func.func public @main(%a: tensor<f32>, %b: tensor<f32> {{{mark}}}) -> tensor<f32> {{
          return %a : tensor<f32>
        }}
        """
    )
    counts = stablehlo.count(module, embed_threshold=32)
    assert counts.argument_types == "tensor<f32>, tensor<f32> donated"


def test_a_donation_of_jit_is_among_the_types_of_arguments():
    x = jnp.ones(3)
    module = jax.jit(lambda x, y: x + y, donate_argnums=0).lower(x, x).compiler_ir()
    counts = stablehlo.count(module, embed_threshold=32)
    assert counts.argument_types == "tensor<3xf32> donated, tensor<3xf32>"


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("bool", 1),
        ("int4", 1),
        ("uint8", 1),
        ("bfloat16", 2),
        ("float8_e4m3fn", 1),
        ("float32", 4),
        ("complex64", 8),
    ],
)
def test_a_constant_of_a_distinctive_shape_is_found(dtype, size):
    captured = np.arange(7 * 11).reshape(7, 11) % 5
    array = jnp.asarray(captured, dtype)
    # As an argument to make_jaxpr's evaluation it would not be a constant: close over it.
    lowered = jax.jit(lambda: array[0], keep_unused=True).lower()
    inlined = stablehlo.count(lowered.compiler_ir(), embed_threshold=32).inlined
    if jax.config.jax_use_simplified_jaxpr_constants:
        assert inlined == ()
    else:
        assert [(each.shape, each.bytes) for each in inlined] == [((7, 11), 77 * size)]


def test_zeros_that_jax_makes_itself_are_no_constant_array():
    lowered = jax.jit(lambda: jnp.zeros((7, 11))).lower()
    assert stablehlo.count(lowered.compiler_ir(), embed_threshold=32).inlined == ()


def test_a_digest_is_of_the_bytes_splat_or_not():
    text = """func.func public @main() -> tensor<4xf32> {{
      %c = stablehlo.constant dense<{}> : tensor<4xf32>
      return %c : tensor<4xf32>
    }}"""
    splat, spelled, other = (
        stablehlo.count(parsed(text.format(value)), embed_threshold=0).inlined[0].digest
        for value in ("0.0", "[0.0, 0.0, 0.0, 0.0]", "[0.0, 0.0, 0.0, 1.0]")
    )
    assert splat == spelled != other


@pytest.mark.parametrize("dtype", ["bool", "int4", "float32", "bfloat16", "complex64"])
@pytest.mark.parametrize("captured", [0, 8, 9, 100, 101])
def test_the_length_of_a_module_is_that_of_its_whole_text(captured, dtype, monkeypatch):
    array = (jnp.arange(captured) % 2).astype(dtype)
    lowered = jax.jit(lambda: (array[::-1], jnp.zeros((200,), dtype))).lower()
    text = stablehlo.printed(lowered.compiler_ir())
    assert ("__elided__" in text) == (captured > 8)
    whole = lowered.as_text()
    monkeypatch.delattr(type(lowered), "as_text")  # it would print large constants in full
    assert stablehlo.text_bytes(lowered, text) == len(whole)


def test_a_module_with_elements_of_an_unknown_size_is_printed_to_measure_it():
    elements = ", ".join(map(str, range(101)))
    module = parsed(f"""func.func public @main() -> tensor<101xindex> {{
      %c = arith.constant dense<[{elements}]> : tensor<101xindex>
      return %c : tensor<101xindex>
    }}""")
    lowered = SimpleNamespace(compiler_ir=lambda: module, as_text=lambda: str(module))
    assert stablehlo.text_bytes(lowered, stablehlo.printed(module)) == len(str(module))
