"""The rule `version-change`: which programs of a grid break it, and when it finds nothing out."""

import built_grids as built
import pytest

from reports.rows import SIDES
from reports.rows.fail_rules import (
    DEFAULT,
    FailRuleError,
    broken,
    broken_across,
    compares_nothing,
    parse,
)
from reports.rows.grid_row import VERSION_OUTCOMES

LABELS = ("0.10.2", "0.11.2")
RULE = "version-change"


STEADY = built.program("steady")


def grid(*changes, rows=(STEADY, STEADY)):
    versions = [built.version(label, row) for label, row in zip(LABELS, rows, strict=True)]
    return built.of(*versions, changes=changes)


def found(grid, text=RULE):
    return [(each.status, each.programs) for each in broken_across(grid, parse(text))]


@pytest.mark.parametrize("outcome", VERSION_OUTCOMES)
def test_each_outcome_breaks_it_or_passes(outcome):
    status = {
        "different": "difference",
        "new failure": "difference",
        "another failure": "difference",
        "not compared": "could not compare",
    }.get(outcome)
    changed = grid(built.change("steady", *LABELS, outcome))
    assert found(changed) == ([(status, ("steady",))] if status else [])


def test_the_other_rules_do_not_look_across_versions():
    changed = grid(built.change("steady", *LABELS, "different"))
    assert found(changed, f"{DEFAULT},drift,slower,larger,hazard") == []


def test_one_campaign_never_breaks_it(campaigns):
    assert broken(campaigns.rich(), parse(RULE)) == []


def test_a_rule_for_one_side_passes_the_others():
    changed = grid(
        built.change("steady", *LABELS, "equal", side="jax-legacy"),
        built.change("steady", *LABELS, "different", side="jax-simplified"),
    )
    assert found(changed, f"{RULE}:jax-legacy") == []
    assert found(changed, f"{RULE}:jax-simplified") == [("difference", ("steady",))]


def test_a_program_is_named_once():
    changed = grid(*(built.change("steady", *LABELS, "different", side=side) for side in SIDES))
    assert found(changed) == [("difference", ("steady",))]


def test_a_program_that_cannot_be_loaded_any_more_breaks_it():
    steady, lost = built.program("steady"), built.not_loaded("steady")
    assert found(grid(rows=(steady, lost))) == [("could not compare", ("steady",))]
    assert found(grid(rows=(lost, steady))) == []  # it was fixed
    assert found(grid(rows=(lost, lost))) == []


def test_a_program_that_is_gone_from_a_later_version_breaks_it():
    old, both = built.program("old"), built.program("both")
    versions = [built.version(LABELS[0], old, both), built.version(LABELS[1], both)]
    assert found(built.of(*versions)) == [("could not compare", ("old",))]
    assert found(built.of(*reversed(versions))) == []  # it is new


def test_where_no_side_ran_twice_nothing_is_found_out():
    [rule] = parse(RULE)
    [of_legacy] = parse(f"{RULE}:legacy")
    changed = grid(built.change("steady", *LABELS, "equal"))
    assert compares_nothing(grid(), rule)
    assert not compares_nothing(changed, rule)
    assert compares_nothing(changed, of_legacy)


@pytest.mark.parametrize("text", [f"{RULE}:", f"{RULE}:off", f"{RULE}:20%"])
def test_what_is_no_side_is_refused(text):
    with pytest.raises(FailRuleError, match="the sides are legacy"):
        parse(text)
