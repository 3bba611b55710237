"""More work and arrays that stay inlined: named across the flip, and their look-alikes are not."""

import pytest
from built_campaigns import captured_array

from parity_tests.advice import advice
from parity_tests.evidence.records import Evidence
from parity_tests.judge.comparison import compare_pairs, left_inlined
from parity_tests.judge.findings import Findings
from parity_tests.judge.flip_verdict import decide
from reports.rows import (
    Hazard,
    JaxprCounts,
    Numbers,
    Observation,
    ProgramNumber,
    Proof,
    StableHloCounts,
)

STOCK = ("jax-legacy", "jax-simplified")
OURS = ("legacy", "simplified")
ARRAY = captured_array(sha256="ab")
HOISTED = ARRAY.model_copy(update={"fate": "hoisted"})
KEYS = ARRAY.model_copy(update={"dtype": "key<fry>"})
BY_TYPE = ARRAY.model_copy(update={"note": "told by its type alone"})


def observation(side, working, *, operations=None, ledger=(), inlined=(), lowered=None):
    constvars = int(side.endswith("legacy"))
    return Observation(
        program="p",
        side=side,
        ledger=ledger,
        proof=Proof(
            array_literals=0, constvars=constvars, const_args=0, unique_captured=1,
            inlined_constant_bytes=0, holds=True, statement="",
        ),
        jaxpr=JaxprCounts(
            equations=9, captured_arrays=1, captured_bytes=256, working_equations=working,
            operations=1000 * sum(working.values()) if operations is None else operations,
        ),
        stablehlo=StableHloCounts(
            text_bytes=1, operations=9, functions=1, constants=0, constant_bytes=0,
            operations_by_name=lowered or {}, array_operations=lowered or {}, inlined=inlined,
        ),
    )  # fmt: skip


def judged(before, after):
    """The metrics that differ, and the reasons of the flip."""
    comparisons = compare_pairs([(Evidence(before), Evidence(after))])
    findings = Findings((before, after), comparisons)
    flip = decide(findings, (), [(before.side, after.side)])
    told = ("the program computes", "not hoisted and still inlined")
    reasons = [each for each in flip.reasons if each.what.startswith(told)]
    return [each.metric for each in comparisons if each.outcome == "different"], reasons


@pytest.mark.parametrize("pair", [STOCK, OURS])
def test_more_equations_of_one_kind_are_named(pair):
    before = observation(pair[0], {"add": 5, "tanh": 1})
    after = observation(pair[1], {"add": 5, "tanh": 3})
    metrics, [reason] = judged(before, after)
    assert metrics == ["working equations", "operations of a call"]
    assert reason.outcome == "safe but slower or larger"
    assert reason.what == (
        "the program computes more after the flip, which no captured array explains: tanh 1 before "
        "and 3 after; about 6,000 operations before and 8,000 after"
    )


def test_longer_loops_are_more_operations():
    _, [reason] = judged(*(observation(s, {"add": 1}, operations=10**n)
                           for s, n in zip(STOCK, (4, 5), strict=True)))  # fmt: skip
    assert "loops of other lengths; about 10,000 operations before and 100,000" in reason.what


def test_a_lowering_that_does_more_is_named_by_its_operations():
    names = {"stablehlo.tanh": 2, "stablehlo.constant": 7}, {"stablehlo.tanh": 20, "func.call": 9}
    metrics, [reason] = judged(*(observation(s, {"tanh": 2}, lowered=n)
                                 for s, n in zip(STOCK, names, strict=True)))  # fmt: skip
    assert metrics == ["working StableHLO operations"]
    assert "tanh 2 before and 20 after; about" in reason.what


