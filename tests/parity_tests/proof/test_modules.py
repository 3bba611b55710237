"""Modules that differ in one thing have two digests; modules that are equal by a law have one.

Programs are texts of StableHLO. The reference interpreter runs both sides of each law.
"""

import importlib
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import mlir

from parity_tests.jax_internals import const_args
from parity_tests.observe.numbers import place_of_locations
from parity_tests.proof.attributes import static_shape
from parity_tests.proof.contents import content
from parity_tests.proof.modules import number_module
from parity_tests.proof.numbers import UndecidedError

CONTEXT = mlir.make_ir_context()


def parsed(text):
    return mlir.ir.Module.parse(text, CONTEXT)


def main(body, *, arguments="%x: tensor<4xf32>, %y: tensor<4xf32>", results="tensor<4xf32>"):
    """The text of a module whose function main has a body, and what is written behind it."""
    body, _, behind = body.partition("---")
    return f"func.func public @main({arguments}) -> ({results}) {{{body}}}{behind}"


def numbered(text, *arrays):
    return number_module(parsed(text), arrays)


def digest(text, *arrays):
    return numbered(text, *arrays).digest


PLAIN = main("""
    %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %0 = stablehlo.add %x, %y : tensor<4xf32>
    %1 = stablehlo.subtract %0, %c : tensor<4xf32>
    return %1 : tensor<4xf32>
""")
NUMBERS = main(
    """
    %c = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %d = stablehlo.constant dense<0.0> : tensor<2xbf16>
    %e = stablehlo.constant dense<[(1.0, 0.1), (2.0, 0x7FC00000)]> : tensor<2xcomplex<f32>>
    %f = stablehlo.constant dense<[1, -2]> : tensor<2xi4>
    %g = stablehlo.constant dense<[0.5, 1.0]> : tensor<2xf8E4M3FN>
    %h = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    return %c, %d, %e, %f, %g, %h
      : tensor<f32>, tensor<2xbf16>, tensor<2xcomplex<f32>>, tensor<2xi4>, tensor<2xf8E4M3FN>,
        tensor<2xi1>
    """,
    results="tensor<f32>, tensor<2xbf16>, tensor<2xcomplex<f32>>, tensor<2xi4>, "
    "tensor<2xf8E4M3FN>, tensor<2xi1>",
)
MARKED = """
    module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
      sdy.mesh @mesh = <["a"=2, "b"=1]>
      func.func public @main(
          %x: tensor<4xf32> {tf.aliasing_output = 0 : i32, mhlo.sharding = "{replicated}"},
          %y: tensor<4xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>},
          %z: tensor<4xf32> {mhlo.memory_kind = "device", mhlo.layout_mode = "default"})
          -> (tensor<4xf32> {mhlo.memory_kind = "device"}, tensor<4xf32>) {
        %0 = sdy.sharding_constraint %y <@mesh, [{"a"}]> : tensor<4xf32>
        return %x, %0 : tensor<4xf32>, tensor<4xf32>
      }
    }
"""
OPERATIONS = main(
    """
    %0 = stablehlo.dot_general %m, %m, contracting_dims = [1] x [0],
         precision = [DEFAULT, HIGHEST] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.compare LT, %m, %0, FLOAT
         : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.iota dim = 0 : tensor<4x4xf32>
    %4 = stablehlo.reduce_precision %2, format = e5m2 : tensor<4x4xf32>
    %5 = stablehlo.cholesky %4, lower = true : tensor<4x4xf32>
    %6 = stablehlo.select %1, %5, %3 : tensor<4x4xi1>, tensor<4x4xf32>
    %7 = stablehlo.exponential %6 {result_accuracy = #stablehlo.result_accuracy<
        mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4x4xf32>
    %8 = chlo.erf %7 : tensor<4x4xf32> -> tensor<4x4xf32>
    %9, %10 = chlo.top_k(%8, k = 4) : tensor<4x4xf32> -> (tensor<4x4xf32>, tensor<4x4xi32>)
    %11 = "stablehlo.sort"(%9) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %20 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %20 : tensor<i1>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %start = stablehlo.constant dense<0.0> : tensor<f32>
    %12 = "stablehlo.reduce"(%11, %start) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %20 = stablehlo.subtract %a, %b : tensor<f32>
      stablehlo.return %20 : tensor<f32>
    }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %13 = stablehlo.slice %12 [0:2:1] : (tensor<4xf32>) -> tensor<2xf32>
    %14 = stablehlo.concatenate %13, %13, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    %15 = stablehlo.sqrt %14 {mhlo.frontend_attributes = {kind = "a"}} : tensor<4xf32>
    return %15 : tensor<4xf32>
    """,
    arguments="%m: tensor<4x4xf32>",
)
CUSTOM_CALL = main("""
    %0 = stablehlo.custom_call @target(%x, %y) {
        api_version = 4 : i32, backend_config = {a = 1 : i64, b = "text"}, has_side_effect = false,
        called_computations = [@inner], mhlo.sharding = "{replicated}",
        operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>],
        result_layouts = [dense<0> : tensor<1xindex>],
        output_operand_aliases = [#stablehlo.output_operand_alias<
            output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]
    } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.composite "my.composite" %0 {
        composite_attributes = {k = 1 : i32}, decomposition = @inner, version = 1 : i32
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
    ---
    func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sine %a : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @other(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.tanh %a : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
""")
OLD_CUSTOM_CALL = main("""
    %0 = stablehlo.custom_call @target(%x, %y) {backend_config = "text"}
         : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
""")
COLLECTIVES = main(
    """
    %0 = "stablehlo.all_reduce"(%x) <{
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %20 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %20 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.all_reduce"(%y) <{
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
        replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %20 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %20 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
    """,
    results="tensor<4xf32>, tensor<4xf32>",
)
MANUAL = """
    module {
      sdy.mesh @mesh = <["a"=2, "b"=2]>
      func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
        %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
        %0 = sdy.manual_computation(%c, %x, %y)
            in_shardings=[<@mesh, [{}]>, <@mesh, [{}]>, <@mesh, [{}]>]
            out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a", "b"}
            (%1: tensor<4xf32>, %2: tensor<4xf32>, %3: tensor<4xf32>) {
          %4 = stablehlo.multiply %2, %1 : tensor<4xf32>
          %5 = stablehlo.subtract %4, %3 : tensor<4xf32>
          sdy.return %5 : tensor<4xf32>
        } : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
        return %0 : tensor<8xf32>
      }
    }
"""
# Each device has half of x and y.
DIVIDED = MANUAL.replace(
    "x: tensor<4xf32>, %y: tensor<4xf32>", "x: tensor<8xf32>, %y: tensor<8xf32>"
)
DIVIDED = DIVIDED.replace(
    ": (tensor<4xf32>, tensor<4xf32>, t", ": (tensor<4xf32>, tensor<8xf32>, t"
)
DIVIDED = DIVIDED.replace(", tensor<4xf32>) -> tensor<8", ", tensor<8xf32>) -> tensor<8")
DIVIDED = DIVIDED.replace("<@mesh, [{}]>, <@mesh, [{}]>]", '<@mesh, [{"a"}]>, <@mesh, [{"b"}]>]')
EFFECTS = main(
    """
    %0 = stablehlo.custom_call @first(%x) {has_side_effect = true}
         : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.custom_call @second(%y) {has_side_effect = true}
         : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "stablehlo.case"(%i) ({
      %20 = stablehlo.custom_call @third(%x) {has_side_effect = true}
            : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %20 : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    """,
    arguments="%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<i32>",
    results="tensor<4xf32>, tensor<4xf32>, tensor<4xf32>",
)
BRANCHES = main(
    """
    %0:2 = "stablehlo.case"(%i) ({
      %20 = stablehlo.sine %x : tensor<4xf32>
      stablehlo.return %20, %x : tensor<4xf32>, tensor<4xf32>
    }, {
      stablehlo.return %x, %y : tensor<4xf32>, tensor<4xf32>
    }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
    """,
    arguments="%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<i32>, %j: tensor<i32>",
    results="tensor<4xf32>, tensor<4xf32>",
)


