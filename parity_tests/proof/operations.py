"""The operations of StableHLO that have a rule, and what is special in some of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from parity_tests.proof.numbers import UndecidedError


def _names(text: str, dialect: str = "") -> frozenset[str]:
    return frozenset(f"{dialect}{name}" for name in text.split())


# Element n of their result is made of element n of each operand.
ELEMENTWISE = _names(
    "abs add and atan2 cbrt ceil clamp compare complex convert cosine count_leading_zeros divide "
    "exponential exponential_minus_one floor imag is_finite log log_plus_one maximum minimum "
    "multiply negate not or power real reduce_precision remainder round_nearest_afz "
    "round_nearest_even rsqrt select shift_left shift_right_arithmetic shift_right_logical sign "
    "sine sqrt subtract tan tanh xor",
    "stablehlo.",
) | _names(
    "acos acosh asin asinh atan atanh cosh digamma erf erf_inv erfc lgamma next_after sinh square",
    "chlo.",
)
# The number of these, too, is that of their name, attributes, types, operands and regions.
_OTHERS = (
    _names(
        "after_all all_gather all_reduce all_to_all batch_norm_grad batch_norm_inference "
        "batch_norm_training bitcast_convert broadcast broadcast_in_dim cholesky "
        "collective_broadcast collective_permute collective_reduce concatenate constant "
        "convolution create_token cross-replica-sum custom_call dot dot_general "
        "dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota dynamic_pad "
        "dynamic_reshape dynamic_slice dynamic_update_slice einsum fft gather get_dimension_size "
        "get_tuple_element infeed iota logistic map outfeed pad partition_id popcnt "
        "real_dynamic_slice recv reduce reduce_scatter reduce_window replica_id reshape reverse "
        "rng rng_bit_generator scatter select_and_scatter send set_dimension_size slice sort "
        "torch_index_select transpose triangular_solve tuple unary_einsum",
        "stablehlo.",
    )
    | _names(
        "_asin_acos_kernel bessel_i1e broadcast_add broadcast_and broadcast_atan2 "
        "broadcast_compare broadcast_complex broadcast_divide broadcast_maximum broadcast_minimum "
        "broadcast_multiply broadcast_next_after broadcast_or broadcast_polygamma broadcast_power "
        "broadcast_remainder broadcast_select broadcast_shift_left "
        "broadcast_shift_right_arithmetic broadcast_shift_right_logical broadcast_subtract "
        "broadcast_xor broadcast_zeta conj constant_like is_inf is_neg_inf is_pos_inf mulhi "
        "polygamma ragged_dot scan tan top_k zeta",
        "chlo.",
    )
    | _names("manual_computation propagation_barrier reshard sharding_constraint", "sdy.")
)
# These have a rule of their own in modules.py.
RETURNS = frozenset(("func.return", "stablehlo.return", "sdy.return"))
CONSTANT, BROADCAST = "stablehlo.constant", "stablehlo.broadcast_in_dim"
CALL, COMPOSITE, WHILE = "func.call", "stablehlo.composite", "stablehlo.while"
BRANCHES = frozenset(("stablehlo.case", "stablehlo.if"))
BARRIER = "stablehlo.optimization_barrier"
MANUAL = "sdy.manual_computation"
SELECT, REDUCE = "stablehlo.select", "stablehlo.reduce"
SLICE, RESHAPE = "stablehlo.slice", "stablehlo.reshape"
# What an operation on elements says of them; a sharding is of the whole.
OF_ELEMENTS = _names(
    "compare_type comparison_direction dimensions exponent_bits mantissa_bits result_accuracy"
)
# The types of their results are those of what is passed to them, or of what their regions return.
UNTYPED = BRANCHES | {BARRIER, CALL, WHILE}

_RULES = ELEMENTWISE | _OTHERS | UNTYPED | {COMPOSITE}

SHARDINGS = "in_shardings"  # the attribute of MANUAL that has one for each operand

# The attributes that name functions.
CALLEES = {
    CALL: "callee",
    COMPOSITE: "decomposition",
    "stablehlo.custom_call": "called_computations",
}

# Its result is its operand in another memory, and JAX marks it only to have XLA keep it.
_PLACEMENT = "annotate_device_placement"
_EFFECTS = _names("infeed outfeed recv rng send", "stablehlo.")


def has_rule(name: str) -> bool:
    """Say whether an operation is numbered; its dialect is in its name."""
    return name in _RULES


def has_effect(name: str, attributes: Mapping[str, str]) -> bool:
    """Say whether an operation does more than compute its results from its operands."""
    if attributes.get("call_target_name", "").strip('"') == _PLACEMENT:
        return False
    return name in _EFFECTS or attributes.get("has_side_effect") == "true"


# Their meaning is a function of Python, or a program that is printed with places of the source.
_BEYOND = re.compile(
    r"callback|CustomSPMDPartitioning|InspectSharding|tpu_custom_call|mosaic|triton|pallas", re.I
)
# A decimal or hexadecimal number that may be the address of something in this process.
_ADDRESS = re.compile(r"(?<![\w.])(?:\d{9,}|0x[0-9a-fA-F]{7,})\b")


# A callback into Python, which has its place among those of the module for a name (jax 0.10.2). One
# that is partitioned is told the parts of a captured array, which are others in each form.
_CALLBACK = re.compile(r'"?xla_ffi_python_[cg]pu_callback"?')
_PLACE = re.compile(r"\bindex\b")


def is_callback(name: str, attributes: Mapping[str, str]) -> bool:
    """Say whether an operation calls a Python function that the module has by its place alone."""
    return (
        name == "stablehlo.custom_call"
        and _CALLBACK.fullmatch(attributes["call_target_name"]) is not None
        and _PLACE.search(attributes.get("mhlo.backend_config", "")) is not None
    )


def check(name: str, attributes: Mapping[str, str]) -> None:
    """Raise `UndecidedError` if what an operation does is not in the module."""
    if attributes.get("is_host_transfer") == "true":
        raise UndecidedError(f"{name} to or from the host")
    if name != "stablehlo.custom_call" or is_callback(name, attributes):
        return
    target = attributes["call_target_name"]
    if _BEYOND.search(target):
        raise UndecidedError(f"a custom call of {target}")
    for config in ("backend_config", "mhlo.backend_config"):
        if _ADDRESS.search(attributes.get(config, "")):
            raise UndecidedError(f"a custom call of {target}, whose {config} may hold an address")
