"""A sweep over the embed threshold: counts of a small program, and the rule on written figures."""

import pytest
from program_files import program_file
from rich.console import Console

import reports
from parity_tests import targets
from parity_tests.cli import app
from parity_tests.cli import sweep as cli_sweep
from parity_tests.evidence.saved import archive_of
from parity_tests.experiments import in_worker, sweep
from parity_tests.experiments.sweep import PREAMBLE, recommend
from parity_tests.observe.calls import work_of_jax
from reports.rows import Campaign, ProgramRow
from reports.rows.experiments import Sweep, SweepPoint, SweepQuestion

THRESHOLDS = (0, 16, 32, 64, 1024)


@pytest.fixture(scope="module")
def planted():
    return program_file("planted_sizes")


@pytest.fixture(scope="module")
def swept(planted):
    program = targets.load_one(f"{planted}:four_sizes")
    return sweep.sweep(program, SweepQuestion(thresholds=THRESHOLDS, samples=1))


def test_counts_are_monotone(swept):
    def figures(name):
        return [getattr(point, name) for point in swept.points]

    assert figures("threshold") == list(THRESHOLDS)
    assert figures("const_args") == [4, 3, 3, 2, 0]
    assert figures("inlined_bytes") == [0, 16, 16, 80, 1360]
    assert figures("argument_bytes") == [4 + 1360 - n for n in figures("inlined_bytes")]
    assert figures("optimised_constant_bytes") == sorted(figures("optimised_constant_bytes"))
    assert figures("optimised_constant_bytes")[-1] == 1360
    assert figures("text_bytes")[-1] > figures("text_bytes")[0]
    assert min(figures("compile_seconds") + figures("call_seconds")) > 0
    assert min(figures("dispatch_seconds")) > 0


def test_each_sample_of_compiling_compiles(planted):
    program = targets.load_one(f"{planted}:four_sizes")
    with work_of_jax() as work:
        sweep.sweep(program, SweepQuestion(thresholds=(0, 32), samples=2))
    # Of each: the one that is called, one that is lost, and two samples; one with a preamble.
    assert work["compilation"] == 2 * 4 + 1


def test_thresholds_that_hoist_the_same_arrays_share_their_figures(swept):
    same = [
        point.model_copy(update={"threshold": 0}) for point in swept.points if point.const_args == 3
    ]
    assert same[0] == same[1]


def point(threshold, call, compile_, const_args=None):
    return SweepPoint(
        threshold=threshold,
        const_args=10 - threshold if const_args is None else const_args,
        text_bytes=1,
        inlined_bytes=0,
        optimised_constant_bytes=0,
        argument_bytes=None,
        temporary_bytes=None,
        compile_seconds=compile_,
        dispatch_seconds=call,
        call_seconds=call,
    )


@pytest.mark.parametrize(
    ("points", "expected", "said"),
    [
        # the smallest that is within 5 % of the fastest
        ([point(0, 2.0, 1.0), point(1, 1.04, 1.0), point(2, 1.0, 1.0)], 1, "within 5%"),
        ([point(0, 2.0, 1.0), point(1, 1.06, 1.0), point(2, 1.0, 1.0)], 2, "within 5%"),
        # the fastest compiles too long: it is out, and what is fast is measured without it
        ([point(0, 2.0, 1.0), point(1, 1.5, 1.1), point(2, 1.0, 1.2)], 1, "1 threshold left out"),
        ([point(0, 2.0, 1.0), point(1, 1.0, 9.0), point(2, 1.0, 9.0)], 0, "2 thresholds left out"),
        # in any order
        ([point(2, 1.0, 1.0), point(0, 1.0, 1.0), point(1, 9.0, 1.0)], 0, "the smallest"),
        # compiling alone makes a difference
        ([point(0, 1.0, 1.0), point(1, 1.0, 2.0)], 0, "1 threshold left out"),
        # what the rule passes over is said
        ([point(0, 1.0, 3.0), point(1, 1.0, 1.0)], 0, "; 1 would compile 3.0 times as fast"),
        # nothing to choose
        ([point(0, 1.0, 1.0), point(1, 1.05, 1.09)], None, "no difference: all times are within"),
        ([point(0, 9.0, 1.0, 3), point(1, 1.0, 9.0, 3)], None, "the same arrays are hoisted"),
        ([point(32, 1.0, 1.0)], None, "no difference"),
    ],
)
def test_the_rule(points, expected, said):
    recommended, reason = recommend(points)
    assert recommended == expected
    assert said in reason


@pytest.mark.parametrize(
    ("points", "preamble", "expected", "said"),
    [
        # faster within the limit; faster, compiling too long; far faster, compiling too long
        (
            [point(0, 2.0, 1.0), point(1, 1.0, 9.0)],
            point(0, 1.0, 1.0),
            PREAMBLE,
            "2.0 times as fast",
        ),
        ([point(0, 2.0, 1.0), point(1, 1.0, 9.0)], point(0, 1.0, 1.5), 0, "1 threshold left out"),
        ([point(0, 9.0, 1.0), point(1, 1.0, 9.0)], point(0, 1.1, 5.0), PREAMBLE, "5.0 times as"),
        # no faster than the threshold that is chosen
        ([point(0, 1.0, 1.0), point(1, 2.0, 1.0)], point(0, 1.0, 1.0), 0, "the smallest"),
        # no preamble: a threshold that is far faster, however long it compiles
        ([point(0, 9.0, 1.0), point(1, 1.0, 9.0)], None, 1, "9.0 times as fast"),
        # where no threshold makes a difference
        ([point(0, 9.0, 1.0, 3), point(1, 9.0, 1.0, 3)], point(0, 1.0, 3.0), PREAMBLE, "3.0 times"),
    ],
)
def test_the_rule_with_a_preamble(points, preamble, expected, said):
    recommended, reason = recommend(points, preamble)
    assert recommended == expected
    assert said in reason