def loop(start, body, *, condition="%i", result="%l#1", behind=""):
    """A loop over i, a and b, all of which start in `start`."""
    return main(f"""
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %three = stablehlo.constant dense<3> : tensor<i32>
        %two = stablehlo.constant dense<2.0> : tensor<4xf32>
        %l:3 = stablehlo.while(%i = %zero, %a = {start[0]}, %b = {start[1]})
            : tensor<i32>, tensor<4xf32>, tensor<4xf32>
          cond {{
            %20 = stablehlo.compare LT, {condition}, %three, SIGNED
                  : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %20 : tensor<i1>
          }} do {{
            %next = stablehlo.add %i, %one : tensor<i32>
            {body} : tensor<i32>, tensor<4xf32>, tensor<4xf32>
          }}
        %r = stablehlo.subtract {result}, %y : tensor<4xf32>
        return %r : tensor<4xf32>
        ---{behind}""")


LOOP = loop(
    ("%x", "%y"),
    """
            %21 = stablehlo.multiply %a, %b : tensor<4xf32>
            %22 = stablehlo.subtract %b, %two : tensor<4xf32>
            stablehlo.return %next, %21, %22""",
)
NESTED = loop(
    ("%x", "%y"),
    """
            %k:2 = stablehlo.while(%j = %i, %c = %x) : tensor<i32>, tensor<4xf32>
              cond {
                %30 = stablehlo.compare LT, %j, %three, SIGNED
                      : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %30 : tensor<i1>
              } do {
                %31 = stablehlo.add %j, %one : tensor<i32>
                %32 = stablehlo.subtract %c, %a : tensor<4xf32>
                stablehlo.return %31, %32 : tensor<i32>, tensor<4xf32>
              }
            %23 = stablehlo.multiply %k#1, %b : tensor<4xf32>
            stablehlo.return %next, %23, %b""",
)
CALLED = main("""
    %0 = func.call @f(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = func.call @f(%0, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
    ---
    func.func private @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.subtract %a, %b : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @g(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.subtract %b, %a : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
""")
UNUSED_EFFECTS = main("""
    %0 = stablehlo.custom_call @first(%x) {has_side_effect = true}
         : (tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
""")
UNUSED_EFFECT_IN_BRANCH = main(
    """
    "stablehlo.case"(%i) ({
      %20 = stablehlo.custom_call @first(%x) {has_side_effect = true}
            : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return
    }, {
      stablehlo.return
    }) : (tensor<i32>) -> ()
    return %x : tensor<4xf32>
    """,
    arguments="%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<i32>, %j: tensor<i32>",
)
DRAWS = main("""
    %0 = stablehlo.custom_call @draw() {has_side_effect = true} : () -> tensor<4xf32>
    %1 = stablehlo.custom_call @draw() {has_side_effect = true} : () -> tensor<4xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
""")
CALLED_DRAWS = main("""
    %0 = func.call @f() : () -> tensor<4xf32>
    %1 = func.call @f() : () -> tensor<4xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
    ---
    func.func private @f() -> tensor<4xf32> {
      %0 = stablehlo.custom_call @draw() {has_side_effect = true} : () -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
""")
ROUNDED = main("""
    %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
    %1 = stablehlo.convert %0 : (tensor<4xbf16>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
""")
BARRIER = main("""
    %0:2 = stablehlo.optimization_barrier %x, %y : tensor<4xf32>, tensor<4xf32>
    return %0#0 : tensor<4xf32>
""")
REGIONS = main("""
    %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>):
      %1 = "stablehlo.map"(%a) <{dimensions = array<i64>}> ({
      ^bb0(%b: tensor<f32>):
        %2 = stablehlo.subtract %a, %b : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<f32>) -> tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
""")
CHOSEN = main(
    """
    %0 = "stablehlo.case"(%i) ({
      stablehlo.return %x : tensor<4xf32>
    }, {
      stablehlo.return %y : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    %1 = "stablehlo.case"(%i) ({
      %20 = stablehlo.sine %0 : tensor<4xf32>
      stablehlo.return %20 : tensor<4xf32>
    }, {
      %20 = stablehlo.cosine %0 : tensor<4xf32>
      stablehlo.return %20 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
    """,
    arguments="%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<i32>, %j: tensor<i32>",
)
SHAPES = main(
    """
    return %x : tensor<4xf32>
    """,
    arguments='%n: tensor<i32> {jax.global_constant = "n"}, %t: !stablehlo.token '
    "{jax.token = true}, %x: tensor<4xf32>, %unused: tensor<4xf32>",
)

