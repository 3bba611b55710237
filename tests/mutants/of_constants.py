"""Mutants of the constants themselves: which arrays, how often, with which bits and types."""

import jax
import jax.numpy as jnp
import numpy as np
from planting import PIPELINES, attribute, mutant, replaced, step

from engine import jax_internals
from engine.ir import array_snapshots, jaxprs, lifting
from engine.ir.jaxprs import ClosedJaxpr, Literal
from engine.pipeline import LoweringPlan
from simplified_consts import const_args
from simplified_consts.hoisting import closure_conversion

PROOF = "proof of the side"


def _mapped_operands(change):
    """Const args that are changed when they are passed."""
    stock = const_args._view
    return replaced(stock, lambda c, donatable: stock(change(c), donatable))


def _mapped_consts(change):
    """A legacy lowering of changed constvars."""
    return step(
        "legacy", plan=lambda closed, *_: LoweringPlan(ClosedJaxpr(closed.jaxpr, change(closed)))
    )


def _mapped_snapshots(change):
    stock = array_snapshots._copy

    def mapped(value):
        copied = stock(value).copy(order="K")  # of JAX's own class of arrays, as a trace asks for
        copied[...] = change(copied)
        return copied

    return replaced(stock, mapped)


def _copied(closed):
    """The program with a copy of its array in each Literal."""

    def copied(atom):
        if isinstance(atom, Literal) and np.ndim(atom.val):
            return Literal(jnp.copy(atom.val), atom.aval)
        return atom

    eqns = [eqn.replace(invars=[copied(a) for a in eqn.invars]) for eqn in closed.jaxpr.eqns]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _ulp(value):
    return jnp.nextafter(value, jnp.full_like(value, np.inf))


@mutant(
    "const args are passed with the last bit of each element changed",
    program="uses_table",
    side="simplified",
    metric="const arg values",
    says="hold what no captured array holds",
)
def const_arg_perturbed_by_one_ulp():
    with _mapped_operands(_ulp):
        yield


@mutant(
    "constants are inlined with the last bit of each element changed",
    program="uses_table",
    side="legacy",
    metric=PROOF,
    says="1 captured array not inlined",
)
def inlined_constant_perturbed_by_one_ulp():
    with _mapped_consts(lambda closed: [_ulp(c) for c in closed.consts]):
        yield


@mutant(
    "const args are passed rounded to bfloat16",
    program="two_tables",
    side="simplified",
    metric="outputs",
    says="mismatch",
)
def const_arg_through_bfloat16():
    with _mapped_operands(lambda c: (c + 0.1).astype(jnp.bfloat16).astype(c.dtype)):
        yield


@mutant(
    "the copy of a captured array has 0.0 for -0.0",
    program="special_numbers",
    side="legacy",
    metric="captured arrays",  # a copy that differs from its array is made anew for each use
)
def negative_zero_lost():
    with _mapped_snapshots(lambda value: np.where(value == 0, np.float32(0), value)):
        yield


@mutant(
    "the copy of a captured array has one NaN for all NaNs",
    program="special_numbers",
    side="simplified",
    metric="captured arrays",  # a copy that differs from its array is made anew for each use
)
def nan_payload_lost():
    with _mapped_snapshots(lambda value: np.where(value != value, np.float32(np.nan), value)):
        yield


@mutant(
    "const args are passed with subnormal numbers flushed to zero",
    program="subnormal_numbers",
    side="simplified",
    metric="const arg values",
    says="hold what no captured array holds",
)
def subnormal_numbers_flushed():
    def flushed(value):
        held = np.asarray(value)
        return jnp.asarray(np.where(np.abs(held) < np.finfo(held.dtype).tiny, 0, held))

    with _mapped_operands(flushed):
        yield


@mutant(
    "a captured float64 array goes through float32",
    program="wide",
    side="simplified",
    metric="outputs",
    says="mismatch",
)
def x64_value_truncated():
    with _mapped_snapshots(lambda value: value.astype(np.float32).astype(value.dtype)):
        yield


@mutant(
    "the copy of a column-major matrix is read in row-major order",
    program="column_major",
    side="legacy",
    metric="outputs",
    says="mismatch",
)
def column_major_order_misread():
    with _mapped_snapshots(lambda value: value.ravel("K").reshape(value.shape)):
        yield


@mutant(
    "captured NumPy arrays are not copied when a program is traced",
    program="written_later",
    side="simplified",
    metric="writes into captured arrays",
    says="a call after writing into captured arrays differs",
)
def snapshot_missing():
    with replaced(array_snapshots._may_change, lambda value: False):
        yield


