"""A policy is proposed that inlines what makes calls faster, and nothing else."""

import functools
import io
import math

import pytest
from program_files import line_with, program_file
from rich.console import Console

import engine
from parity_tests import targets
from parity_tests.cli import app
from parity_tests.cli import tune as cli_tune
from parity_tests.experiments import in_worker, interleaved_timing, tune
from parity_tests.experiments.variants import Variants
from parity_tests.observe.calls import work_of_jax
from parity_tests.processes.protocol import TunePolicy
from reports.rows.experiments import TuneQuestion, Tuning


@pytest.fixture(scope="module")
def planted():
    return program_file("planted_tunes")


class Once:
    """A lowered program that is compiled once, however often it is asked to."""

    def __init__(self, lowered):
        self._lowered, self.compile = lowered, functools.cache(lowered.compile)

    def __getattr__(self, name):
        return getattr(self._lowered, name)


LOWERED = {}  # by the captured arrays, and which of them are hoisted


class Clock:
    """Stands for `time`: nothing takes any but lowering and calling, by what is hoisted then.

    Nothing is called. So what was lowered once is the same for all tests, unless it `is_anew`.
    """

    def __init__(self, monkeypatch, call, first, *, is_anew=False):
        self.now = 0.0
        self.lowered = []  # the shapes that were hoisted
        self.calls = 0
        stock = Variants.lower

        def lower(variants, hoisted):
            arrays = ((use.place, use.array.identity in hoisted) for use in variants.arrays)
            if (key := tuple(arrays)) not in LOWERED or is_anew:
                LOWERED[key] = Once(stock(variants, hoisted))
            lowered = LOWERED[key]
            self.lowered.append(shapes(lowered))
            self.now += first(shapes(lowered))
            return lowered

        def call_planted(variants, compiled):
            self.calls += 1
            self.now += call(shapes(compiled))

        monkeypatch.setattr(interleaved_timing, "time", self)
        monkeypatch.setattr(Variants, "lower", lower)
        monkeypatch.setattr(Variants, "call", call_planted)

    def perf_counter(self):
        return self.now


def shapes(stage):
    return tuple(sorted(math.prod(const_arg.shape) for const_arg in stage.const_args))


TABLE, WEIGHTS, BIAS = "float32[512]", "float32[256]", "float32[64]"


def costs(**seconds):
    """A second, and those of each array that is hoisted, as in `costs(of_512=3.0)`."""
    of = {int(name.removeprefix("of_")): cost for name, cost in seconds.items()}
    return lambda hoisted: 1.0 + sum(of.get(shape, 0.0) for shape in hoisted)


def inlining(**seconds):
    """A second, and those of each array that is inlined."""
    of = {int(name.removeprefix("of_")): cost for name, cost in seconds.items()}
    return lambda hoisted: 1.0 + sum(cost for shape, cost in of.items() if shape not in hoisted)


def needs_both(hoisted):
    return 1.0 if not {512, 64} & set(hoisted) else 2.0


def one_is_enough(hoisted):
    return 2.0 if {512, 64} <= set(hoisted) else 1.0 + 0.1 * (512 in hoisted)


def found_of(planted, monkeypatch, name="three", call=costs(), first=costs(), **question):  # noqa: B008
    Clock(monkeypatch, call, first)
    question = TuneQuestion(**{"samples": 1, **question})
    return tune.tune(targets.load_one(f"{planted}:{name}"), question)


def outcomes(found):
    return {each.key: each.outcome for each in found.arrays}


def path(found):
    return [point.inlined for point in found.points if point.kind == "path"]


def test_exactly_the_array_that_makes_calls_faster_is_inlined(planted, monkeypatch):
    found = found_of(planted, monkeypatch, call=costs(of_256=3.0))
    assert found.proposal == {WEIGHTS: "inline"}
    assert outcomes(found) == {TABLE: "no faster", WEIGHTS: "inlined", BIAS: "no faster"}
    assert "4.00 times as fast" in found.reason
    assert [(p.kind, p.inlined, p.const_args, p.inlined_bytes, p.call_seconds)
            for p in found.points] == [
        ("all hoisted", (), 3, 0, 4.0),
        ("alone", (TABLE,), 2, 2048, 4.0),
        ("alone", (WEIGHTS,), 2, 1024, 1.0),
        ("alone", (BIAS,), 2, 256, 4.0),
        ("path", (WEIGHTS,), 2, 1024, 1.0),
        ("all inlined", (TABLE, WEIGHTS, BIAS), 0, 3328, 1.0),
    ]  # fmt: skip