# A text, a part of it, and what stands in its place.
REPEATED = main("""
    %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %two = stablehlo.constant dense<2.0> : tensor<4x4xf32>
    %start = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %t = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %0 = stablehlo.subtract %r, %s : tensor<4x4xf32>
    %1 = stablehlo.divide %0, %t : tensor<4x4xf32>
    %2 = stablehlo.power %1, %two : tensor<4x4xf32>
    %3 = "stablehlo.reduce"(%2, %start) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %20 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %20 : tensor<f32>
    }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
""")
BEFORE = main("""
    %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %two = stablehlo.constant dense<2.0> : tensor<4xf32>
    %start = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.subtract %x, %y : tensor<4xf32>
    %1 = stablehlo.divide %0, %c : tensor<4xf32>
    %2 = stablehlo.power %1, %two : tensor<4xf32>
    %3 = "stablehlo.reduce"(%2, %start) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %20 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %20 : tensor<f32>
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<4xf32>
    return %4 : tensor<4xf32>
""")
DIFFERENCES = [
    (REPEATED, "%y, dims = [1]", "%y, dims = [0]"),
    (REPEATED, "%x, dims = [1]", "%x, dims = [0]"),
    (REPEATED, "%c, dims = [1]", "%c, dims = [0]"),
    (REPEATED, "%y, dims = [1]", "%x, dims = [1]"),
    (REPEATED, "3.0, 4.0]", "3.0, 5.0]"),
    (REPEATED, "dense<2.0>", "dense<3.0>"),
    (REPEATED, "subtract %r, %s", "subtract %s, %r"),
    (REPEATED, "power %1, %two", "power %two, %1"),
    (REPEATED, "%2 = stablehlo.power", "%2 = stablehlo.remainder"),
    (REPEATED, "dimensions = array<i64: 1>", "dimensions = array<i64: 0>"),
    (REPEATED, "add %a, %b", "maximum %a, %b"),
    (REPEATED, "dense<0.0>", "dense<-0.0>"),
    (REPEATED, "power %1, %two", 'power %1, %two {mhlo.sharding = "{replicated}"}'),
    (REPEATED, "power %1, %two", 'power %1, %two {mhlo.frontend_attributes = {a = "b"}}'),
    (PLAIN, "add %x, %y", "maximum %x, %y"),
    (PLAIN, "subtract %0, %c", "subtract %c, %0"),
    (PLAIN, "add %x, %y", "add %x, %x"),
    (PLAIN, "[1.0, 2.0, 3.0, 4.0]", "[1.0, 2.0, 3.0, 4.0000005]"),
    (PLAIN, "[1.0, 2.0, 3.0, 4.0]", "1.0"),
    (PLAIN, "return %1", "return %0"),
    (PLAIN, "return %1", "return %x"),
    (PLAIN, "%x: tensor<4xf32>, %y", "%y: tensor<4xf32>, %x"),
    (PLAIN, "f32", "f64"),
    (PLAIN, "%y: tensor<4xf32>)", "%y: tensor<4xf32>, %unused: tensor<4xf32>)"),
    (NUMBERS, "0x7FC00000> : tensor<f32>", "0x7FC00001> : tensor<f32>"),
    (NUMBERS, "dense<0.0>", "dense<-0.0>"),
    (NUMBERS, "dense<0.0>", "dense<0x7FC1>"),
    (NUMBERS, "(1.0, 0.1)", "(1.0, 0.10000001)"),
    (NUMBERS, "(1.0, 0.1)", "(0.1, 1.0)"),
    (NUMBERS, "0x7FC00000)]", "0x7FC00001)]"),
    (NUMBERS, "[1, -2]", "[1, 2]"),
    (NUMBERS, "[0.5, 1.0]", "[1.0, 0.5]"),
    (NUMBERS, "f8E4M3FN", "f8E5M2"),
    (NUMBERS, "[true, false]", "true"),
    (MARKED, "num_partitions = 2", "num_partitions = 1"),
    (MARKED, "num_replicas = 1", "num_replicas = 2"),
    (MARKED, "aliasing_output = 0", "aliasing_output = 1"),
    (MARKED, "tf.aliasing_output = 0 : i32, ", ""),
    (MARKED, 'mhlo.sharding = "{replicated}"', 'mhlo.sharding = "{maximal device=0}"'),
    (MARKED, "jax.buffer_donor = true, ", ""),
    (MARKED, "buffer_donor = true", "buffer_donor = false"),
    (MARKED, 'sharding = #sdy.sharding<@mesh, [{"a"}]>', "sharding = #sdy.sharding<@mesh, [{}]>"),
    (MARKED, '["a"=2, "b"=1]', '["a"=1, "b"=2]'),
    (MARKED, '"b"=1]>', '"b"=1]> {stablehlo.mesh = {kind = "a"}}'),
    (MARKED, '["a"=2, "b"=1]', '["a"=2, "b"=1], device_ids=[1, 0]'),
    (MARKED, '%y <@mesh, [{"a"}]>', '%y <@mesh, [{"b"}]>'),
    (MARKED, 'memory_kind = "device", mhlo', 'memory_kind = "pinned_host", mhlo'),
    (MARKED, 'layout_mode = "default"', 'layout_mode = "auto"'),
    (MARKED, '(tensor<4xf32> {mhlo.memory_kind = "device"}', "(tensor<4xf32>"),
    (MANUAL, "(%c, %x, %y)", "(%c, %y, %x)"),
    (MANUAL, "(%c, %x, %y)", "(%c, %x, %x)"),
    (MANUAL, "(%c, %x, %y)", "(%y, %x, %y)"),
    (MANUAL, "subtract %4, %3", "subtract %4, %1"),
    (MANUAL, "[1.0, 2.0, 3.0, 4.0]", "[1.0, 2.0, 4.0, 3.0]"),
    (MANUAL, '"b"=2]>', '"b"=2], device_ids=[0, 2, 1, 3]>'),
    (MANUAL, '[{"a"}]', '[{"b"}]'),
    (DIVIDED, '[{"a"}]>, <', '[{"b"}]>, <'),
    (DIVIDED, '[{"b"}]', '[{"a"}]'),
    (OPERATIONS, "precision = [DEFAULT, HIGHEST]", "precision = [HIGHEST, HIGHEST]"),
    (OPERATIONS, "contracting_dims = [1] x [0]", "contracting_dims = [0] x [0]"),
    (OPERATIONS, "compare LT, %m", "compare LE, %m"),
    (OPERATIONS, "%0, FLOAT", "%0, TOTALORDER"),
    (OPERATIONS, "dims = [1, 0]", "dims = [0, 1]"),
    (OPERATIONS, "iota dim = 0", "iota dim = 1"),
    (OPERATIONS, "e5m2", "e5m3"),
    (OPERATIONS, "lower = true", "lower = false"),
    (OPERATIONS, "mode<HIGHEST>", "mode<DEFAULT>"),
    (OPERATIONS, "chlo.erf %7", "chlo.erfc %7"),
    (OPERATIONS, "is_stable = true", "is_stable = false"),
    (OPERATIONS, "dimension = 1", "dimension = 0"),
    (OPERATIONS, "compare LT, %a, %b", "compare LT, %b, %a"),
    (OPERATIONS, "dimensions = array<i64: 1>", "dimensions = array<i64: 0>"),
    (OPERATIONS, "subtract %a, %b", "subtract %b, %a"),
    (OPERATIONS, "dense<0.0>", "dense<1.0>"),
    (OPERATIONS, "[0:2:1]", "[1:3:1]"),
    (OPERATIONS, "[0:2:1]", "[0:4:2]"),
    (OPERATIONS, 'kind = "a"', 'kind = "b"'),
    (OPERATIONS, ' {mhlo.frontend_attributes = {kind = "a"}}', ""),
    (CUSTOM_CALL, "@target", "@other"),
    (CUSTOM_CALL, "a = 1 : i64", "a = 2 : i64"),
    (CUSTOM_CALL, "a = 1 : i64", "a = 1 : i32"),
    (CUSTOM_CALL, 'b = "text"', 'c = "text"'),
    (CUSTOM_CALL, "has_side_effect = false", "has_side_effect = true"),
    (CUSTOM_CALL, "called_computations = [@inner], ", ""),
    (CUSTOM_CALL, 'sharding = "{replicated}"', 'sharding = "{maximal device=0}"'),
    (CUSTOM_CALL, "operand_index = 0", "operand_index = 1"),
    (CUSTOM_CALL, "my.composite", "my.other"),
    (CUSTOM_CALL, "k = 1", "k = 2"),
    (CUSTOM_CALL, "version = 1 : i32\n", "version = 2 : i32\n"),
    (CUSTOM_CALL, "sine", "cosine"),
    (CUSTOM_CALL, "called_computations = [@inner]", "called_computations = [@other]"),
    (CUSTOM_CALL, "decomposition = @inner", "decomposition = @other"),
    (OLD_CUSTOM_CALL, '"text"', '"texts"'),
    (OLD_CUSTOM_CALL, '"text"', '"0.949999988"'),
    (OLD_CUSTOM_CALL, "{backend_config", "{callee = 1 : i32, backend_config"),
    (OLD_CUSTOM_CALL, "{backend", "{api_version = 2 : i32, backend"),
    (COLLECTIVES, "handle = 2", "handle = 1"),
    (COLLECTIVES.replace(", use_global_device_ids", ""), "handle = 1", "handle = 0"),
    (COLLECTIVES, "handle = 2, type = 1", "handle = 2, type = 0"),
    (COLLECTIVES, "[[0, 1]]", "[[1, 0]]"),
    (COLLECTIVES, ", use_global_device_ids}", "}"),
    (COLLECTIVES, "add %a, %b", "maximum %a, %b"),
    (EFFECTS, "@first(%x)", "@first(%y)"),
    (EFFECTS, "return %0, %1, %2", "return %1, %0, %2"),
    (EFFECTS, "@first(%x) {has_side_effect = true}", "@first(%x) {has_side_effect = false}"),
    (EFFECTS, "@third(%x)", "@third(%y)"),
    (BRANCHES, "(%i)", "(%j)"),
    (BRANCHES, "stablehlo.return %x, %y", "stablehlo.return %y, %y"),
    (BRANCHES, "return %0#0, %0#1", "return %0#1, %0#0"),
    (BRANCHES, "sine", "cosine"),
    (LOOP, "%a = %x", "%a = %y"),
    (LOOP, "dense<0>", "dense<1>"),
    (LOOP, "dense<3>", "dense<4>"),
    (LOOP, "compare LT, %i", "compare LE, %i"),
    (LOOP, "subtract %b, %two", "subtract %two, %b"),
    (LOOP, "return %next, %21, %22", "return %next, %22, %21"),
    (LOOP, "subtract %l#1, %y", "subtract %l#2, %y"),
    (LOOP, "return %next, %21, %22", "return %next, %21, %b"),
    (NESTED, "subtract %c, %a", "subtract %a, %c"),
    (NESTED, "subtract %c, %a", "subtract %c, %c"),
    (NESTED, "subtract %c, %a", "subtract %a, %a"),
    (NESTED, "%j = %i", "%j = %zero"),
    (NESTED, "compare LT, %j", "compare LT, %i"),
    (CALLED, "@f(%0, %y)", "@f(%y, %0)"),
    (CALLED, "@f(%0, %y)", "@f(%x, %y)"),
    (CALLED, "@f(%0, %y)", "@g(%0, %y)"),
    (CALLED, "@f(%0, %y)", '@f(%0, %y) {mhlo.frontend_attributes = {a = "b"}}'),
    (CALLED, "subtract %a, %b", "add %a, %b"),
    (CALLED_DRAWS, "subtract %0, %1", "subtract %0, %0"),
    (CALLED_DRAWS, "subtract %0, %1", "subtract %1, %0"),
    (UNUSED_EFFECTS, "@first", "@second"),
    (UNUSED_EFFECTS, "@first(%x)", "@first(%y)"),
    (UNUSED_EFFECT_IN_BRANCH, "@first", "@second"),
    (UNUSED_EFFECT_IN_BRANCH, "(%i)", "(%j)"),
    (DRAWS, "subtract %0, %1", "subtract %0, %0"),
    (DRAWS, "subtract %0, %1", "subtract %1, %0"),
    (EFFECTS, "return %0, %1, %2", "return %0, %1, %0"),
    (EFFECTS, "@third", "@fourth"),
    (ROUNDED, "bf16", "f16"),
    (BARRIER, "barrier %x, %y", "barrier %y, %x"),
    (BARRIER, "barrier %x, %y", "barrier %x, %x"),
    (BARRIER, "%0#0", "%x"),
    (REGIONS, "subtract %a, %b", "subtract %b, %a"),
    (REGIONS, "subtract %a, %b", "subtract %a, %a"),
    (CHOSEN, '%0 = "stablehlo.case"(%i)', '%0 = "stablehlo.case"(%j)'),
    (CHOSEN, '%1 = "stablehlo.case"(%i)', '%1 = "stablehlo.case"(%j)'),
    (CHOSEN, "cosine %0", "cosine %x"),
    (SHAPES, '"n"', '"m"'),
    (SHAPES, ' {jax.global_constant = "n"}', ""),
    (SHAPES, "%unused: tensor<4xf32>", "%unused: tensor<5xf32>"),
]


