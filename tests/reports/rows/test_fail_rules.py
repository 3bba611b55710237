"""The rules of `--fail-on`: what each is broken by, and the exit status."""

import pytest

from reports.rows import SIDES, Campaign, Comparison, Failure, FlipReason, FlipVerdict, Hazard
from reports.rows.claims import Claim
from reports.rows.fail_rules import DEFAULT, FailRuleError, broken, parse
from tests.helpers.built_grids import program


def row(template, outcome="safe", reasons=(), **fields):
    flip = FlipVerdict(left="jax-legacy", right="jax-simplified", outcome=outcome, reasons=reasons)
    plain = {"verdict": "parity", "flip": flip, "hazards": (), "comparisons": ()}
    return template.model_copy(update=plain | fields)


def reason(kind, outcome, ratio=None):
    return FlipReason(kind=kind, outcome=outcome, what="seen", ratio=ratio)


SLOWER = reason("time", "safe but slower or larger", 1.5)
LARGER = reason("size", "safe but slower or larger", 3.0)
FROM_NOTHING = reason("size", "safe but slower or larger")
DRIFT = reason("outputs", "numerics drift, explained")
VALUES = reason("outputs", "different")
PLACED = reason("placement", "placed otherwise")
PLACED_BEFORE = reason("placement", "different")  # in a report of an older version
FAILURE = reason("failure", "different")
MORE_WORK = reason("structure or count", "safe but slower or larger")
OF_ONE_MODE = Comparison(
    metric="callbacks", left="legacy", right="jax-legacy", outcome="different", left_value="1",
    right_value="2",
)  # fmt: skip
DONATED = Hazard(kind="captured and donated", file="", line=0, array="", what="", fix="")


@pytest.fixture(scope="module")
def one_program(campaigns):
    return campaigns.campaign(row(campaigns.parity(), "different", (VALUES,)))


def rules_broken(one_program, rules, **fields):
    one = row(one_program.programs[0], **fields)
    campaign = one_program.model_copy(update={"programs": (one,)})
    return [each.rule.text for each in broken(campaign, parse(rules))]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"reasons": (VALUES,), "outcome": "different"}, ["different"]),
        ({"reasons": (PLACED,), "outcome": "placed otherwise"}, ["placement"]),
        ({"reasons": (PLACED_BEFORE,), "outcome": "different"}, ["different"]),
        ({"reasons": (VALUES, PLACED), "outcome": "different"}, ["different", "placement"]),
        ({"verdict": "difference", "comparisons": (OF_ONE_MODE,)}, ["different"]),
        ({"verdict": "difference", "flip": None}, ["different"]),
        ({"verdict": "difference", "reasons": (MORE_WORK,)}, []),
        (
            {"reasons": (FAILURE,), "outcome": "different", "verdict": "could not compare"},
            ["new-failure"],
        ),
        ({"outcome": "could not compare", "verdict": "could not compare"}, ["not-compared"]),
        (
            {
                "outcome": "not repeatable",
                "verdict": "not repeatable",
                "comparisons": (OF_ONE_MODE,),
            },
            ["not-compared"],
        ),
        ({"reasons": (SLOWER, LARGER, DRIFT), "outcome": "numerics drift, explained"}, []),
    ],
)
def test_by_default_a_price_passes_and_what_breaks_does_not(one_program, fields, expected):
    assert rules_broken(one_program, DEFAULT, **fields) == expected


@pytest.mark.parametrize(
    ("failing", "kind", "expected"),
    [
        (["legacy"], "exception", ["different"]),
        (["simplified"], "crash", ["different"]),
        (["legacy"], "timeout", []),  # a limit of the campaign, not what the side does
        (["legacy", "jax-legacy"], "exception", []),
        (["jax-legacy"], "exception", []),
    ],
)
def test_a_side_of_ours_that_fails_alone_differs_from_stock_jax(
    one_program, failing, kind, expected
):
    """No outputs of it compare, and stock JAX works: its users would be the first to see it."""
    template = one_program.programs[0].observations[0]
    failure = Failure(kind=kind, stage="call", type="ValueError", message="no", traceback="")
    sides = tuple(
        template.model_copy(update={"side": side, "failure": failure if side in failing else None})
        for side in SIDES
    )
    fields = {"observations": sides, "verdict": "could not compare", "reasons": (FAILURE,)}
    assert rules_broken(one_program, "different", **fields) == expected


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("drift", {"reasons": (DRIFT,)}),
        ("slower", {"reasons": (SLOWER,)}),
        ("slower:20%", {"reasons": (SLOWER,)}),
        ("slower:1.4x", {"reasons": (SLOWER,)}),
        ("larger:2x", {"reasons": (LARGER,)}),
        ("larger:100x", {"reasons": (FROM_NOTHING,)}),
        ("hazard", {"hazards": (DONATED,)}),
        ("hazard:donated", {"hazards": (DONATED,)}),
    ],
)
def test_a_rule_is_broken_by_what_it_names(one_program, rule, fields):
    assert rules_broken(one_program, rule, **fields) == [rule]


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("slower:60%", {"reasons": (SLOWER,)}),
        ("larger:3x", {"reasons": (LARGER,)}),
        ("slower", {"reasons": (LARGER,)}),
        ("hazard:placement", {"hazards": (DONATED,)}),
        ("drift", {"reasons": (VALUES,)}),
    ],
)
def test_a_rule_passes_what_is_within_it(one_program, rule, fields):
    assert rules_broken(one_program, rule, **fields) == []


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("differs", "did you mean different?"),
        ("slower:fast", "write slower:20% or larger:2x"),
        ("slower:0.5x", "a limit below 1x"),
        ("hazard:unicorn", "the hazards are"),
        ("drift:2x", "takes nothing after a colon"),
    ],
)
def test_a_rule_that_cannot_be_read_says_how_it_is_written(rule, said):
    with pytest.raises(FailRuleError, match=said):
        parse(rule)


def test_the_headline_is_worked_out_again_from_the_rows(one_program):
    text = one_program.model_dump(mode="json")
    assert text["headline"]["flip"] == "no"
    text["headline"] = {"flip": "yes"}
    assert Campaign.model_validate(text).headline == one_program.headline


@pytest.mark.parametrize(
    ("answer", "broken"),
    [
        ("proved", []),
        ("parted", ["not-proved", "not-proved:parted"]),
        ("undecided", ["not-proved"]),
        (None, ["not-proved"]),
    ],
)
def test_a_run_can_be_held_to_its_proof(answer, broken):
    claims = () if answer is None else (Claim(of="jaxpr", answer=answer),)
    row = program("a")
    row = row.model_copy(update={"flip": row.flip.model_copy(update={"claims": claims})})
    rules = parse("not-proved,not-proved:parted,not-proved:refuted")
    assert [each.text for each in rules if each.is_broken_by(row)] == broken
    assert [each.status for each in rules] == ["could not compare"] * 2 + ["difference"]