@mutant(
    "captured NumPy arrays are not copied in legacy, where a later lowering would inline what is "
    "written into them",
    program="column_major",
    side="legacy",
    metric="writes into captured arrays",
    says="the jaxpr holds what was written",
)
def snapshot_missing_in_legacy():
    with replaced(array_snapshots._may_change, lambda value: False):
        yield


@mutant(
    "the variable of a hoisted constant has no weak type",
    program="weakly_typed",
    side="simplified",
    metric="output weak types",
)
def weak_type_lost():
    with replaced(
        jax_internals.new_var,
        lambda aval, new=jax_internals.new_var: new(aval.update(weak_type=False)),
    ):
        yield


@mutant(
    "captured PRNG keys get the implementation rbg",
    program="keys_returned",
    side="simplified",
    metric="output dtypes",
    says="key<",
)
def key_implementation_changed():
    def other(closed):
        keys = [
            jax.random.wrap_key_data(jnp.tile(jax.random.key_data(c), 2), impl="rbg")
            for c in closed.consts
        ]
        return ClosedJaxpr(closed.jaxpr, keys)

    with step("simplified", normalize=other):
        yield


@mutant(
    "an array is the same as any other of its shape and dtype",
    program="two_tables",
    side="simplified",
    metric=PROOF,
    says="1 const arg for 2 captured arrays",
)
def wrong_array_by_collision():
    with replaced(jaxprs.constant_key, lambda value: (np.shape(value), str(value.dtype))):
        yield


def _without(part):
    def key(value):
        if isinstance(value, np.ndarray):
            seen = {
                "pointer": value.__array_interface__["data"][0],
                "shape": value.shape,
                "strides": value.strides,
                "dtype": value.dtype,
            }
            return tuple(item for name, item in seen.items() if name != part)
        return id(value)

    return replaced(jaxprs.constant_key, key)


@mutant(
    "the identity of a NumPy array leaves out its strides",
    program="same_memory",
    side="simplified",
    metric=PROOF,
    says="1 const arg for 2 captured arrays",
)
def identity_without_strides():
    with _without("strides"):
        yield


@mutant(
    "the identity of a NumPy array leaves out its dtype",
    program="same_memory_of_two_dtypes",
    side="simplified",
    metric="captured arrays",
    says="1 against 2",
)
def identity_without_dtype():
    with _without("dtype"):
        yield


@mutant(
    "an array that two inner functions capture is one array for each",
    program="two_functions",
    side="simplified",
    metric="captured arrays",
    says="2 against 1",
)
def array_of_two_functions_passed_twice():
    def normalize(closed):
        eqns = [
            eqn.replace(params=eqn.params | {"jaxpr": _copied(eqn.params["jaxpr"])})
            if "jaxpr" in eqn.params
            else eqn
            for eqn in closed.jaxpr.eqns
        ]
        return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)

    with step("simplified", normalize=normalize):
        yield


@mutant(
    "each use of a captured array is hoisted as a constant of its own",
    program="uses_table",
    side="simplified",
    metric=PROOF,
    says="2 const args for 1 captured array",
)
def constant_hoisted_twice():
    stock = PIPELINES["simplified"].PIPELINE.plan

    with step("simplified", plan=lambda closed, *rest: stock(_copied(closed), *rest)):
        yield


@mutant(
    "a const arg is passed a second time, to an argument that nothing reads",
    program="two_tables",
    side="simplified",
    metric=PROOF,
    says="3 const args passed, and main has 2 arguments for them",
)
def const_arg_passed_again():
    stock = PIPELINES["simplified"].PIPELINE.plan

    def plan(closed, *rest):
        made = stock(closed, *rest)
        jaxpr = made.closed_jaxpr.jaxpr
        again = jax_internals.new_var(jaxpr.invars[0].aval)
        names = jaxpr.debug_info._replace(arg_names=("", *jaxpr.debug_info.arg_names))
        wider = jaxpr.replace(invars=[again, *jaxpr.invars], debug_info=names)
        closed = ClosedJaxpr(wider, made.closed_jaxpr.consts)
        return LoweringPlan(closed, (made.const_args[0], *made.const_args))

    with step("simplified", plan=plan):
        yield


@mutant(
    "arrays up to 4000 bytes above the threshold are inlined",
    program="uses_table",
    side="simplified",
    metric=PROOF,
    says="bytes of captured arrays were inlined",
)
def inlined_above_the_threshold():
    stock = jaxprs.is_hoistable
    with replaced(stock, lambda value, embed_threshold: stock(value, embed_threshold + 4000)):
        yield


