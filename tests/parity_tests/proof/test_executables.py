"""XLA made one program of both forms, but for constants, or it did not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import engine
from parity_tests.judge.proofs import made_by_xla
from parity_tests.observe import measure
from parity_tests.program import Mark, Program
from parity_tests.proof.executables import number_executable
from parity_tests.proof.numbers import UndecidedError

RANDOM = np.random.default_rng(0)
TABLE, OTHER = (jnp.asarray(RANDOM.normal(size=(16, 16)).astype(np.float32)) for _ in range(2))
COPY = TABLE.copy()
ROW = TABLE[3]
X = jax.ShapeDtypeStruct((16, 16), jnp.float32)


def numbered(fun, side="legacy"):
    lowered = engine.jit(fun, constants=side).trace(X).lower()
    return number_executable(lowered.compile().as_text(), len(lowered.const_args))


ONE_PROGRAM = {
    "an operand": lambda x: x * TABLE + x,
    "two of one type": lambda x: (x * TABLE) @ OTHER,
    "a fusion": lambda x: jnp.tanh(x * TABLE).sum(0) + ROW,
    "handed from turn to turn": lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ TABLE), x),
    "in a loop in a loop": lambda x: lax.fori_loop(
        0, 3, lambda i, c: lax.fori_loop(0, 2, lambda j, d: d * TABLE + c, c), x
    ),
    "beside one carried value": lambda x: lax.while_loop(
        lambda c: (c @ ROW).sum() < 9, lambda c: c + TABLE, x
    ),
    "in a branch": lambda x: lax.cond(
        x[0, 0] > 0, lambda: (x @ TABLE, x), lambda: (jnp.sin(x), x * OTHER)
    ),
    "rows of a scan": lambda x: lax.scan(lambda c, row: (c * row, c @ ROW), x, TABLE)[1],
    "a body that compares": lambda x: jnp.sort(x * TABLE),
    "random bits": lambda x: jax.random.normal(jax.random.key(0), (16, 16)) * TABLE + x,
    "a derivative": jax.grad(lambda x: (jnp.tanh(x @ TABLE) @ ROW).sum()),
}


@pytest.mark.parametrize("what", ONE_PROGRAM)
def test_how_a_captured_array_comes_in_does_not_count(what):
    assert numbered(ONE_PROGRAM[what], "legacy") == numbered(ONE_PROGRAM[what], "simplified")


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: x * jnp.exp(TABLE),  # folded
        lambda x: x - TABLE,  # XLA adds the negative of what it knows
        lambda x: jnp.sin(x @ TABLE) + jnp.sin(x @ COPY),  # it knows that they are equal
    ],
)
def test_what_xla_knows_of_a_constant_makes_another_program(fun):
    assert numbered(fun, "legacy") != numbered(fun, "simplified")


def test_no_two_of_these_are_one_program():
    others = [
        lambda x: x + TABLE,
        lambda x: TABLE @ x,
        lambda x: x @ TABLE,
        lambda x: x * TABLE * 2,
        lambda x: x * TABLE * 3,
        lambda x: x * ROW,
        lambda x: lax.cond(x[0, 0] > 0, lambda: x @ TABLE, lambda: jnp.sin(x)),
        lambda x: lax.cond(x[0, 0] > 0, lambda: jnp.sin(x), lambda: x @ TABLE),
        lambda x: lax.cond(x[0, 1] > 0, lambda: jnp.sin(x), lambda: x @ TABLE),
        lambda x: lax.cond(x[0, 1] > 0, lambda: jnp.sin(x), lambda: x + x @ TABLE),
        lambda x: (x * TABLE, x),
        lambda x: (x, x * TABLE),
        lambda x: lax.fori_loop(0, 4, lambda i, c: jnp.tanh(c @ TABLE), x),
        lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c @ TABLE), x),
        lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.tanh(TABLE @ c), x),
        lambda x: jnp.sort(x * TABLE, axis=0),
        lambda x: -jnp.sort(-(x * TABLE)),
    ]
    numbers = [numbered(fun) for fun in (*ONE_PROGRAM.values(), *others)]
    assert len(set(numbers)) == len(numbers)


def test_what_an_array_holds_does_not_count_and_a_scalar_does():
    assert numbered(lambda x: x * TABLE) == numbered(lambda x: x * OTHER)
    assert numbered(lambda x: x * 2.0) != numbered(lambda x: x * 3.0)


PRINTED = """HloModule printed