OF_ONE = "(tensor<1xf32>, tensor<f32>) -> tensor<f32>"
SUM = """
    %start = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = "stablehlo.reduce"(%0, %start) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %20 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %20 : tensor<f32>
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
"""


def test_what_is_stretched_or_moved_is_not_what_is_repeated():
    def broadcast(of, axes):
        text = f"""
            %0 = stablehlo.broadcast_in_dim %x, dims = {axes} : ({of}) -> tensor<4x3x4x1xf32>
            %1 = stablehlo.sine %0 : tensor<4x3x4x1xf32>
            return %1 : tensor<4x3x4x1xf32>
        """
        return digest(main(text, arguments=f"%x: {of}", results="tensor<4x3x4x1xf32>"))

    for of, axes in (
        ("tensor<4xf32>", ([0], [2])),
        ("tensor<4x4xf32>", ([0, 2], [2, 0])),
        ("tensor<1x1xf32>", ([0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3])),
    ):
        assert len({broadcast(of, each) for each in axes}) == len(axes)
    of_four = (
        "%0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<1xf32>) -> tensor<3x4xf32>" + SUM
    )
    whole = """
        %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<3xf32>
        return %2 : tensor<3xf32>
    """
    of_one = (
        SUM.replace("return %1 : tensor<3xf32>", whole)
        .replace("(%0, %start)", "(%x, %start)")
        .replace("array<i64: 1>", "array<i64: 0>")
        .replace("(tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>", OF_ONE)
    )
    of_four, of_one = (
        main(each, arguments="%x: tensor<1xf32>", results="tensor<3xf32>")
        for each in (of_four, of_one)
    )
    assert evaluated(of_four, ()) != evaluated(of_one, ())
    assert digest(of_four) != digest(of_one)


@pytest.mark.parametrize(
    "marks", ['mhlo.sharding = "{maximal device=0}"', 'mhlo.frontend_attributes = {a = "b"}']
)
def test_what_is_said_of_a_whole_array_is_not_said_of_what_is_repeated(marks):
    one, two = (each.replace("%1, %two", f"%1, %two {{{marks}}}") for each in (REPEATED, BEFORE))
    assert digest(one) != digest(two)


@pytest.mark.parametrize(("text", "part", "other"), DIFFERENCES)
def test_two_modules_that_differ_in_one_thing_have_two_digests(text, part, other):
    assert part in text
    assert digest(text) != digest(text.replace(part, other))


def test_effects_in_another_order_have_another_digest():
    start, first, rest = EFFECTS.partition("%0 =")[0], *EFFECTS.partition("%0 =")[2].split("%1 =")
    second, _, rest = rest.partition("%2 =")
    assert digest(EFFECTS) != digest(f"{start}%1 ={second}%0 ={first}%2 ={rest}")
    assert len(numbered(EFFECTS).effects) == 3


