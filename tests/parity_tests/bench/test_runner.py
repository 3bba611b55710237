"""The order of the turns, the message of a process that died, and the command."""

import json
import os

import pytest

from parity_tests.bench import runner
from parity_tests.bench.rows import ROWS
from parity_tests.cli import app
from parity_tests.cli.exit_codes import Exit
from parity_tests.observe.environment import describe
from reports.rows.bench import CONTESTANTS, Bench, BenchQuestion, BenchTurn, Sample, TurnTaken

SECONDS = {"legacy": 1.0, "simplified": 1.0, "jax-legacy": 1.0, "jax-simplified": 0.5, "manual": 1}


@pytest.fixture
def turns(monkeypatch):
    """The turns that were asked for; each process "measures" what is written down above."""
    asked = []

    def answer(turns, *, timeout):
        asked.extend(turns)
        samples = [
            Sample(
                row=10,
                case="<2> programs",
                what="seconds to compile",
                unit="seconds",
                value=SECONDS[turn.contestant],
            )
            for turn in turns
        ]
        return [TurnTaken(environment=describe(), samples=(each,)) for each in samples]

    monkeypatch.setattr(runner, "ask_for", answer)
    return asked


def test_contestants_go_forward_and_backward(turns):
    list(runner.run(BenchQuestion(rows=(10,), rounds=2)))
    order = [turn.contestant for turn in turns]
    assert order == [*CONTESTANTS, *CONTESTANTS[::-1]] * 2


def test_the_contestants_of_a_turn_are_on_one_core_and_the_next_turn_on_the_next(
    turns, monkeypatch
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 2}, raising=False)
    list(runner.run(BenchQuestion(rows=(10,), rounds=2)))
    assert [turn.core for turn in turns] == [*[2] * 5, *[3] * 5] * 2


def test_a_row_of_memory_has_a_process_of_its_own():
    assert runner.processes_of((1, 6, 9)) == [(1, 9), (6,)]
    assert runner.processes_of((6,)) == [(6,)]


def test_threads_have_all_cores_and_the_row_of_devices_has_eight(turns, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 2}, raising=False)
    next(runner.run(BenchQuestion(rows=(10, 12, 13), rounds=1)))
    asked = {turn.rows: (turn.core, turn.devices) for turn in turns}
    assert asked == {(10,): (2, None), (12,): (None, None), (13,): (None, 8)}


def test_an_unknown_row_is_named():
    with pytest.raises(ValueError, match=r"no row 99; the rows are 1, 2, 3"):
        list(runner.run(BenchQuestion(rows=(99,), rounds=1)))


def test_a_process_that_fails_is_named_with_its_last_words(monkeypatch):
    monkeypatch.setitem(ROWS, 99, ROWS[10])  # in this process, and not in that of the contestant
    turn = BenchTurn(contestant="jax-simplified", rows=(99,), size="quick")
    with pytest.raises(runner.BenchError) as failed:
        runner.ask_for([turn])
    assert "jax-simplified, rows 99: exit status 1" in str(failed.value)
    assert "KeyError: 99" in str(failed.value)


def test_the_command_prints_and_writes_each_figure_with_its_target(
    turns, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("FORCE_COLOR", "1")
    files = [f"--report={kind}:{tmp_path}/out.{kind}" for kind in ("json", "md", "svg")]
    assert (
        app.main(["bench", "--rows", "10", "--rounds", "4", "--quick", "--no-color", *files]) == 0
    )
    said, progress = capsys.readouterr()
    assert "8 turns will take about 2 min by a rule: 1 row in each, at 15 s" in progress
    assert "targets: 1 met, 1 missed, 0 inconclusive" in said
    assert "\x1b" not in said

    found = Bench.model_validate_json((tmp_path / "out.json").read_text())
    assert [(line.contestant, line.outcome) for line in found.lines] == [
        ("legacy", "met"),
        ("simplified", "missed"),
    ]
    assert len(found.samples) == len(CONTESTANTS)
    assert (tmp_path / "out.svg").read_text().startswith("<svg")
    assert found.question.size == "quick"

    table = (tmp_path / "out.md").read_text()
    assert f"- jax {found.environment.jax}," in table
    assert "| &lt;2&gt; programs: seconds to compile | simplified / jax-simplified |" in table
    assert "| 2.00x | 2 to 2 | at most 1.05 | **missed** | 1.00 s against 500 ms |" in table


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rows", "1,99"], "--rows has '99', and the rows are 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"),
        (["--rows", ","], "--rows must be numbers"),
        (["--quick", "--full"], "give one of them"),
        (["--report", "junit:out.xml"], "FORMAT one of html, md, comment, json, svg"),
    ],
)
def test_a_wrong_use_is_said_before_anything_runs(turns, capsys, arguments, said):
    assert app.main(["bench", *arguments]) == Exit.USAGE
    assert said in capsys.readouterr().err
    assert turns == []


def test_a_process_that_failed_exits_with_could_not_compare(monkeypatch, capsys):
    def fail(turns, *, timeout):
        raise runner.BenchError("legacy, rows 1: signal SIGKILL")

    monkeypatch.setattr(runner, "ask_for", fail)
    assert app.main(["bench", "--rows", "1"]) == Exit.COULD_NOT_COMPARE
    assert "could not measure legacy, rows 1: signal SIGKILL" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (runner.BenchError("manual, rows 10: signal SIGKILL"), Exit.COULD_NOT_COMPARE),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
    ],
)
def test_the_turns_before_a_failure_are_kept(turns, monkeypatch, tmp_path, capsys, error, code):
    answer, file = runner.ask_for, tmp_path / "out.json"

    def fail_at_last(asked, *, timeout):
        if len(turns) == 3 * len(CONTESTANTS):
            raise error
        return answer(asked, timeout=timeout)

    monkeypatch.setattr(runner, "ask_for", fail_at_last)
    assert app.main(["bench", "--rows", "10", "--rounds", "2", f"--report=json:{file}"]) == code
    assert "the figures are of 3 of 4 turns" in capsys.readouterr().err
    found = Bench.model_validate_json(file.read_text())
    assert {len(samples.values) for samples in found.samples} == {3}


def test_a_bench_reads_back(turns):
    [_, found] = runner.run(BenchQuestion(rows=(10,), rounds=1))
    assert Bench.model_validate(json.loads(found.model_dump_json())) == found