@mutant(
    "arrays of two dimensions stay inlined, whatever their size",
    program="table_and_matrix",
    side="simplified",
    metric="arrays that stay inlined",
    says="float32[9,9]",
)
def matrix_left_inlined():
    stock = jaxprs.is_hoistable

    def is_hoistable(value, embed_threshold):
        return np.ndim(value) != 2 and stock(value, embed_threshold)

    with replaced(stock, is_hoistable):
        yield


@mutant(
    "the first use of a captured array stays inlined, and its other uses are hoisted",
    program="uses_table",
    side="simplified",
    metric=PROOF,
    says="308 bytes of captured arrays were inlined",
)
def first_use_left_inlined():
    stock = closure_conversion.Conversion._rewrite

    def rewrite(self, jaxpr, *args, **kwargs):
        done = stock(self, jaxpr, *args, **kwargs)
        first = done.eqns[0].replace(invars=jaxpr.eqns[0].invars)
        return jax_internals.replaced(done, eqns=[first, *done.eqns[1:]])

    with attribute(closure_conversion.Conversion, "_rewrite", rewrite):
        yield


@mutant(
    "an array of exactly the embed threshold is hoisted",
    program="around_the_threshold",
    side="simplified",
    metric=PROOF,
    says="2 const args for 1 captured array",
)
def threshold_off_by_one():
    stock = jaxprs.is_hoistable
    with replaced(stock, lambda value, embed_threshold: stock(value, embed_threshold - 1)):
        yield


@mutant(
    "a 0-d array is hoisted",
    program="scalar_and_table",
    side="simplified",
    metric=PROOF,
    says="2 const args for 1 captured array",
)
def scalar_hoisted():
    stock = jaxprs.is_hoistable

    def is_hoistable(value, embed_threshold):
        return isinstance(value, jax.Array) or stock(value, embed_threshold)

    with replaced(stock, is_hoistable):
        yield


@mutant(
    "an output that is a captured array is not hoisted",
    program="returned",
    side="simplified",
    metric=PROOF,
    says="bytes of captured arrays were inlined",
)
def output_left_behind():
    stock = closure_conversion.Conversion._rewrite

    def rewrite(self, jaxpr, *args, **kwargs):
        done = stock(self, jaxpr, *args, **kwargs)
        pairs = zip(jaxpr.outvars, done.outvars, strict=True)
        outvars = [a if isinstance(a, Literal) else b for a, b in pairs]
        return jax_internals.replaced(done, outvars=outvars)

    with attribute(closure_conversion.Conversion, "_rewrite", rewrite):
        yield


@mutant(
    "an array that dead code alone reads is hoisted",
    program="dead",
    side="simplified",
    metric=PROOF,
    says="2 const args passed, and main has 1 argument for them",
)
def dead_constant_passed():
    with replaced(jax_internals.live_part, lambda closed: closed):
        yield


@mutant(
    "simplified lifts Literals into constvars",
    program="uses_table",
    side="simplified",
    metric=PROOF,
    says="1 constvar where simplified has none",
)
def simplified_lifts():
    with step("simplified", normalize=lifting.lift):
        yield


@mutant(
    "legacy leaves captured arrays as Literals",
    program="uses_table",
    side="legacy",
    metric=PROOF,
    says="2 array literals where legacy has none",
)
def legacy_leaves_literals():
    stock = jax_internals.form_of_jaxprs
    with (
        replaced(stock, lambda enabled: stock(True)),
        step("legacy", normalize=lambda closed: closed),
    ):
        yield


@mutant(
    "legacy hoists",
    program="uses_table",
    side="legacy",
    metric=PROOF,
    says="1 const arg where legacy passes none",
)
def legacy_hoists():
    simplified = PIPELINES["simplified"].PIPELINE
    with step("legacy", plan=simplified.plan, const_args=simplified.const_args):
        yield


@mutant(
    "the constvars of legacy stand in another order, with their values",
    program="two_tables",
    side="legacy",
    metric="printed jaxpr",
)
def constvars_in_another_order():
    def normalize(closed):
        jaxpr = closed.jaxpr.replace(constvars=closed.jaxpr.constvars[::-1])
        return ClosedJaxpr(jaxpr, closed.consts[::-1])

    with step("legacy", normalize=normalize):
        yield


@mutant(
    "two constvars of legacy get each other's values where they are inlined",
    program="two_tables",
    side="legacy",
    metric="outputs",
    says="mismatch",
)
def inlined_constants_swapped():
    with _mapped_consts(lambda closed: closed.consts[::-1]):
        yield