%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %sine.1 = f32[8]{0} sine(%p)
  ROOT %cosine.1 = f32[8]{0} cosine(%p)
}

%body (c: (f32[8], f32[8])) -> (f32[8], f32[8]) {
  %c = (f32[8]{0}, f32[8]{0}) parameter(0)
  %one = f32[8]{0} get-tuple-element(%c), index=0
  %two = f32[8]{0} get-tuple-element(%c), index=1
  %more = f32[8]{0} negate(%one)
  %less = f32[8]{0} negate(%two)
  ROOT %next = (f32[8]{0}, f32[8]{0}) tuple(%more, %less)
}

%condition (d: (f32[8], f32[8])) -> pred[] {
  %d = (f32[8]{0}, f32[8]{0}) parameter(0)
  %e = f32[8]{0} get-tuple-element(%d), index=0
  %goes = pred[] custom-call(%e), custom_call_target="goes"
  ROOT %stops = pred[] custom-call(%e), custom_call_target="stops"
}

%then (t: f32[8]) -> f32[8] {
  ROOT %t = f32[8]{0} parameter(0)
}

%else (u: f32[8]) -> f32[8] {
  %u = f32[8]{0} parameter(0)
  ROOT %v = f32[8]{0} abs(%u)
}

ENTRY %main (x: f32[8], y: f32[8]) -> (f32[8], f32[8]) {
  %x = f32[8]{0} parameter(0), metadata={op_name="x"}
  %y = f32[8]{0} parameter(1)
  %start = (f32[8]{0}, f32[8]{0}) tuple(%x, %y)
  %loop = (f32[8]{0}, f32[8]{0}) while(%start), condition=%condition, body=%body
  %fusion = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused
  %is = pred[] custom-call(%x), custom_call_target="is"
  %not = pred[] custom-call(%x), custom_call_target="not"
  %taken = f32[8]{0} conditional(%is, %x, %y), branch_computations={%then, %else}
  ROOT %made = (f32[8]{0}, f32[8]{0}) tuple(%fusion, %taken)
}
"""


def changed(*swaps):
    text = PRINTED
    for before, after in swaps:
        assert before in text
        text = text.replace(before, after)
    return text


OTHERS = {
    "what a fusion returns": changed(("ROOT %cos", "%cos"), ("%sine.1 =", "ROOT %sine.1 =")),
    "how it is fused": changed(("kLoop", "kInput")),
    "where a loop starts": changed(("tuple(%x, %y)", "tuple(%y, %x)")),
    "what a turn makes of which": changed(("tuple(%more, %less)", "tuple(%less, %more)")),
    "what is asked in each turn": changed(("ROOT %stops", "%stops"), ("%goes =", "ROOT %goes =")),
    "what is asked for a branch": changed(("conditional(%is", "conditional(%not")),
    "which branch is which": changed(("{%then, %else}", "{%else, %then}")),
    "what a branch is given": changed(("(%is, %x, %y)", "(%is, %y, %x)")),
    "the results": changed(("tuple(%fusion, %taken)", "tuple(%taken, %fusion)")),
}


def test_what_an_instruction_takes_counts_and_not_that_it_is_there_alone():
    numbers = {what: number_executable(text, 0) for what, text in OTHERS.items()}
    numbers["plain"] = number_executable(PRINTED, 0)
    assert len({*numbers.values()}) == len(numbers)


CHAIN = """HloModule printed

%first (a: f32[8]) -> f32[8] {
  ROOT %a = f32[8]{0} parameter(0)
}

