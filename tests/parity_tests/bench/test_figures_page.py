"""docs/trust/figures.md is of all rows of the benchmark, with a column for each version of JAX."""

import runpy
from pathlib import Path

import pytest

from parity_tests.bench import runner
from parity_tests.bench.rows import ROWS
from parity_tests.observe.environment import describe
from reports.rows.bench import BenchQuestion, Sample, TurnTaken

TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(TESTS / "scripts" / "write_figures.py"))


def bench(monkeypatch, jax, seconds):
    def answer(turns, *, timeout):
        environment = describe().model_copy(update={"jax": jax})
        for turn in turns:
            taken = Sample(
                row=10,
                case="a|b",
                what="seconds to compile",
                unit="seconds",
                value=seconds.get(turn.contestant, 1.0),
            )
            yield TurnTaken(environment=environment, samples=(taken,))

    monkeypatch.setattr(runner, "ask_for", lambda turns, timeout: [*answer(turns, timeout=timeout)])
    *_, found = runner.run(BenchQuestion(rows=(10,), rounds=4))
    return found


def test_versions_stand_side_by_side_and_what_is_missed_stands_out(script, monkeypatch):
    first = bench(monkeypatch, "0.10.2", {})
    second = bench(monkeypatch, "0.12.0.1", {"simplified": 1.5})
    page = script["page"]([first, second])
    assert "## Row 10: compile time" in page
    assert "| case | contestants | target | jax 0.10.2 | jax 0.12.0.1 |" in page
    assert page.splitlines()[-2:] == [
        r"| a\|b: seconds to compile | legacy / jax-legacy | at most 1.05 "
        "| 1.00x [1, 1]; 1.00 s | 1.00x [1, 1]; 1.00 s |",
        "|  | simplified / jax-simplified | at most 1.05 "
        "| 1.00x [1, 1]; 1.00 s | 1.50x [1.5, 1.5]; **missed**; 1.50 s |",
    ]


def test_the_page_has_a_table_for_each_row(script):
    text = (script["DOCS"] / "trust" / "figures.md").read_text()
    wanted = [f"## Row {number}: {row.title}" for number, row in ROWS.items()]
    assert [line for line in text.splitlines() if line.startswith("## Row")] == wanted