def with_tokens(first, second, third, returned):
    """The text of a program with two tokens, that calls three functions one after the other."""
    token = "!stablehlo.token {jax.token = true}"
    calls = "".join(
        f"%{result} = stablehlo.custom_call @{name}(%{taken}) "
        "{has_side_effect = true} : (!stablehlo.token) -> !stablehlo.token\n"
        for name, taken, result in (("f", first, "u"), ("g", second, "v"), ("h", third, "w"))
    )
    returned = ", ".join(f"%{each}" for each in returned.split())
    body = f"{calls} return {returned} : !stablehlo.token, !stablehlo.token"
    return main(body, arguments=f"%s: {token}, %t: {token}", results=f"{token}, {token}")


def test_tokens_are_passed_and_returned_in_any_order():
    one = digest(with_tokens("s", "t", "u", returned="w v"))
    assert one == digest(with_tokens("t", "s", "u", returned="v w"))
    # Which effects come after each other stands in the tokens.
    assert len({one, *(digest(with_tokens(*each)) for each in OTHER_TOKENS)}) == 4


OTHER_TOKENS = [("s", "t", "v", "u w"), ("s", "u", "v", "t w"), ("s", "u", "t", "v w")]


# -- laws -----------------------------------------------------------------------------------------

ROW = np.float32([1, 2, 3, 4])
CONST = "%c: tensor<4xf32> {jax.const = true}, "


def with_const_arg(text):
    """PLAIN and others with their constant %c as a const arg."""
    head, _, rest = text.partition("%c = stablehlo.constant")
    return head.replace("@main(", f"@main({CONST}") + rest.partition("\n")[2]


def inner_loop(name):
    return f"""
        {name}:2 = stablehlo.while(%j = %zero, %k = %x) : tensor<i32>, tensor<4xf32>
          cond {{
            %20 = stablehlo.compare LT, %j, %three, SIGNED
                  : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %20 : tensor<i1>
          }} do {{
            %30 = stablehlo.add %j, %one : tensor<i32>
            %31 = stablehlo.subtract %k, %y : tensor<4xf32>
            stablehlo.return %30, %31 : tensor<i32>, tensor<4xf32>
          }}"""


INNER_LOOP = f"""
    func.func private @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>{inner_loop("%m")}
      return %m#1 : tensor<4xf32>
    }}"""
CALLS_INNER_LOOP = "%m = func.call @f(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"


def loops(inner, result, behind=""):
    """A loop before another loop, and the same loop in it."""
    return loop(
        ("%x", result),
        f"""{inner.replace("%m", "%n")}
            %21 = stablehlo.subtract %a, {result.replace("%m", "%n")} : tensor<4xf32>
            %22 = stablehlo.subtract %b, %a : tensor<4xf32>
            stablehlo.return %next, %21, %22""",
        result="%l#2",
        behind=behind,
    ).replace("%l:3 =", f"{inner}\n%l:3 =")