def test_nothing_to_gain(planted, monkeypatch):
    found = found_of(planted, monkeypatch, call=costs(of_512=0.04))
    assert (found.proposal, path(found)) == ({}, [])
    assert found.reason.startswith("no difference: hoist everything; no call is more than 1.")
    assert set(outcomes(found).values()) == {"no faster"}


def test_inlining_that_makes_calls_slower_is_not_proposed(planted, monkeypatch):
    assert found_of(planted, monkeypatch, call=inlining(of_512=3.0)).proposal == {}


def test_the_greatest_gain_comes_first(planted, monkeypatch):
    found = found_of(planted, monkeypatch, call=costs(of_512=1.0, of_64=3.0))
    assert path(found) == [(BIAS,), (TABLE, BIAS)]
    assert found.proposal == {TABLE: "inline", BIAS: "inline"}


def test_what_no_longer_gains_beside_the_others_is_left_hoisted(planted, monkeypatch):
    found = found_of(planted, monkeypatch, call=one_is_enough)
    assert path(found) == [(TABLE,)]
    assert outcomes(found)[BIAS] == "not needed"


def test_arrays_that_gain_only_together(planted, monkeypatch):
    found = found_of(planted, monkeypatch, call=needs_both)
    assert path(found) == [(TABLE, BIAS)]
    assert outcomes(found)[WEIGHTS] == "no faster"


@pytest.mark.parametrize(("factor", "inlined"), [(2.0, [BIAS]), (4.0, [TABLE, BIAS])])
def test_what_compiles_too_long_is_left_hoisted(planted, monkeypatch, factor, inlined):
    found = found_of(
        planted,
        monkeypatch,
        call=costs(of_512=1.2, of_64=0.6),
        first=inlining(of_512=2.0),
        compile_factor=factor,
    )
    assert found.proposal == dict.fromkeys(inlined, "inline")
    if factor == 2.0:
        assert outcomes(found)[TABLE] == "compiles too long"
        assert "1 key would be faster, taking more than 2 times as long" in found.reason


def test_compiling_too_long_is_judged_of_all_that_are_inlined(planted, monkeypatch):
    gain, cost = costs(of_512=3.0, of_64=1.0), inlining(of_512=0.8, of_64=0.8)
    found = found_of(planted, monkeypatch, call=gain, first=cost)
    assert outcomes(found) == {
        TABLE: "inlined", WEIGHTS: "no faster", BIAS: "compiles too long"
    }  # fmt: skip


def test_what_compiles_hopelessly_long_is_compiled_once(planted, monkeypatch):
    clock = Clock(monkeypatch, costs(of_512=1.5), inlining(of_512=99.0))
    program = targets.load_one(f"{planted}:three")
    found = tune.tune(program, TuneQuestion(samples=3))
    assert found.proposal == {}
    assert found.reason.startswith("hoist everything: 1 key would be faster")
    assert sorted(each for each in clock.lowered if 512 not in each) == [(), (64, 256)]


def test_each_sample_compiles(planted, monkeypatch):
    Clock(monkeypatch, costs(), costs(), is_anew=True)
    program = targets.load_one(f"{planted}:one")
    with work_of_jax() as work:
        tune.tune(program, TuneQuestion(samples=2))
    # Once in advance, and once with a preamble, which has no work; of each of two variants the one
    # that is called, and two samples.
    assert work["compilation"] == 2 + 2 * 3


def test_bounds_on_arrays(planted, monkeypatch):
    gain = costs(of_512=1.0, of_256=1.0, of_64=1.0)
    found = found_of(planted, monkeypatch, call=gain, most_bytes=1024, most_arrays=1)
    assert outcomes(found) == {TABLE: "too large", WEIGHTS: "inlined", BIAS: "not tried"}
    assert found.points[-1].inlined == (WEIGHTS,)
    found = found_of(planted, monkeypatch, call=gain, most_bytes=0)
    assert found.reason == "hoist everything: no captured array may be inlined"


