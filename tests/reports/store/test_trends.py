"""Trends: what is joined, what is summed, and what is left out and said."""

import itertools

import pytest

from reports.rows import SIDES, FlipVerdict
from reports.rows.history import Commit, RunBegin
from reports.store import writing
from reports.store.database import StoreError
from reports.store.trends import METRICS, trend


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def keep(path, campaigns):
    numbers = itertools.count()

    def put(
        seconds,
        names=("a", "b"),
        *,
        finished=True,
        machine="here",
        settings=None,
        sides=SIDES,
        **environment,
    ):
        """Keep a run in which each program compiles in so many seconds, on each side."""
        number = next(numbers)
        result = campaigns.campaign(*[program(campaigns, name, seconds, sides) for name in names])
        environment = result.environment.model_copy(update=environment)
        result = result.model_copy(update={"environment": environment, "sides": sides})
        begin = RunBegin(
            "2026-11-01T10:00:00+00:00",
            result.environment,
            result.sides,
            machine=machine,
            settings=settings or {},
            commit=Commit(f"{number}" * 40, "2026-11-01"),
            planned=tuple(names),
        )
        with writing.begun(path, begin) as writer:
            for place, row in enumerate(result.programs):
                writer.put(place, row)
            if finished:
                writer.finish(result, {row.name: n for n, row in enumerate(result.programs)})

    return put


def program(campaigns, name, seconds, sides):
    row = campaigns.parity(name)
    flip = FlipVerdict(left="jax-legacy", right="jax-simplified", outcome="safe", reasons=())
    observations = tuple(
        each.model_copy(update={"times": each.times.model_copy(update={"compile": seconds})})
        for each in row.observations
        if each.side in sides
    )
    return row.model_copy(update={"observations": observations, "flip": flip})


def values(found, name="legacy"):
    return [[point.value for point in line.points] for line in found.lines if line.name == name]


def test_a_metric_is_summed_over_the_programs_that_all_runs_have(path, keep):
    keep(1.0, ("a", "b"))
    keep(2.0, ("a", "b", "c"))
    found = trend(path, "compile")
    assert values(found) == [[2.0, 4.0]]
    assert [line.name for line in found.lines] == [
        "legacy", "simplified", "jax-legacy", "jax-simplified",
    ]  # fmt: skip
    assert found.notes[0].startswith("sums over the programs that all 2 runs have (legacy 2, ")
    assert (found.title, found.unit) == ("compile seconds, all programs", "seconds")
    assert [point.label for point in found.lines[0].points] == ["0" * 10, "1" * 10]


def test_one_program_is_drawn_alone(path, keep):
    keep(1.0)
    keep(2.0, ("a",))
    assert values(trend(path, "compile", program="a")) == [[1.0, 2.0]]
    assert values(trend(path, "compile", program="b")) == [[1.0]]
    with pytest.raises(StoreError, match="have no compile of a program 'c'"):
        trend(path, "compile", program="c")


def test_runs_without_an_end_and_small_runs_are_left_out_and_told(path, keep):
    keep(1.0, ("a", "b", "c"))
    keep(9.0, ("a",))
    keep(9.0, ("a", "b", "c"), finished=False)
    found = trend(path, "compile")
    assert values(found) == [[3.0]]
    assert found.notes[:2] == (
        "left out: 1 run without an end",
        "left out: run 2 with fewer than half of 3 programs",
    )


def test_lines_end_where_the_machine_or_the_versions_change(path, keep):
    keep(1.0)
    keep(2.0)
    keep(3.0, jax="0.12.0")
    keep(4.0, machine="there")
    keep(5.0, cpu="another")
    found = trend(path, "compile")
    assert values(found) == [[2.0, 4.0], [6.0], [8.0], [10.0]]
    assert len({line.machine for line in found.lines}) == 3


def test_lines_end_where_a_setting_changes_that_figures_depend_on(path, keep):
    keep(1.0, settings={"rounds": "5"})
    keep(2.0, settings={"XLA_FLAGS": "--x", "rounds": "9"})
    keep(3.0, settings={"XLA_FLAGS": "--x"}, jax="0.12.0")
    keep(4.0, jax="0.12.1")
    assert values(trend(path, "compile")) == [[2.0], [4.0], [6.0], [8.0]]
    over_jax = trend(path, "compile", over="jax")
    assert values(over_jax) == [[4.0, 6.0], [8.0]]
    assert [each.versions for each in over_jax.lines[:2]] == ["XLA_FLAGS --x", "XLA_FLAGS unset"]


def test_over_jax_there_is_a_point_for_each_version_in_their_order(path, keep):
    keep(3.0, jax="0.12.0")
    keep(9.0, jax="0.9.2")
    keep(1.0, jax="0.9.2")
    keep(2.0, jax="0.10.2")
    found = trend(path, "compile", over="jax")
    assert values(found) == [[2.0, 4.0, 6.0]]
    assert [point.label for point in found.lines[0].points] == ["0.9.2", "0.10.2", "0.12.0"]
    assert found.order == (2, 3, 4, 1)


def test_programs_are_counted_by_what_a_flip_comes_to(path, keep):
    keep(1.0, ("a", "b"))
    keep(1.0, ("a", "b", "c"))
    found = trend(path)
    assert [(line.name, line.points[-1].value) for line in found.lines] == [("yes", 3.0)]


OURS, STOCK = SIDES[:2], SIDES[2:]


def test_a_flip_of_the_engine_and_one_of_stock_jax_are_two_lines(path, keep):
    keep(1.0, sides=OURS)
    keep(1.0, sides=STOCK)
    keep(1.0)
    found = trend(path)
    assert [(line.versions.rpartition(", ")[2], len(line.points)) for line in found.lines] == [
        ("flip of the engine", 1), ("flip of stock JAX", 2),
    ]  # fmt: skip


def test_counts_of_runs_with_other_programs_say_so(path, keep):
    keep(1.0, ("a", "b"))
    keep(1.0, ("a", "c"))
    [note] = trend(path).notes
    assert note.startswith("counts of all programs of a run: 1 of 3 programs are in all 2 runs on")


def test_the_programs_of_a_sum_are_counted_by_the_runs_that_have_the_side(path, keep):
    keep(1.0, sides=OURS)
    keep(1.0, sides=STOCK)
    keep(1.0, ("c",), sides=STOCK)
    found = trend(path, "compile")
    assert [line.name for line in found.lines] == ["legacy", "simplified"]
    [note] = found.notes
    assert "(legacy 2 in 1 of them, " in note
    assert "jax-legacy 0 in 2 of them, " in note


def test_the_last_runs_alone(path, keep):
    for seconds in (1.0, 2.0, 3.0):
        keep(seconds)
    assert values(trend(path, "compile", last=2)) == [[4.0, 6.0]]


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_can_be_asked_for(path, keep, metric):
    keep(1.0)
    assert trend(path, metric).title