LAWS = {
    "a call is its body, at each level": (
        loops(CALLS_INNER_LOOP, "%m", INNER_LOOP),
        loops(inner_loop("%m"), "%m#1"),
    ),
    "names and places say nothing": (
        PLAIN,
        PLAIN.replace("%x", "%first").replace(
            "%y: tensor<4xf32>)", '%y: tensor<4xf32> {jax.arg_info = "y"} loc("y"))'
        ),
    ),
    "names of results say nothing": (
        PLAIN,
        PLAIN.replace("-> (tensor<4xf32>)", '-> (tensor<4xf32> {jax.result_info = "result"})'),
    ),
    "names of functions say nothing": (CALLED, CALLED.replace("@f", "@h")),
    "a call is its body": (
        CALLED,
        main("""
            %0 = stablehlo.subtract %x, %y : tensor<4xf32>
            %1 = stablehlo.subtract %0, %y : tensor<4xf32>
            return %1 : tensor<4xf32>
        """),
    ),
    "the order of operations without effects says nothing": (
        PLAIN,
        main("""
            %0 = stablehlo.add %x, %y : tensor<4xf32>
            %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
            %dead = stablehlo.subtract %c, %y : tensor<4xf32>
            %1 = stablehlo.subtract %0, %c : tensor<4xf32>
            return %1 : tensor<4xf32>
        """),
    ),
    "a const arg is a constant": (PLAIN, with_const_arg(PLAIN), ROW),
    "a const arg that is passed down is a constant in the body": (
        main("""
            %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
            return %0 : tensor<4xf32>
            ---
            func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
              %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
              %0 = stablehlo.subtract %a, %c : tensor<4xf32>
              return %0 : tensor<4xf32>
            }
        """),
        main(
            """
            %0 = func.call @f(%c, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
            return %0 : tensor<4xf32>
            ---
            func.func private @f(%c: tensor<4xf32> {jax.const = true}, %a: tensor<4xf32>)
                -> tensor<4xf32> {
              %0 = stablehlo.subtract %a, %c : tensor<4xf32>
              return %0 : tensor<4xf32>
            }
            """,
            arguments=f"{CONST}%x: tensor<4xf32>, %y: tensor<4xf32>",
        ),
        ROW,
    ),
    "a splat is a broadcast of its element": (
        PLAIN.replace("[1.0, 2.0, 3.0, 4.0]", "3.0"),
        PLAIN.replace("dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>", "dense<3.0> : tensor<f32>")
        .replace(
            "%0 = ",
            "%d = stablehlo.broadcast_in_dim %c, dims = []\n"
            "         : (tensor<f32>) -> tensor<4xf32>\n    %0 = ",
        )
        .replace("%0, %c", "%0, %d"),
    ),
    "a broadcast of an array is an array": (
        main(
            """
            %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
            %d = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
            %0 = stablehlo.add %d, %m : tensor<3x4xf32>
            return %0 : tensor<3x4xf32>
            """,
            arguments="%m: tensor<3x4xf32>",
            results="tensor<3x4xf32>",
        ),
        main(
            "%0 = stablehlo.add %c, %m : tensor<3x4xf32> return %0 : tensor<3x4xf32>",
            arguments="%c: tensor<3x4xf32> {jax.const = true}, %m: tensor<3x4xf32>",
            results="tensor<3x4xf32>",
        ),
        np.tile(ROW, (3, 1)),
    ),
    "an array passes through a barrier": (
        main("""
            %c = stablehlo.constant dense<2.0> : tensor<4xf32>
            %0:3 = stablehlo.optimization_barrier %x, %c, %y
              : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
            %1 = stablehlo.subtract %0#0, %0#1 : tensor<4xf32>
            %2 = stablehlo.subtract %1, %0#2 : tensor<4xf32>
            return %2 : tensor<4xf32>
        """),
        main("""
            %c = stablehlo.constant dense<2.0> : tensor<4xf32>
            %0:2 = stablehlo.optimization_barrier %x, %y : tensor<4xf32>, tensor<4xf32>
            %1 = stablehlo.subtract %0#0, %c : tensor<4xf32>
            %2 = stablehlo.subtract %1, %0#1 : tensor<4xf32>
            return %2 : tensor<4xf32>
        """),
    ),
    "carried values have no order": (
        LOOP,
        LOOP.replace("%a = %x, %b = %y", "%b = %y, %a = %x")
        .replace("%next, %21, %22", "%next, %22, %21")
        .replace("%l#1", "%l#2"),
    ),
    "carried values with equal starts have no order": (
        LOOP.replace("%b = %y", "%b = %x"),
        LOOP.replace("%a = %x, %b = %y", "%b = %x, %a = %x")
        .replace("%next, %21, %22", "%next, %22, %21")
        .replace("%l#1", "%l#2"),
    ),
    "a carried value that nobody needs is none": (
        loop(
            ("%x", "%y"),
            """%21 = stablehlo.multiply %a, %two : tensor<4xf32>
            %22 = stablehlo.subtract %b, %a : tensor<4xf32>
            stablehlo.return %next, %21, %22""",
        ),
        loop(
            ("%x", "%x"),
            """%21 = stablehlo.multiply %a, %two : tensor<4xf32>
            stablehlo.return %next, %21, %b""",
        ),
    ),
    "a carried value that never changes is its start": (
        loop(
            ("%x", "%two"),
            """%21 = stablehlo.multiply %a, %b : tensor<4xf32>
            stablehlo.return %next, %21, %b""",
        ),
        loop(
            ("%x", "%y"),
            """%21 = stablehlo.multiply %a, %two : tensor<4xf32>
            stablehlo.return %next, %21, %b""",
        ),
    ),
    "a carried value that a function returns as it is never changes": (
        loop(
            ("%x", "%two"),
            """%21:2 = func.call @f(%a, %b) : (tensor<4xf32>, tensor<4xf32>)
                -> (tensor<4xf32>, tensor<4xf32>)
            stablehlo.return %next, %21#0, %21#1""",
            behind="""
            func.func private @f(%a: tensor<4xf32>, %b: tensor<4xf32>)
                -> (tensor<4xf32>, tensor<4xf32>) {
              %0 = stablehlo.multiply %a, %b : tensor<4xf32>
              return %0, %b : tensor<4xf32>, tensor<4xf32>
            }""",
        ),
        loop(
            ("%x", "%y"),
            """%21 = stablehlo.multiply %a, %two : tensor<4xf32>
            stablehlo.return %next, %21, %b""",
        ),
    ),
    "what all branches return is no choice": (
        main(
            """
            %c = stablehlo.constant dense<2.0> : tensor<4xf32>
            %0:2 = "stablehlo.case"(%i) ({
              %20 = stablehlo.sine %x : tensor<4xf32>
              stablehlo.return %20, %c : tensor<4xf32>, tensor<4xf32>
            }, {
              stablehlo.return %x, %c : tensor<4xf32>, tensor<4xf32>
            }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
            %1 = stablehlo.add %0#0, %0#1 : tensor<4xf32>
            return %1 : tensor<4xf32>
            """,
            arguments="%x: tensor<4xf32>, %i: tensor<i32>",
        ),
        main(
            """
            %c = stablehlo.constant dense<2.0> : tensor<4xf32>
            %0 = "stablehlo.case"(%i) ({
              %20 = stablehlo.sine %x : tensor<4xf32>
              stablehlo.return %20 : tensor<4xf32>
            }, {
              stablehlo.return %x : tensor<4xf32>
            }) : (tensor<i32>) -> tensor<4xf32>
            %1 = stablehlo.add %0, %c : tensor<4xf32>
            return %1 : tensor<4xf32>
            """,
            arguments="%x: tensor<4xf32>, %i: tensor<i32>",
        ),
    ),
    "a selection of one value is that value": (
        main("""
            %0 = stablehlo.compare LT, %x, %y, FLOAT
                 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
            %1 = stablehlo.select %0, %y, %y : tensor<4xi1>, tensor<4xf32>
            return %1 : tensor<4xf32>
        """),
        main("return %y : tensor<4xf32>"),
    ),
    "a branch knows what was chosen by its index": (
        CHOSEN,
        main(
            """
            %1 = "stablehlo.case"(%i) ({
              %20 = stablehlo.sine %x : tensor<4xf32>
              stablehlo.return %20 : tensor<4xf32>
            }, {
              %20 = stablehlo.cosine %y : tensor<4xf32>
              stablehlo.return %20 : tensor<4xf32>
            }) : (tensor<i32>) -> tensor<4xf32>
            return %1 : tensor<4xf32>
            """,
            arguments="%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<i32>, %j: tensor<i32>",
        ),
    ),
    "what is computed of repeated values is repeated": (REPEATED, BEFORE),
    "an axis may be repeated twice": (
        REPEATED,
        REPEATED.replace(
            "%s = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4xf32>)",
            "%q = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>\n"
            "    %s = stablehlo.broadcast_in_dim %q, dims = [0, 1] : (tensor<1x4xf32>)",
        ),
    ),
    "what is repeated along one axis alone is computed on both": (
        main(
            """
            %r = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<4x4x4xf32>
            %s = stablehlo.broadcast_in_dim %y, dims = [2] : (tensor<4xf32>) -> tensor<4x4x4xf32>
            %0 = stablehlo.subtract %r, %s : tensor<4x4x4xf32>
            return %0 : tensor<4x4x4xf32>
            """,
            results="tensor<4x4x4xf32>",
        ),
        main(
            """
            %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
            %s = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
            %0 = stablehlo.subtract %r, %s : tensor<4x4xf32>
            %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2]
                 : (tensor<4x4xf32>) -> tensor<4x4x4xf32>
            return %1 : tensor<4x4x4xf32>
            """,
            results="tensor<4x4x4xf32>",
        ),
    ),
    "branches without effects need no order among their results": (
        BRANCHES,
        BRANCHES.replace("return %20, %x", "return %x, %20")
        .replace("return %x, %y", "return %y, %x")
        .replace("return %0#0, %0#1", "return %0#1, %0#0"),
    ),
}


def evaluated(text, arrays):
    """What the reference interpreter makes of a module; `arrays` are passed for its const args."""
    module = parsed(text)
    interpreter = importlib.import_module("jaxlib.mlir.dialects.stablehlo")
    [function, *_] = module.body.operations
    block = function.operation.regions[0].blocks[0]
    random = np.random.default_rng(0)
    operands = list(arrays)
    for argument in list(block.arguments)[len(arrays) :]:
        shape, is_index = argument.type.shape, str(argument.type.element_type) == "i32"
        operands.append(
            np.array(random.integers(0, 2), np.int32)
            if is_index
            else random.normal(size=tuple(shape)).astype(np.float32)
        )
    with CONTEXT:
        passed = [mlir.ir.DenseElementsAttr.get(each) for each in operands]
    return [np.array(each).tobytes() for each in interpreter.eval_module(module, passed)]


@pytest.mark.parametrize("law", LAWS)
def test_modules_that_are_one_by_a_law_have_one_digest_and_one_value(law):
    one, other, *arrays = LAWS[law]
    assert one != other
    assert digest(one) == digest(other, *arrays)
    assert evaluated(one, ()) == evaluated(other, arrays)


