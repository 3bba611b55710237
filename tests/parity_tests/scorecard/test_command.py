"""`constparity scorecard`: which lines it runs, what it prints, and its exit status."""

import json
import sys
from pathlib import Path

import pytest

from parity_tests.cli.app import main
from parity_tests.processes.interpreters import FileFailedError
from parity_tests.scorecard import score
from reports.rows.scorecard import OnRelease, Release, Scorecard, ScoreLine, Seen


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command on programs that show a state; return its status, its output, its order."""

    def ran(state, *arguments):
        asked = {}

        def scored(lines, pythons, *, jobs, progress):
            asked.update(lines=[each.name for each in lines], pythons=pythons, jobs=jobs)
            if state == "no process starts":
                raise FileFailedError("ModuleNotFoundError: no jax")
            return card(lines[0], state)

        monkeypatch.setattr(score, "score", scored)
        status = main(["scorecard", "--no-color", *arguments])
        return status, capsys.readouterr(), asked

    return ran


def card(line, state):
    seen = (Seen(side="jax-legacy", text="1.0"), Seen(side="jax-simplified", text="2.0"))
    shown = OnRelease(jax="0.13", state=state, engine=None, seen=seen)
    fields = {
        name: getattr(line, name)
        for name in (
            "name", "title", "kind", "effect", "who", "origin", "way_round", "fault", "right",
            "by_design", "code",
        )
    }  # fmt: skip
    made = ScoreLine(**fields, file="a.py", program="print(1)", releases=(shown,))
    release = Release(jax="0.13", jaxlib="0.13", python="3.13.0", platform="cpu")
    return Scorecard(
        created="2026-01-01", constparity="0.1.0", inputs="abc", releases=(release,), lines=(made,)
    )


@pytest.mark.parametrize(
    ("name", "state", "status"),
    [
        ("committed_outputs", "open", 1), ("committed_outputs", "new", 1),
        ("committed_outputs", "changed", 1), ("committed_outputs", "not known", 2),
        ("committed_outputs", "fixed", 0), ("committed_outputs", "right", 0),
        ("closure_convert", "not in this release", 0), ("closure_convert", "no process starts", 2),
        # What is by design, in both modes, or fixed by the flip does not stand against it.
        ("jaxpr_consts", "open", 0), ("typed_keys", "open", 0), ("export_copies", "open", 0),
        ("typed_keys", "changed", 1), ("export_copies", "not known", 2),
    ],
)  # fmt: skip
def test_the_exit_status_is_of_the_newest_release(run, name, state, status):
    assert run(state, "-q", name)[0] == status


def test_a_line_by_name_with_what_it_showed(run, tmp_path):
    report = tmp_path / "out.json"
    arguments = ("typed_keys", "-v", "--jobs", "3", "--exit-zero", "--report", f"json:{report}")
    status, printed, asked = run("open", *arguments)
    assert (status, asked) == (
        0,
        {"lines": ["typed_keys"], "pythons": [Path(sys.executable)], "jobs": 3},
    )
    assert printed.out.startswith("scorecard of the flip, jax 0.13: 1 in both modes\n")
    assert "JAX, flag on" in printed.out
    assert json.loads(report.read_text())["lines"][0]["releases"][0]["seen"][1]["text"] == "2.0"


def test_a_name_that_is_no_line(run):
    status, printed, asked = run("open", "typed_key")
    assert (status, asked) == (4, {})
    assert "no line 'typed_key'" in printed.err
    assert "did you mean typed_keys" in printed.err
