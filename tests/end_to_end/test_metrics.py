"""The table of metrics: a planted entry is judged, held to its limit and shown, by itself."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from parity_tests.cli import run_view
from parity_tests.evidence.records import Evidence
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.conditions import CONDITIONS, ruling_on
from parity_tests.judge.findings import Findings
from parity_tests.judge.sides import Pair, pairs_of
from parity_tests.judge.verdict import RowDraft, conclude
from reports.rows import (
    TIME_METRICS,
    Campaign,
    NamedProgram,
    Observation,
    StageTimes,
    metric_rules,
    metrics,
)
from reports.rows.metric_records import Figure, Larger, Metric, OverviewColumn, TerminalColumn
from reports.views import overview, program
from tests.helpers.built_campaigns import ENVIRONMENT, captured_array

MIB = 2**20
SIDES = ("jax-legacy", "jax-simplified")


def observation(side, *, uses=1, size=4):
    array = captured_array(bytes=size, uses=uses, fate="hoisted")
    times = StageTimes(trace=1.0, lower=0.5, compile=1.0, first_call=1.0, call=None, call_samples=0)
    return Observation(program="p", side=side, ledger=(array,), times=times)


USES = Metric(
    "uses of arrays",
    lambda observation: sum(each.uses for each in observation.ledger),
    within=metric_rules.SAME_PROGRAM,
    across=metric_rules.HOISTED,
    figure=Figure("ledger", "uses"),
    overview=OverviewColumn("uses by side", 0),
    terminal=TerminalColumn("uses\nhere", 0),
)
LEDGER = Metric(
    "ledger bytes",
    lambda observation: sum(each.bytes for each in observation.ledger),
    "bytes",
    within=metric_rules.SAME_PROGRAM,
    across=metric_rules.ANY_DIFFERENCE,
    larger=Larger("the ledger"),
    figure=Figure("ledger", "bytes", early=True),
)
STAGING = Metric(
    "staging seconds",
    lambda observation: observation.times and observation.times.trace + observation.times.lower,
    "seconds",
    within=metric_rules.ONE_SAMPLE,
    across=metric_rules.ONE_SAMPLE,
    figure=Figure("time", "staging"),
)


@pytest.fixture
def planted(monkeypatch):
    monkeypatch.setattr(metrics, "METRICS", (*metrics.METRICS, USES, LEDGER, STAGING))


def campaign(left, right):
    pair = (Evidence(left), Evidence(right))
    findings = Findings((left, right), compare_pairs([pair]))
    sides = (left.side, right.side)
    named = NamedProgram(name="p", source="model.py:1", summary="")
    draft = RowDraft(named, findings, observations=(left, right))
    row = draft.row(conclude(findings, pairs_of(sides)))
    return Campaign(created="", environment=ENVIRONMENT, sides=sides, programs=(row,))


def judged(row, name):
    [found] = [each for each in row.comparisons if each.metric == name]
    return found.outcome, found.left_value, found.right_value


def test_a_planted_metric_is_judged_by_its_rules(planted):
    [row] = campaign(
        observation(SIDES[0], uses=1, size=4), observation(SIDES[1], uses=2, size=8)
    ).programs
    assert judged(row, "uses of arrays") == ("expected difference", "1", "2")
    assert judged(row, "ledger bytes") == ("different", "4", "8")
    assert judged(row, "staging seconds") == ("not judged", "1.5", "1.5")
    assert row.verdict == "difference"
    within = compare_pairs(
        [(Evidence(observation("legacy")), Evidence(observation("jax-legacy", uses=2)))]
    )
    [uses] = [each for each in within if each.metric == "uses of arrays"]
    assert (uses.outcome, uses.detail) == (
        "different", "one function was traced to two different programs",
    )  # fmt: skip


@pytest.mark.parametrize(("size", "larger"), [(MIB, False), (3 * MIB, True)])
def test_a_planted_metric_is_held_to_its_limit(planted, size, larger):
    [row] = campaign(observation(SIDES[0]), observation(SIDES[1], size=size)).programs
    found = [each for each in row.flip.reasons if each.what.startswith("the ledger: ")]
    assert [each.outcome for each in found] == ["safe but slower or larger"] * larger


def test_a_planted_metric_is_shown(planted):
    result = campaign(observation(SIDES[0], size=MIB), observation(SIDES[1], uses=2))
    table = overview.overview(result.programs, result.sides)
    place = [each.title for each in table.columns].index("uses by side")
    assert table.rows[0][place].text == "1 · 2"
    figures = program.figures_by_side(result.sides, result.programs[0].observations)
    lines = {line[0].text: [cell.text for cell in line[1:]] for line in figures.rows}
    assert lines["ledger: uses"] == ["1", "2"]
    assert lines["ledger: bytes"] == ["1.0 MiB", "4 B"]
    assert lines["time: staging"] == ["1.50 s", "1.50 s"]
    assert list(lines)[-2:] == ["ledger: bytes", "ledger: uses"]
    file = io.StringIO()
    run_view.print_campaign(Console(file=file, width=140), result)
    assert "uses" in file.getvalue()
    assert "here" in file.getvalue()


def test_without_it_nothing_of_it_is_there():
    [row] = campaign(observation(SIDES[0]), observation(SIDES[1], size=3 * MIB)).programs
    names = {each.metric for each in row.comparisons}
    assert not names & {"uses of arrays", "ledger bytes", "staging seconds"}


def test_each_metric_has_a_name_of_its_own_and_both_rules_or_none():
    names = [each.name for each in metrics.METRICS]
    assert len(set(names)) == len(names)
    for each in metrics.METRICS:
        assert (each.within is None) == (each.across is None), each.name
        assert metrics.metric(each.name) is each
    with pytest.raises(LookupError, match="no metric 'none'"):
        metrics.metric("none")


def test_each_stage_that_rounds_judge_has_one_metric():
    assert tuple(each.stage for each in metrics.METRICS if each.stage) == TIME_METRICS


def rules_in_force():
    for each in metrics.METRICS:
        yield from ((each.name, rule) for rule in (each.within, each.across, each.again) if rule)
    yield from ((each.name, each.rule) for each in metrics.LEAF_PROPERTIES)


def test_each_rule_ends_with_a_ruling_that_always_applies():
    for name, rule in rules_in_force():
        assert rule[-1].when == (), name


def test_each_condition_is_known_and_used():
    used = {when for _, rule in rules_in_force() for ruling in rule for when in ruling.when}
    assert used == set(CONDITIONS) == set(metric_rules.Condition.__args__)


def test_a_rule_that_nothing_of_applies_is_an_error():
    pair = Pair(observation(SIDES[0]), observation(SIDES[1]))
    rule = (metric_rules.expected("never", "left has more"),)
    with pytest.raises(LookupError, match="no ruling"):
        ruling_on(rule, pair, 1, 2)
    assert ruling_on(rule, pair, 2, 1).why == "never"


def test_a_side_measured_twice_gives_the_same_counts_but_where_it_varies():
    counts = {"instructions": 1, "fusions": 1, "constants": 0, "constant_bytes": 0}
    one, other = (
        Observation(program="p", side="legacy", executable=counts | {"serialized_bytes": size})
        for size in (10, 20)
    )
    other = replace_executable(other, instructions=2)
    outcomes = {
        each.metric: each.outcome for each in compare_pairs([(Evidence(one), Evidence(other))])
    }
    assert outcomes["optimised HLO instructions"] == "different"
    assert outcomes["serialized bytes"] == "not judged"


def replace_executable(of, **changes):
    return of.model_copy(update={"executable": of.executable.model_copy(update=changes)})


def test_a_limit_may_hold_for_some_observations_alone(monkeypatch):
    never = replace(LEDGER, larger=Larger("the ledger", only_where=lambda observation: False))
    monkeypatch.setattr(metrics, "METRICS", (never,))
    [row] = campaign(observation(SIDES[0]), observation(SIDES[1], size=3 * MIB)).programs
    assert not any(each.what.startswith("the ledger: ") for each in row.flip.reasons)