@pytest.mark.parametrize(
    "other",
    [
        MANUAL.replace("(%c, %x", "(%x")
        .replace("[<@mesh, [{}]>, ", "[")
        .replace("(%1: tensor<4xf32>, ", "(")
        .replace(": (tensor<4xf32>, ", ": (")
        .replace(
            "%4", "%1 = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n%4", 1
        ),
        MANUAL.replace("(%c, %x, %y)", "(%x, %c, %y)").replace(
            "multiply %2, %1", "multiply %1, %2"
        ),
        MANUAL.replace("(%c, %x", "(%c, %c, %x")
        .replace("[<", "[<@mesh, [{}]>, <", 1)
        .replace("(%1:", "(%0: tensor<4xf32>, %1:")
        .replace(": (", ": (tensor<4xf32>, "),
        MANUAL.replace("[{}]", "[{?}]", 1),
    ],
    ids=["written inside", "in another place", "passed twice", "open"],
)
def test_each_device_has_an_array_that_is_not_divided_however_it_is_passed(other):
    assert other != MANUAL
    assert digest(MANUAL) == digest(other)


def test_a_constant_that_is_divided_is_not_its_part():
    half = MANUAL.replace("[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>", "1.0> : tensor<8xf32>")
    half = half.replace("[<@mesh, [{}]>", '[<@mesh, [{"a"}]>', 1)
    half = half.replace(": (tensor<4xf32>", ": (tensor<8xf32>")
    other = MANUAL.replace("[1.0, 2.0, 3.0, 4.0]", "1.0")
    assert digest(half) != digest(half.replace('[<@mesh, [{"a"}]>', '[<@mesh, [{"b"}]>', 1))
    assert digest(half) != digest(other)


def test_channels_have_no_names():
    others = COLLECTIVES.replace("handle = 2", "handle = 7").replace("handle = 1,", "handle = 9,")
    assert digest(COLLECTIVES) == digest(others)


def test_carried_values_that_only_look_alike_are_told_apart():
    """Both start in x, and one of them is returned: which one is found by what becomes of it."""
    text = LOOP.replace("%b = %y", "%b = %x")
    assert digest(text) != digest(text.replace("%l#1", "%l#2"))
    assert digest(text) != digest(text.replace("%next, %21, %22", "%next, %22, %21"))
    crossed = loop(
        ("%x", "%x"),
        """%21 = stablehlo.multiply %b, %two : tensor<4xf32>
        %22 = stablehlo.subtract %a, %two : tensor<4xf32>
        stablehlo.return %next, %21, %22""",
    )
    assert digest(crossed) != digest(crossed.replace("%l#1", "%l#2"))


def test_carried_values_are_told_apart_by_what_others_become():
    """All start in x. After one turn, a and b are sin(x); after the next, they differ."""
    text = main("""
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %three = stablehlo.constant dense<3> : tensor<i32>
        %l:4 = stablehlo.while(%i = %zero, %a = %x, %b = %x, %c = %x)
            : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
          cond {
            %20 = stablehlo.compare LT, %i, %three, SIGNED
                  : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %20 : tensor<i1>
          } do {
            %next = stablehlo.add %i, %one : tensor<i32>
            %21 = stablehlo.sine %c : tensor<4xf32>
            %22 = stablehlo.sine %b : tensor<4xf32>
            %23 = stablehlo.cosine %c : tensor<4xf32>
            stablehlo.return %next, %21, %22, %23
              : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
          }
        %r = stablehlo.subtract %l#1, %l#2 : tensor<4xf32>
        return %r : tensor<4xf32>
    """)
    assert digest(text) != digest(text.replace("%l#1, %l#2", "%l#2, %l#1"))
    assert digest(text) != digest(text.replace("%l#1, %l#2", "%l#2, %l#2"))


def test_loops_with_equal_starts_within_each_other_share_no_symbol():
    text = NESTED.replace("%j = %i, %c = %x", "%j = %zero, %c = %x")
    assert digest(text) != digest(text.replace("subtract %c, %a", "subtract %a, %c"))
    assert digest(text) != digest(text.replace("subtract %c, %a", "subtract %a, %a"))
    assert digest(text) != digest(text.replace("add %j, %one", "add %i, %one"))


def test_an_effect_in_a_loop_is_not_that_before_it():
    text = loop(
        ("%x", "%e"),
        """%21 = stablehlo.custom_call @draw() {has_side_effect = true} : () -> tensor<4xf32>
        %22 = stablehlo.add %a, %21 : tensor<4xf32>
        stablehlo.return %next, %22, %b""",
    ).replace(
        "%l:3 =",
        "%e = stablehlo.custom_call @draw() {has_side_effect = true} : () -> tensor<4xf32>\n%l:3 =",
    )
    assert digest(text) != digest(text.replace("add %a, %21", "add %a, %e"))
    unused = text.replace("add %a, %21", "add %a, %a")
    assert digest(unused) != digest(
        unused.replace("%21 = stablehlo.custom_call @draw", "%21 = stablehlo.custom_call @other")
    )
    assert len(numbered(text).effects) == 2


# -- calls ----------------------------------------------------------------------------------------


def chain(depth, *, second="%0, %y", last="subtract", result="%1"):
    """A function that calls one twice that calls one twice, and so on."""
    functions = "".join(
        f"""
        func.func private @f{i}(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
          %0 = func.call @f{i + 1}(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          %1 = func.call @f{i + 1}({second}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          return {result} : tensor<4xf32>
        }}"""
        for i in range(depth)
    )
    return main(f"""
        %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
        %0 = func.call @f0(%x, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
        ---{functions}
        func.func private @f{depth}(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
          %0 = stablehlo.{last} %x, %y : tensor<4xf32>
          return %0 : tensor<4xf32>
        }}""")


@pytest.mark.parametrize("second", ["%x, %y", "%0, %y", "%y, %0", "%0, %0"])
def test_sixty_functions_that_call_each_other_twice_are_numbered_at_once(second):
    text = chain(60, second=second)
    found = numbered(text)
    assert len(found.steps) < 200
    assert found.by_calls == found.digest
    assert found.digest != digest(chain(60, second=second, last="add"))
    assert found.digest == digest(with_const_arg(text), ROW)


def test_calls_that_are_not_expanded_keep_their_operands():
    text = chain(60)
    assert digest(text) != digest(chain(60, second="%y, %0"))
    assert digest(text) != digest(text.replace("@f0(%x, %c)", "@f0(%y, %c)"))
    assert digest(text) != digest(text.replace("@f0(%x, %c)", "@f0(%c, %x)"))
    assert digest(text) != digest(text.replace("4.0]", "5.0]"))
    assert digest(text) != digest(text.replace("@f30(%0", "@f30(%x"))


def test_functions_that_are_nested_too_deeply_are_undecided():
    with pytest.raises(UndecidedError, match="nested too deeply"):
        digest(chain(1000))


def test_a_program_near_the_bound_is_numbered_in_both_ways():
    large, small = numbered(chain(11)), numbered(chain(3))
    assert large.by_calls != b""
    assert small.by_calls == b""
    # Of functions that are equal, one counts.
    again = numbered(
        chain(11).replace("@f11(%0", "@g(%0")
        + """
        func.func private @g(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.subtract %x, %y : tensor<4xf32>
          return %0 : tensor<4xf32>
        }"""
    )
    assert (again.digest, again.by_calls) == (large.digest, large.by_calls)


# -- what is undecided ----------------------------------------------------------------------------