%second (b: f32[8]) -> f32[8] {
  %b = f32[8]{0} parameter(0)
  %c = f32[8]{0} sine(%b)
  ROOT %d = f32[8]{0} cosine(%c)
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %one = f32[8]{0} fusion(%x), kind=kLoop, calls=%first
  ROOT %two = f32[8]{0} fusion(%one), kind=kLoop, calls=%second
}
"""


def test_what_is_fused_with_what_counts():
    """The sine is made by the second fusion, or by the first."""
    moved = CHAIN.replace("  %c = f32[8]{0} sine(%b)\n", "").replace("cosine(%c)", "cosine(%b)")
    first = "  %a = f32[8]{0} parameter(0)\n  ROOT %e = f32[8]{0} sine(%a)"
    moved = moved.replace("  ROOT %a = f32[8]{0} parameter(0)", first)
    assert number_executable(moved, 0) != number_executable(CHAIN, 0)


def test_an_array_in_a_branch_is_the_one_that_this_branch_is_passed():
    held = changed(
        ("abs(%u)", "add(%u, %k)"),
        ("  ROOT %v", "  %k = f32[8]{0} constant({...})\n  ROOT %v"),
    )
    passed = changed(
        ("abs(%u)", "add(%w, %k)"),
        ("%else (u: f32[8])", "%else (u: (f32[8], f32[8]))"),
        ("%u = f32[8]{0} parameter(0)", "%u = (f32[8]{0}, f32[8]{0}) parameter(0)"),
        ("  ROOT %v", "  %w = f32[8]{0} get-tuple-element(%u), index=0\n  ROOT %v"),
        ("  ROOT %v", "  %k = f32[8]{0} get-tuple-element(%u), index=1\n  ROOT %v"),
        ("%y = f32[8]{0} parameter(1)", "%y = f32[8]{0} parameter(2)"),
        ("%x = f32[8]{0} parameter(0)", "%x = f32[8]{0} parameter(1)"),
        ("  %start", "  %table = f32[8]{0} parameter(0)\n  %start"),
        ("  %taken", "  %both = (f32[8]{0}, f32[8]{0}) tuple(%y, %table)\n  %taken"),
        ("(%is, %x, %y)", "(%is, %x, %both)"),
    )
    assert number_executable(held, 0) == number_executable(passed, 1)


def test_names_and_places_in_the_source_do_not_count():
    other = changed(("%fused", "%other"), ('op_name="x"', 'op_name="z"'), ("%loop", "%again"))
    assert number_executable(other, 0) == number_executable(PRINTED, 0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (PRINTED.replace("%", ""), "the operands of"),
        (changed(("negate(%one)", "negate(%nowhere)")), "the operands of more"),
        (changed(("negate(%one)", "negate of it")), "the instruction %more"),
        (changed(("body=%body", "body=%gone")), "what while calls"),
        (changed(("kind=kLoop", "after=%loop, kind=kLoop")), "what fusion calls"),
        (changed(("ENTRY ", "")), "a module without an entry"),
    ],
)
def test_what_is_not_understood_is_not_known(text, why):
    with pytest.raises(UndecidedError, match=why):
        number_executable(text, 0)


def test_a_call_of_python_is_not_known():
    with pytest.raises(UndecidedError, match="a call of Python"):
        numbered(lambda x: jax.pure_callback(np.sin, x, x) * TABLE)


@pytest.mark.parametrize(
    ("fun", "said"),
    [
        (ONE_PROGRAM["an operand"], "XLA made the same program of both, but for constants"),
        (lambda x: x - TABLE, "their optimised HLO differs in more than constants"),
        (lambda x: jax.pure_callback(np.sin, x, x) * TABLE, ""),
    ],
)
def test_a_measurement_of_both_forms_tells(fun, said):
    mark = Mark((np.ones((16, 16), np.float32),), {}, None, ())
    before, after = (
        measure.measure(Program("p", "p", "p.py:1", "", fun, mark), side).observation
        for side in ("legacy", "simplified")
    )
    assert made_by_xla(before, after) == said