@pytest.mark.parametrize(
    ("digests", "helps"), [("dd", "reads the flag somewhere"), ("de", "one program")]
)
def test_where_jax_itself_writes_two_forms_nobody_is_only_sent_to_find_a_read(digests, helps):
    sides = (
        observation(side, {"compare": n}).model_copy(
            update={"numbers": Numbers(jaxpr=ProgramNumber(digest=digest))}
        )
        for side, n, digest in zip(STOCK, (4, 6), digests, strict=True)
    )
    _, [reason] = judged(*sides)
    assert reason.action == advice(helps)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"add": 10}, {"add": 8}),  # autodiff writes equations for operands of bodies
        ({"add": 100}, {"add": 101}),
        ({"add": 10}, {"add": 11}),
    ],
)
def test_work_that_the_migration_explains_is_expected(before, after):
    for pair in (STOCK, OURS):
        sides = (observation(s, w) for s, w in zip(pair, (before, after), strict=True))
        assert judged(*sides) == ([], [])


def test_many_times_the_work_in_legacy_is_no_price():
    metrics, [reason] = judged(
        observation(STOCK[0], {"tanh": 10}), observation(STOCK[1], {"tanh": 1})
    )
    assert metrics == ["operations of a call"]
    assert (reason.outcome, reason.what.split(",")[0]) == (
        "safe", "the program computes less after the flip",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "constants", "found"),
    [
        ((ARRAY,), (ARRAY,), (), [ARRAY]),
        ((ARRAY,), (), ("ab",), [ARRAY]),  # a parameter of an operation
        ((ARRAY,), (HOISTED,), ("ab",), []),  # an exported module may have its equal
        ((ARRAY,), (), (), []),  # a body that was traced and dropped
        ((KEYS,), (KEYS,), ("ab",), []),
        ((BY_TYPE,), (BY_TYPE,), (), []),
    ],
)
def test_an_array_that_stays_inlined_is_found(before, after, constants, found):
    sides = (
        observation(STOCK[0], {}, ledger=before),
        observation(STOCK[1], {}, ledger=after, inlined=constants),
    )
    assert left_inlined(*sides) == found
    metrics, reasons = judged(*sides)
    assert metrics == ["arrays that stay inlined"] * len(found)
    assert [each.where for each in reasons] == ["model.py:12 (float32[8,8])"] * len(found)


@pytest.mark.parametrize(
    ("old", "new", "is_price"),
    [
        (0, 2_000_000, True),
        (2_000_000, 5_000_000, True),
        (2_000_000, 3_900_000, False),
        (100, 900_000, False),
        (None, 2_000_000, False),
    ],
)
def test_flops_that_double_are_a_price_but_for_what_is_folded(old, new, is_price):
    def judged_with(*hazards):
        counts = {"instructions": 1, "fusions": 0, "constants": 0, "constant_bytes": 0}
        sides = tuple(
            Observation(
                program="p", side=side, executable=counts | {"serialized_bytes": 1, "flops": flops}
            )
            for side, flops in zip(STOCK, (old, new), strict=True)
        )
        pairs = [tuple(map(Evidence, sides))]
        findings = Findings(sides, compare_pairs(pairs), hazards=hazards)
        return decide(findings, (), [STOCK])

    folded = Hazard(
        kind="folded by legacy alone", file="", line=0, array="", what="", fix="", operations=1
    )
    price = "safe but slower or larger" if is_price else "safe"
    assert judged_with().outcome == price
    assert judged_with(folded).outcome == "safe"


def test_more_work_that_a_read_of_the_flag_decides_is_at_its_line():
    sides = [observation(s, {"add": n}) for s, n in zip(STOCK, (1, 9), strict=True)]
    read = Hazard(
        kind="reads the flag", file="model.py", line=7, array="the flag", what="it is read",
        fix="do not read the flag", changes_program=True,
    )  # fmt: skip
    comparisons = compare_pairs([(Evidence(sides[0]), Evidence(sides[1]))])
    for hazards, where, action in (
        ((read,), "model.py:7 (the flag)", "do not read the flag"),
        ((), "", "find what reads the flag: both forms are meant to be one program"),
    ):
        flip = decide(Findings(tuple(sides), comparisons, hazards=hazards), (), [STOCK])
        [reason] = [each for each in flip.reasons if each.subject == "operations"]
        assert (reason.where, reason.action) == (where, action)