UNDECIDED = [
    (
        OLD_CUSTOM_CALL.replace("@target", "@xla_ffi_python_cpu_callback"),
        'a custom call of "xla_ffi_python_cpu_callback"',  # without its place
    ),
    (
        OLD_CUSTOM_CALL.replace('"text"', '"140213402132"'),
        'a custom call of "target", whose backend_config may hold an address',
    ),
    (
        OLD_CUSTOM_CALL.replace("@target", "@InspectSharding").replace("text", ""),
        'a custom call of "InspectSharding"',
    ),
    (
        main("%0 = arith.addf %x, %y : tensor<4xf32> return %0 : tensor<4xf32>"),
        "the operation arith.addf",
    ),
    (
        PLAIN.replace("add %x, %y", "add %x, %y {my.place = affine_map<() -> ()>}"),
        "an attribute of kind AffineMapAttr: affine_map<() -> ()>",
    ),
    (
        PLAIN.replace("add %x, %y", "add %x, %y {my.callee = @other}"),
        "an attribute of kind FlatSymbolRefAttr: @other",
    ),
    (
        PLAIN.replace("add %x, %y", "add %x, %y {my.sharding = #sdy.sharding<@other, [{}]>}"),
        "an attribute that names @other",
    ),
    (PLAIN.replace("%x: tensor<4xf32>", "%x: tensor<4xf32> {jax.const = true}"), "not known"),
    (
        OPERATIONS.replace(
            "%20 = stablehlo.subtract %a, %b",
            """
            %21 = stablehlo.custom_call @f() {has_side_effect = true} : () -> tensor<f32>
            %20 = stablehlo.subtract %a, %21""",
        ),
        "effects in a region of stablehlo.reduce",
    ),
    (SHAPES.replace("!stablehlo.token", "memref<4xf32>"), "the type memref<4xf32>"),
]


@pytest.mark.parametrize(("text", "reason"), UNDECIDED)
def test_what_has_no_rule_is_undecided_by_name(text, reason):
    with pytest.raises(UndecidedError) as raised:
        digest(text)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("marks", "array", "reason"),
    [
        ("", np.zeros(5, np.float32), "a captured array of float32[5] for a tensor<4xf32>"),
        ("", np.zeros(4, np.int32), "a captured array of int32[4] for a tensor<4xf32>"),
        (", jax.buffer_donor = true", ROW, "a const arg that is marked jax.buffer_donor"),
    ],
)
def test_a_const_arg_that_is_not_its_array_is_undecided(marks, array, reason):
    text = with_const_arg(PLAIN).replace("jax.const = true", f"jax.const = true{marks}")
    with pytest.raises(UndecidedError) as raised:
        digest(text, array)
    assert str(raised.value) == reason


def test_a_callback_into_python_that_is_told_parts_is_undecided():
    """Of a captured array with a sharding, one form tells it the parts, and the other all."""
    lowered = jax.jit(lambda x: jax.debug.callback(print, x, partitioned=True)).lower(1.0)
    with pytest.raises(UndecidedError, match="xla_ffi_partitioned_python_cpu_callback"):
        number_module(lowered.compiler_ir(), ())


def test_an_array_for_no_const_arg_is_undecided():
    with pytest.raises(UndecidedError, match="passed for no const arg"):
        digest(PLAIN, ROW)


# -- what JAX lowers ------------------------------------------------------------------------------

DTYPES = (
    "bool int2 int4 int8 int16 int32 uint2 uint4 uint8 uint16 uint32 float16 bfloat16 float32 "
    "complex64 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz "
    "float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
)


def of_lowered(function, *arguments):
    lowered = jax.jit(function).lower(*arguments)
    return number_module(lowered.compiler_ir("stablehlo"), const_args(lowered))


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_a_constant_of_each_dtype_has_the_number_of_its_array(dtype):
    integers = np.random.default_rng(0).integers(0, 2, (3, 80))
    for array in (integers, integers[:, :5], integers[:1, :1]):
        array = array.astype(jnp.dtype(dtype))
        assert of_lowered(lambda array=array: jnp.asarray(array)).outputs == (content(array),)


def test_floats_that_no_short_decimal_stands_for_are_read_as_they_are():
    bits = np.random.default_rng(0).integers(0, 2**32, 40, np.uint32)
    for dtype in ("float32", "bfloat16", "float16", "float8_e5m2", "complex64"):
        elements = bits.view(jnp.dtype(dtype))[:20]
        assert of_lowered(lambda x=elements: jnp.asarray(x)).outputs == (content(elements),)


def test_an_array_beside_the_module_is_a_constant():
    module = parsed(PLAIN)
    [function] = module.body.operations
    constant = next(iter(function.operation.regions[0].blocks[0])).operation
    constant.attributes["value"] = mlir.ir.DenseResourceElementsAttr.get_from_buffer(
        ROW, "my_array", constant.results[0].type, context=CONTEXT
    )
    assert "dense_resource<my_array" in str(module)
    assert number_module(module, ()).digest == digest(PLAIN)


def f(x):
    captured = np.arange(6, dtype=np.float32)
    return jax.lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * captured, x), jax.jit(jnp.cos)(x)


def test_steps_have_the_line_that_wrote_them():
    lines = {
        step.name: place_of_locations(step.source) for step in of_lowered(f, jnp.ones(6)).steps
    }
    place = lines["stablehlo.cosine"]
    assert (place.file.rpartition("/")[2], place.function) == ("test_modules.py", "f")
    assert place.line == f.__code__.co_firstlineno + 2


def test_numbers_are_those_of_any_process():
    program = textwrap.dedent("""
        import sys
        sys.path.insert(0, sys.argv[1])
        import jax.numpy as jnp
        import test_modules
        print(test_modules.of_lowered(test_modules.f, jnp.ones(6)).digest.hex())
        print(*(test_modules.digest(text).hex() for text in test_modules.TEXTS))
    """)
    here = __file__.rpartition("/")[0]
    found = {
        subprocess.run(
            [sys.executable, "-c", program, here],
            env={
                "PYTHONHASHSEED": seed,
                "JAX_PLATFORMS": "cpu",
                "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": flag,
            },
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed, flag in (("1", "0"), ("2", "1"))
    }
    assert len(found) == 1


TEXTS = (PLAIN, NUMBERS, MARKED, OPERATIONS, CUSTOM_CALL, COLLECTIVES, EFFECTS, NESTED, chain(60))


@pytest.mark.parametrize(
    ("type_", "shape"),
    [
        ("tensor<f32>", ()),
        ("tensor<3x4xcomplex<f32>>", (3, 4)),
        ("tensor<?x4xf32>", None),
        ("tensor<4x?xf32>", None),
    ],
)
def test_a_type_with_an_open_size_has_no_static_shape(type_, shape):
    assert static_shape(type_) == shape


PLACED = main("""
    %0 = stablehlo.custom_call @annotate_device_placement(%x) {has_side_effect = true,
      mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}}
      : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
""")


def test_an_array_placed_in_a_memory_is_a_value_of_that_memory_and_no_effect():
    assert numbered(PLACED).effects == ()
    assert digest(PLACED) != digest(PLACED.replace("pinned_host", "device"))
    assert digest(PLACED) != digest(PLACED.replace("return %0", "return %x"))
    another = PLACED.replace("annotate_device_placement", "another")
    assert len(numbered(another).effects) == 1
