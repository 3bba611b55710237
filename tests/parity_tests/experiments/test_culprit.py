"""The arrays that make a difference by being hoisted are found among those that make none."""

import itertools
from types import SimpleNamespace

import pytest
from program_files import line_with, program_file

from parity_tests import targets
from parity_tests.cli import app
from parity_tests.experiments import culprit, in_worker, interleaved_timing
from parity_tests.experiments.culprit import _is_beyond
from parity_tests.experiments.variants import Variants
from reports.rows.experiments import CulpritFound, CulpritQuestion


@pytest.fixture(scope="module")
def planted():
    return program_file("planted_culprits")


def find(planted, name, **question):
    return culprit.find(targets.load_one(f"{planted}:{name}"), CulpritQuestion(**question))


def test_the_one_of_eight_that_xla_folds(planted):
    found = find(planted, "one_folds", metric="outputs")
    assert (found.verdict, found.candidates) == ("difference", 8)
    [array] = found.arrays
    assert (array.array, array.bytes) == ("float32[2048]", 8192)
    assert array.line == line_with(planted, "# the bait")
    assert "1 of 2 leaves beyond bitwise: out['bait'] is ulp" in found.reasons[0]
    assert found.reasons[1:] == (
        "with these inlined and all others hoisted there is no difference: no leaf is beyond "
        "bitwise",
        'to keep it inlined: engine.jit(f, constants="simplified", constant_policy='
        f"{{'float32[2048] {planted.name}:{array.line}': 'inline'}})",
    )
    assert found.variants <= 3 + 2 * 8


def test_each_array_that_differs_by_itself_is_found(planted):
    found = find(planted, "two_fold", metric="outputs")
    assert [each.line for each in found.arrays] == [
        line_with(planted, "# the left bait"), line_with(planted, "# the right bait"),
    ]  # fmt: skip
    assert found.reasons[1:3] == (
        "each of 2 sets of arrays makes a difference by itself",
        "with these inlined and all others hoisted there is no difference: no leaf is beyond "
        "bitwise",
    )
    assert found.reasons[3].startswith("to keep them inlined: engine.jit(f, ")


def test_what_is_found_when_the_time_is_over_is_said_to_be_that(planted):
    program = targets.load_one(f"{planted}:two_fold")
    found = culprit.find(program, CulpritQuestion(metric="outputs"), seconds=0.0)
    assert len(found.arrays) == 1
    assert found.reasons[1] == (
        "the time is over: with these inlined and all others hoisted it may still differ"
    )


def test_a_difference_may_be_asked_to_be_larger(planted):
    found = find(planted, "one_folds", metric="outputs", beyond="tolerance")
    assert (found.verdict, found.arrays) == ("parity", ())
    assert "hoisting every array makes no difference" in found.reasons[0]


def test_the_one_of_eight_that_takes_temporaries(planted):
    found = find(planted, "one_takes_temporaries", metric="memory")
    assert (found.verdict, found.candidates) == ("difference", 8)
    [array] = found.arrays
    assert (array.array, array.line) == ("float32[64,64]", line_with(planted, "# the eater"))
    assert "bytes of temporaries inlined" in found.reasons[0]


@pytest.mark.parametrize("metric", ["outputs", "memory"])
def test_no_difference_and_no_arrays(planted, metric):
    found = find(planted, "none_does", metric=metric)
    assert (found.verdict, found.candidates, found.arrays) == ("parity", 1, ())
    found = find(planted, "none_at_all", metric=metric)
    assert (found.verdict, found.candidates) == ("parity", 0)
    assert found.reasons == ("no captured array is above the embed threshold",)