def test_a_sweep_has_a_row_with_the_preamble(capsys):
    program = targets.load_one(f"{program_file('planted_tunes')}:gram")
    swept = sweep.sweep(program, SweepQuestion(thresholds=(0, 32), samples=1))
    assert (swept.preamble.threshold, swept.preamble.const_args) == (0, 1)
    assert swept.preamble.argument_bytes < swept.points[0].argument_bytes
    chosen = swept.model_copy(update={"recommended": None, "precompute_constants": "auto"})
    cli_sweep.print_sweep(Console(width=200), chosen)
    printed = capsys.readouterr().out
    assert "0, preamble *" in printed
    assert 'recommended: precompute_constants="auto": ' in printed


def test_what_noise_alone_makes_equal_is_not_known():
    points = [point(0, 1.2, 1.0), point(1, 1.0, 1.3)]
    assert recommend(points)[0] == 0
    recommended, reason = recommend(points, call_noise=0.25, compile_noise=0.4)
    assert recommended is None
    assert reason == (
        "not known: times vary by 25% for a call and 40% to compile from run to run; give more "
        "--samples"
    )
    calls = [point(0, 1.9, 1.0), point(1, 1.0, 1.0)]
    assert "times vary by 92% for a call from run to run" in recommend(calls, call_noise=0.92)[1]
    equal = [point(0, 1.04, 1.0), point(1, 1.0, 1.09)]
    assert recommend(equal, call_noise=0.25)[1].endswith("within 5% for a call and 10% to compile")


@pytest.fixture
def result(swept, tmp_path):
    """The file of a result that has the program."""
    row = ProgramRow(
        name=swept.program, source=swept.source, digest=swept.digest, summary="",
        verdict="parity", reasons=(), observations=(), comparisons=(),
    )  # fmt: skip
    campaign = Campaign(
        created="", environment=swept.environment, sides=("legacy",), programs=(row,)
    )
    file = tmp_path / "result.json"
    file.write_text(reports.render_report("json", campaign), "utf-8")
    return file


def test_the_command_writes_a_table_and_a_report(planted, result, tmp_path, capsys):
    report = tmp_path / "sweep.json"
    options = ["--thresholds", "0,32, 1024", "--samples", "1", "--report", f"json:{report}"]
    options += ["--into", str(result)]
    assert app.main(["sweep", f"{planted}:four_sizes", *options]) == 0
    printed, told = capsys.readouterr()
    assert "recommended: " in printed
    assert "1,024" in printed
    assert told.splitlines()[0] == "four_sizes: starting a process"
    assert "four_sizes: " in told.splitlines()[-1]
    swept = Sweep.model_validate_json(report.read_text())
    assert [each.const_args for each in swept.points] == [4, 3, 0]
    assert swept.source.rpartition(":")[2].isdecimal()
    assert reports.load_campaign(result).sweeps == (swept,)


def test_a_result_of_something_else_stays_as_it_is(planted, swept, result, monkeypatch, capsys):
    moved = swept.model_copy(update={"source": "elsewhere.py:1"})
    monkeypatch.setattr(in_worker, "answer", lambda *_, **__: moved)
    before = result.read_bytes()
    assert app.main(["sweep", f"{planted}:four_sizes", "--into", str(result)]) == 4
    assert "does not take the sweep: the sweep is of four_sizes" in capsys.readouterr().err
    assert result.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "edit", "said"),
    [
        ("nothing", lambda _: None, "has no program 'nothing'; run it"),
        ("four_sizes", lambda file: file.write_text("{}"), "not a constparity report"),
        ("four_sizes", lambda file: archive_of(file).touch(), "was saved with arrays"),
        ("four_sizes", lambda file: file.unlink(), "No such file"),
    ],
)
def test_what_takes_no_sweep_is_said_before_anything_is_measured(
    planted, result, name, edit, said, monkeypatch, capsys
):
    monkeypatch.setattr(in_worker, "answer", lambda *_, **__: pytest.fail("measured"))
    edit(result)
    assert app.main(["sweep", f"{planted}:{name}", "--into", str(result)]) == 4
    assert said in capsys.readouterr().err


def test_a_report_does_not_replace_the_result(planted, result, capsys):
    options = ["--into", str(result), "--report", f"json:{result}"]
    assert app.main(["sweep", f"{planted}:four_sizes", *options]) == 4
    assert "would replace the result" in capsys.readouterr().err


def test_a_program_without_arrays_has_nothing_to_choose(planted, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert app.main(["sweep", f"{planted}:nothing", "--samples", "1", "--no-color"]) == 0
    printed = capsys.readouterr().out
    assert "recommended: no difference" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize(
    "options",
    [["--thresholds", "0,many"], ["--thresholds", ","], ["--report", "html:sweep.html"]],
)
def test_usage(planted, options):
    assert app.main(["sweep", f"{planted}:four_sizes", *options]) == 4