def test_noise_is_no_gain(planted, monkeypatch):
    """A call takes twice as long in every other round."""
    numbers = iter(range(10**6))

    def call(hoisted):
        return (1 + next(numbers) // 2 % 2) * (1.5 if hoisted else 1.0)

    found = found_of(planted, monkeypatch, name="one", call=call)
    assert found.call_noise == 1.0
    assert found.proposal == {}
    assert found.reason == (
        "not known: times vary by 100% for a call from run to run; give more --samples"
    )


def test_a_gain_that_is_not_seen_again_is_none(planted, monkeypatch):
    clock = Clock(monkeypatch, lambda hoisted: 1.0, costs())
    clock.calls = 0

    def call(variants, compiled):
        clock.calls += 1
        # Two variants, a call of each that is lost and four samples, and two calls to see how
        # quick they are: it gains when first measured and in the step, and not in the end.
        clock.now += 2.0 if shapes(compiled) and clock.calls <= 2 * (2 * 5 + 2) else 1.0

    monkeypatch.setattr(Variants, "call", call)
    found = tune.tune(targets.load_one(f"{planted}:one"), TuneQuestion(samples=1))
    assert (found.proposal, path(found)) == ({}, [])
    assert "a gain was seen, and not seen again" in found.reason


def test_what_compiles_too_long_in_the_end_is_taken_back(planted, monkeypatch):
    clock = Clock(monkeypatch, costs(of_512=1.0), costs())
    stock = Variants.lower

    def lower(variants, hoisted):
        lowered = stock(variants, hoisted)
        # Once in advance, and in each round a build and a sample of two variants.
        clock.now += 0.0 if shapes(lowered) or len(clock.lowered) <= 1 + 2 * 4 else 9.0
        return lowered

    monkeypatch.setattr(Variants, "lower", lower)
    found = tune.tune(targets.load_one(f"{planted}:one"), TuneQuestion(samples=1))
    assert (found.proposal, path(found)) == ({}, [])
    assert outcomes(found) == {TABLE: "compiles too long"}
    assert found.reason.startswith("hoist everything: 1 key would be faster, taking more than 2")


GRAM = 64 * 256


@pytest.mark.parametrize(
    ("hoisted", "preamble_compiles", "proposed"),
    [
        (9.0, 1.0, "auto"),  # the call is 10 times as fast
        (0.5, 1.0, "auto"),  # faster, and it compiles as long
        (0.5, 9.0, "off"),  # faster, and it compiles too long
        (9.0, 9.0, "auto"),  # no limit counts beside a call that is 10 times as fast
        (0.0, 1.0, "off"),  # no faster
    ],
)
def test_a_preamble_is_a_candidate(planted, monkeypatch, hoisted, preamble_compiles, proposed):
    clock = Clock(monkeypatch, costs(**{f"of_{GRAM}": hoisted}), inlining(**{f"of_{GRAM}": 99.0}))
    stock = Variants.lower_with_preamble

    def lower_with_preamble(variants):
        clock.now += preamble_compiles
        return stock(variants)

    monkeypatch.setattr(Variants, "lower_with_preamble", lower_with_preamble)
    found = tune.tune(targets.load_one(f"{planted}:gram"), TuneQuestion(samples=1))
    assert (found.precompute_constants, found.proposal) == (proposed, {})
    last = found.points[-1]
    assert (last.kind, last.inlined, last.array_bytes, last.const_args) == ("preamble", (), 0, 1)
    assert last.first_seconds == preamble_compiles
    assert ('precompute_constants="auto"' in printed(found)) is (proposed == "auto")
    assert "nothing; a preamble" in printed(found)


def test_a_call_that_is_far_faster_is_proposed_however_long_it_compiles(planted, monkeypatch):
    found = found_of(planted, monkeypatch, call=costs(of_512=3.0), first=inlining(of_512=50.0))
    assert found.proposal == {TABLE: "inline"}
    assert found.reason.endswith(
        "(4.00 times as fast); compiling takes 51.00 times as long, beyond the limit of 2, which "
        "does not count where a call is 3 times as fast"
    )
    first = inlining(of_512=50.0, of_256=60.0)
    found = found_of(planted, monkeypatch, call=costs(of_512=3.0, of_256=0.5), first=first)
    assert found.proposal == {TABLE: "inline"}
    assert outcomes(found)[WEIGHTS] == "compiles too long"
    assert found.reason.endswith(
        "; 1 key beyond the limit as well would make no call 3 times as fast again"
    )


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [("slow", "quick to compile"), ("quick to compile", "quick to compile"), ("best", "best")],
)
def test_no_choice_is_far_behind(chosen, expected):
    call = {"slow": 30.0, "quick to compile": 0.19, "best": 0.14}
    compile_ = {"slow": 0.2, "quick to compile": 1.5, "best": 29.0}
    assert interleaved_timing.not_far_behind(chosen, call, compile_) == expected