class Clock:
    """Stands for `time`: what is done takes no time but that of the variant that is next."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.mark.parametrize("metric", ["call", "compile"])
def test_times_by_a_clock_of_our_own(planted, metric, monkeypatch):
    """The second of the arrays costs three times as long, when it is hoisted."""
    clock = Clock()
    monkeypatch.setattr(interleaved_timing, "time", clock)

    def cost(variants, hoisted):
        return 3.0 if variants.arrays[1].array.identity in hoisted else 1.0

    class Lowered:
        def __init__(self, seconds):
            self.seconds = seconds

        def compile(self):
            clock.now += self.seconds
            return self

        def as_text(self):
            return f"takes {self.seconds}"

    def call_planted(variants, compiled):
        clock.now += compiled.seconds

    monkeypatch.setattr(Variants, "lower", lambda self, hoisted: Lowered(cost(self, hoisted)))
    monkeypatch.setattr(Variants, "lower_with_preamble", lambda self: Lowered(0.5))
    monkeypatch.setattr(Variants, "call", call_planted)
    found = find(planted, "one_folds", metric=metric)
    assert found.verdict == "difference"
    assert len(found.arrays) == 1
    assert "(3.00 times)" in found.reasons[0]
    told = any('precompute_constants="auto"' in each for each in found.reasons)
    assert told is (metric == "call")
    assert find(planted, "one_folds", metric=metric, factor=4.0).verdict == "parity"


def plant_slow_calls(monkeypatch, *comparisons):
    """Let the second variant take ten times as long in these comparisons, counted from 0."""
    pairs = ((1.0, 10.0 if number in comparisons else 1.0) for number in itertools.count())
    seconds = itertools.chain.from_iterable(pairs)
    monkeypatch.setattr(interleaved_timing, "seconds_of", lambda action: next(seconds))


def test_a_program_that_differs_from_itself_has_no_culprit(planted, monkeypatch):
    plant_slow_calls(monkeypatch, 0)
    found = find(planted, "one_folds", metric="call", samples=1)
    assert (found.verdict, found.arrays) == ("could not compare", ())
    assert "differs from itself: 1 s a call inlined, 10 s hoisted" in found.reasons[0]


def test_a_difference_that_is_not_seen_again_names_nobody(planted, monkeypatch):
    plant_slow_calls(monkeypatch, 1, 2, 4)
    found = find(planted, "one_folds", metric="call", samples=1)
    assert (found.verdict, found.arrays) == ("could not compare", ())
    assert "not seen again" in found.reasons[0]


@pytest.mark.parametrize(
    ("left", "right", "beyond"),
    [(0, 0, False), (0, 1, True), (2, 3, True), (3, 2, True), (2, 2.9, False), (2, 2, False)],
)
def test_a_factor_holds_in_both_directions(left, right, beyond):
    assert _is_beyond(left, right, 1.5) is beyond


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("none_does", 0, "no leaf is beyond bitwise"),
        ("raises", 2, "NameError: name 'no_such_name' is not defined"),
        ("exits", 2, "exit status 7"),
        ("no_such_program", 4, "has no 'no_such_program'"),
    ],
)
def test_what_the_command_says_and_exits_with(planted, capsys, monkeypatch, name, code, said):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert app.main(["culprit", f"{planted}:{name}", "--no-color"]) == code
    printed = capsys.readouterr()
    assert said in printed.out + printed.err
    assert "\x1b" not in printed.out


def test_the_arrays_are_printed_with_their_lines(planted, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # or the path would be printed relative to this repository
    assert app.main(["culprit", f"{planted}:one_folds"]) == 1
    printed = capsys.readouterr().out
    assert "hoisting 1 of 8 captured arrays is enough" in printed
    line = line_with(planted, "# the bait")
    assert f"{planted}:{line} (one_folds): float32[2048], 8,192 bytes" in printed


def test_exit_zero(planted, monkeypatch):
    found = find(planted, "none_at_all", metric="outputs").model_copy(
        update={"verdict": "difference"}
    )
    monkeypatch.setattr(in_worker, "find_culprits", lambda *_, **__: found)
    assert app.main(["culprit", "x:y"]) == 1
    assert app.main(["culprit", "x:y", "--exit-zero"]) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metric", "speed"], "--metric speed: it is outputs, compile, memory or call"),
        (["--beyond", "all"], "--beyond"),
        (["--factor", "0.5"], ""),
    ],
)
def test_usage(planted, capsys, options, said):
    assert app.main(["culprit", f"{planted}:one_folds", *options]) == 4
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "mark"),
    [("first_constant", "# reads first_constant"), ("the_flag", "# reads the_flag")],
)
def test_a_program_that_reads_jaxprs_or_the_flag_has_no_culprit(capsys, name, mark):
    file = program_file("trust/reads_jaxprs")
    assert app.main(["culprit", f"{file}:{name}"]) == 2
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    assert "no array is the culprit: " in printed.out
    assert f"trust/reads_jaxprs.py:{line_with(file, mark)}: in legacy it " in printed.out


def test_what_a_program_reads_is_said_before_an_array_that_differs_as_well(planted):
    found = find(planted, "folds_and_reads", metric="outputs")
    assert found.verdict == "could not compare"
    read = line_with(planted, "# the read")
    assert found.reasons[0].startswith("no array is the only culprit: `.consts` of a closed_jaxpr ")
    assert f"planted_culprits.py:{read}: in legacy it has 1 captured array" in found.reasons[0]
    [array] = found.arrays
    assert array.line == line_with(planted, "# the bait beside a read")


@pytest.mark.parametrize("command", ["sweep", "tune"])
def test_what_raises_by_a_read_is_told_with_the_read(capsys, command):
    file = program_file("trust/reads_jaxprs")
    assert app.main([command, f"{file}:raises_by_the_flag"]) == 2
    said = capsys.readouterr().err
    assert "the program raises NotImplementedError: the new form is not supported" in said
    read = line_with(file, "# reads raises_by_the_flag")
    assert f"trust/reads_jaxprs.py:{read}: in legacy it is False" in said


@pytest.mark.parametrize("command", ["culprit", "sweep", "tune", "reduce"])
@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        ("{}:", 4, "has nothing after the colon: write MODULE:NAME"),
        ("{}", 4, "names no program: write {}:NAME"),
        ("{}:nonesuch", 4, "has no 'nonesuch'; it has the programs"),
        ("{}:raises", 2, "the program raises NameError: name 'no_such_name' is not defined ("),
        ("{}:returns_a_text", 2, "returned a value of type <class 'str'>"),
    ],
)
def test_a_bad_target_is_one_sentence(planted, capsys, command, target, code, said):
    assert app.main([command, target.format(planted)]) == code
    told = capsys.readouterr().err
    errors = [each for each in told.splitlines() if "constparity: " in each]
    assert (len(errors), "Traceback" in told) == (1, False)
    assert said.format(planted) in errors[0]


def test_a_search_has_a_time_limit(planted, monkeypatch):
    monkeypatch.setattr("parity_tests.processes.worker_process.START_SECONDS", 0.0)
    question = CulpritQuestion(metric="outputs")
    with pytest.raises(in_worker.ExperimentError, match=r"no result in 0\.2 seconds"):
        in_worker.find_culprits(f"{planted}:one_folds", question, timeout=0.2)


def test_each_stage_of_a_search_has_the_time_that_is_left(monkeypatch):
    found = CulpritFound(
        program="step", source="m.py:step", question=CulpritQuestion(metric="outputs"),
        verdict="difference", reasons=(), candidates=0, variants=0,
    )  # fmt: skip
    clock, given = [100.0], []

    def stage(result):
        def run(*_, timeout=None):
            given.append(timeout)
            clock[0] += 4.0
            return result

        return run

    monkeypatch.setattr(in_worker, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(in_worker, "what_changes", stage(""))
    monkeypatch.setattr(in_worker, "_culprits", stage(found))
    monkeypatch.setattr(in_worker, "across_stock", stage(in_worker.AcrossStock(None)))
    assert (
        in_worker.find_culprits("m.py:step", found.question, timeout=10.0).verdict == "difference"
    )
    assert given == [10.0, None, 2.0]
    with pytest.raises(in_worker.ExperimentError, match=r"m.py:step: no result in 7 seconds"):
        in_worker.find_culprits("m.py:step", found.question, timeout=7.0)


def test_a_program_that_does_not_repeat_itself_is_told_in_one_sentence(capsys):
    file = program_file("trust/unrepeatable")
    assert app.main(["culprit", f"{file}:unseeded_at_import"]) == 2
    out = capsys.readouterr().out
    assert "not repeatable unseeded_at_import" in out
    assert "does not repeat itself, so no array is the culprit" in out
    assert f"unrepeatable.py:{line_with(file, 'return x * UNSEEDED')}" in out