@pytest.mark.parametrize(
    ("name", "gaining", "keys"),
    [
        ("three", 512, ["float32[512]"]),
        ("twins", 64, ["float32[64] planted_tunes.py:{y = x * LEFT}",
                       "float32[64] planted_tunes.py:{return y * RIGHT}"]),
        ("twins_in_one_line", 64, ["float32[64]"]),
        ("one_is_only_returned", 64, ["float32[64] planted_tunes.py:{return x * LEFT, RIGHT}",
                                      "float32[64]"]),
    ],
)  # fmt: skip
def test_the_proposed_table_makes_the_program_that_was_measured(
    planted, monkeypatch, name, gaining, keys
):
    keys = [
        f"{head}{line_with(planted, text.rstrip('}'))}" if text else head
        for head, _, text in (key.partition("{") for key in keys)
    ]
    found = found_of(planted, monkeypatch, name=name, call=costs(**{f"of_{gaining}": 1.0}))
    assert sorted(found.proposal) == sorted(keys)
    fun, args, kwargs = targets.load_one(f"{planted}:{name}").build()
    jitted = engine.jit(fun, constants="simplified", constant_policy=found.proposal)
    last = [point for point in found.points if point.kind == "path"][-1]
    lowered = jitted.lower(*args, **kwargs)
    assert len(lowered.const_args) == last.const_args
    assert len(lowered.as_text()) == last.text_bytes


def test_arrays_that_no_key_tells_apart_are_said_to_be(planted, monkeypatch):
    found = found_of(planted, monkeypatch, name="twins_in_one_line", call=costs(of_64=1.0))
    [both] = found.arrays
    assert (both.count, both.bytes, both.outcome) == (2, 512, "inlined")
    assert "float32[64], 512 bytes" in printed(found)
    assert "; 2 arrays that no key tells apart" in printed(found)


def printed(found):
    console = Console(file=io.StringIO(), width=200)
    cli_tune.print_tuning(console, found)
    return console.file.getvalue()


def test_what_is_printed_can_be_pasted(planted, monkeypatch):
    found = found_of(planted, monkeypatch, call=costs(of_512=1.0, of_64=3.0))
    text = printed(found)
    assert "│+ float32[64] " in text.replace("│ ", "│")
    assert "inlined: float32[512], 2,048 bytes" in text
    pasted = text[text.index("engine.jit(f") :]
    jitted = eval(pasted, {"engine": engine, "f": targets.load_one(f"{planted}:three").build()[0]})
    assert len(jitted.lower(2.0).const_args) == 1
    nothing = found_of(planted, monkeypatch, name="none")
    assert cli_tune.as_python(nothing) == 'engine.jit(f, constants="simplified")'


def test_the_command_writes_its_reports(planted, tmp_path, capsys):
    reports = [tmp_path / "tuned.json", tmp_path / "tuned.svg"]
    options = [word for file in reports for word in ("--report", f"{file.suffix[1:]}:{file}")]
    assert app.main(["tune", f"{planted}:three", "--samples", "1", *options]) == 0
    said = capsys.readouterr().out
    found = Tuning.model_validate_json(reports[0].read_text())
    assert f"proposed: {found.reason}" in said
    assert cli_tune.as_python(found) in said
    assert found.question.samples == 1
    assert [each.key for each in found.arrays] == [TABLE, WEIGHTS, BIAS]
    assert reports[1].read_text().startswith("<svg ")


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("none", 0, "hoist everything: no captured array may be inlined"),
        ("raises", 2, "NameError: name 'no_such_name' is not defined"),
        ("no_such_program", 4, "has no 'no_such_program'"),
    ],
)
def test_what_the_command_says_and_exits_with(planted, capsys, monkeypatch, name, code, said):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert app.main(["tune", f"{planted}:{name}", "--samples", "1", "--no-color"]) == code
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
    assert "\x1b" not in captured.out


@pytest.mark.parametrize(
    "options",
    [
        ["--compile-factor", "0.5"],
        ["--most-bytes", "-1"],
        ["--most-arrays", "0"],
        ["--samples", "0"],
        ["--report", "html:tuned.html"],
        ["--report", "tuned.svg"],
    ],
)
def test_usage(planted, monkeypatch, options):
    monkeypatch.setattr(in_worker, "answer", lambda *_, **__: pytest.fail("it ran"))
    assert app.main(["tune", f"{planted}:three", *options]) == 4


def test_svg_is_no_report_of_other_commands(planted, capsys):
    assert app.main(["run", f"{planted}:three", "--report", "svg:out.svg"]) == 4
    assert "FORMAT one of html, md, comment, junit" in capsys.readouterr().err


def test_a_search_has_a_time_limit(planted):
    target = f"{planted}:three"
    request = TunePolicy(target=target, question=TuneQuestion())
    with pytest.raises(in_worker.ExperimentError, match=r"no result in 0\.2 seconds"):
        in_worker.answer(target, request, timeout=0.2)
