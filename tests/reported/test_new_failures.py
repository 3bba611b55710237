"""`culprit` names the arrays with which a program fails when they are hoisted."""

from types import SimpleNamespace

import pytest
from program_files import line_with, program_file

import engine
from parity_tests import targets
from parity_tests.advice import advice
from parity_tests.cli import app
from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.experiments import culprit, in_worker
from parity_tests.experiments.in_worker import AcrossStock, across_stock
from parity_tests.processes.protocol import ComparedVariant
from parity_tests.processes.worker_process import Lost
from parity_tests.run import run
from reports.rows import Failure, FlipReason, FlipVerdict, Observation, ProgramRow
from reports.rows.experiments import CulpritQuestion

FILE = program_file("reported/new_failures")
STOCK = ("jax-legacy", "jax-simplified")
OUTPUTS = CulpritQuestion(metric="outputs")


def found_in(name, **known):
    return culprit.find(targets.load_one(f"{FILE}:{name}"), OUTPUTS, **known)


def lines_of(found):
    return [each.line for each in found.arrays]


@pytest.fixture
def strict():
    yield
    engine.config.update("strict_placement", False)


def test_a_crash_takes_its_process_and_the_search_goes_on(monkeypatch, capsys):
    monkeypatch.setattr(in_worker, "what_changes", lambda *_, **__: "")
    assert app.main(["culprit", f"{FILE}:crash"]) == 1
    printed = capsys.readouterr().out
    assert "hoisted it fails: crash in compile: signal SIGABRT: the process ended" in printed
    assert "): it works in legacy and fails in simplified" in printed
    assert "hoisting 1 of 2 captured arrays is enough" in printed
    assert (
        f"new_failures.py:{line_with(FILE, '# the crash')} (crash): int2[5,9], 45 bytes" in printed
    )
    assert """constant_policy={'int2[5,9]': 'inline'}""" in printed


def test_each_array_that_fails_by_itself_is_named(strict):
    found = found_in("raises")
    assert (found.verdict, found.candidates) == ("difference", 3)
    assert lines_of(found) == [
        line_with(FILE, "# the left one"),
        line_with(FILE, "# the right one"),
    ]
    assert (
        "exception in lower: ValueError: Received incompatible devices for jitted computation"
        in (found.reasons[0])
    )
    assert found.reasons[1:] == (
        "each of 2 sets of arrays fails by itself",
        "with these inlined and all others hoisted it runs",
        'to do: keep them inlined: engine.jit(f, constants="simplified", constant_policy='
        "{'float32[65]': 'inline', "
        f"'float32[64] new_failures.py:{line_with(FILE, '# the left one')}': 'inline'}})",
    )


def test_the_policy_that_is_told_makes_the_program_run(strict):
    [*_, advice] = found_in("raises").reasons
    fun, args, _ = targets.load_one(f"{FILE}:raises").build()
    told = eval(advice.removeprefix("to do: keep them inlined: "), {"engine": engine, "f": fun})
    assert len(told(*args)) == 3


def test_what_fails_with_all_arrays_inlined_has_no_culprit():
    found = found_in("never_runs")
    assert (found.verdict, found.arrays) == ("could not compare", ())
    assert found.reasons[0].startswith(
        "no array is the culprit: with all arrays inlined the program fails: exception in call: "
    )


@pytest.mark.parametrize(
    ("name", "failure", "mark"),
    [
        ("donated", "jax.errors.JaxRuntimeError", "# the donated array is captured"),
        ("on_two_devices", "ValueError", "# far away"),
    ],
)
def test_what_only_stock_jax_fails_with(name, failure, mark):
    assert found_in(name).verdict == "parity"  # the engine runs it
    found = found_in(name, stock_failure=failure)
    assert (found.verdict, lines_of(found)) == ("difference", [line_with(FILE, mark)])


def test_another_failure_of_stock_jax_is_not_taken_for_it():
    found = found_in("donated", stock_failure="signal SIGSEGV")
    assert (found.verdict, found.arrays) == ("parity", ())
    assert found.reasons[0].startswith("as arguments the arrays fail otherwise: exception in call")


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        (
            "donated",
            (
                "with these arrays as arguments stock JAX fails, too",
                "with these inlined and all others hoisted it runs",
            ),
        ),
        (
            "both_donated",
            (
                "with these arrays as arguments stock JAX fails, too",
                "each of 2 sets of arrays fails by itself",
            ),
        ),
        (
            "",
            ("which array it takes is not known: no captured array is above the embed threshold",),
        ),
    ],
)
def test_what_the_engine_fixes_is_said_with_the_action_of_its_hazard(monkeypatch, arrays, says):
    stock = Failure(kind="exception", stage="donating call", type="E", message="donated\nmore")
    none = found_in("donated").model_copy(
        update={"reasons": ("no captured array is above the embed threshold",)}
    )
    of_stock = found_in(arrays, stock_failure="jax.errors.JaxRuntimeError") if arrays else none
    monkeypatch.setattr(in_worker, "what_changes", lambda *_, **__: "")
    first = FlipReason(
        outcome="different", kind="failure", what="fails", where="m.py:1", action=advice("donated")
    )
    monkeypatch.setattr(in_worker, "across_stock", lambda *_, **__: AcrossStock(first, stock))
    monkeypatch.setattr(
        in_worker, "_culprits", lambda asked, *_: of_stock if asked.stock_failure else none
    )
    found = in_worker.find_culprits(f"{FILE}:donated", OUTPUTS)
    assert (found.verdict, found.fails, found.arrays) == ("difference", True, of_stock.arrays)
    assert found.reasons == (
        "jax-legacy runs the program and jax-simplified fails: exception in donating call: E: "
        "donated",
        "constparity's own simplified pipeline runs it with every array hoisted",
        *says,
        f"m.py:1: to do: {advice('donated')}",
    )


def test_under_a_guard_the_advice_is_what_the_guard_lets_by():
    found = across_stock(f"{FILE}:under_a_guard", timeout=60)
    assert "Disallowed host-to-device transfer" in found.failure.message
    line = line_with(FILE, "# the table")
    [to_do] = found.to_do()
    assert to_do.endswith(f":{line} (NumPy array float32[64]): to do: {advice('on the device')}")


@pytest.mark.parametrize("verdict", ["parity", "difference"])
@pytest.mark.parametrize("has_price", [True, False])
def test_what_a_flip_costs_is_said_beside_what_outputs_differ_in(monkeypatch, verdict, has_price):
    outputs = FlipReason(outcome="different", kind="outputs", what="other bits")
    price = FlipReason(
        outcome="safe but slower or larger", kind="time", what="each call takes 30.0x as long",
        where="m.py:7", action=advice("compute once"),
    )  # fmt: skip
    row = ProgramRow(
        name="donated", source="m.py:1", summary="", verdict="parity", reasons=(), comparisons=(),
        observations=tuple(Observation(program="donated", side=side) for side in STOCK),
        flip=FlipVerdict(
            left=STOCK[0], right=STOCK[1], outcome="different",
            reasons=(outputs, price) if has_price else (outputs,),
        ),
    )  # fmt: skip
    ours = found_in("donated").model_copy(update={"verdict": verdict, "reasons": ("as asked",)})
    monkeypatch.setattr(run, "run", lambda *_, **__: SimpleNamespace(programs=[row]))
    monkeypatch.setattr(in_worker, "what_changes", lambda *_, **__: "")
    monkeypatch.setattr(in_worker, "_culprits", lambda *_: ours)
    told = (
        "the flip of stock JAX, by `run`: each call takes 30.0x as long",
        f"m.py:7: to do: {advice('compute once')}",
    )
    reasons = in_worker.find_culprits(f"{FILE}:donated", OUTPUTS).reasons
    assert reasons == ("as asked", *(told if has_price else ()))


def test_what_ends_its_process_in_simplified_form_is_told_as_run_tells_it(monkeypatch):
    ended = Failure(
        kind="crash", stage="trace", type="signal SIGABRT", message="the process ended"
    )  # fmt: skip
    fails = FlipReason(
        outcome="different", kind="failure", where="m.py:8", action="do not read the flag",
        what="works on jax-legacy and fails on jax-simplified: crash in trace: signal SIGABRT: "
        "the process ended; it is read at m.py:8",
    )  # fmt: skip
    row = ProgramRow(
        name="p", source="m.py:1", summary="", verdict="difference", reasons=(), comparisons=(),
        observations=(
            Observation(program="p", side=STOCK[0]),
            Observation(program="p", side=STOCK[1], failure=ended),
        ),
        flip=FlipVerdict(left=STOCK[0], right=STOCK[1], outcome="different", reasons=(fails,)),
    )  # fmt: skip

    def ends(*_):
        raise in_worker.ProgramFailedError("signal SIGABRT")

    monkeypatch.setattr(run, "run", lambda *_, **__: SimpleNamespace(programs=[row]))
    monkeypatch.setattr(in_worker, "what_changes", lambda *_, **__: "")
    monkeypatch.setattr(in_worker, "_culprits", ends)
    found = in_worker.find_culprits("m.py:p", OUTPUTS)
    assert (found.verdict, found.fails, found.arrays) == ("difference", True, ())
    assert found.reasons == (
        "no array is the culprit: in simplified form the program fails before any of it is "
        "compared",
        "the flip of stock JAX, by `run`: works on jax-legacy and fails on jax-simplified: crash "
        "in trace: signal SIGABRT: the process ended; it is read at m.py:8",
        "m.py:8: to do: do not read the flag",
    )


def test_what_fails_before_the_flip_too_has_no_answer(monkeypatch):
    def ends(*_):
        raise in_worker.ProgramFailedError("signal SIGABRT")

    monkeypatch.setattr(in_worker, "what_changes", lambda *_, **__: "")
    monkeypatch.setattr(in_worker, "_culprits", ends)
    monkeypatch.setattr(in_worker, "across_stock", lambda *_, **__: AcrossStock(None))
    with pytest.raises(in_worker.ProgramFailedError, match="signal SIGABRT"):
        in_worker.find_culprits("m.py:p", OUTPUTS)


def test_culprit_is_not_told_to_ask_culprit():
    reason = FlipReason(outcome="different", kind="failure", what="fails", action="")
    for name, said in (("culprit", ()), ("culprit of failure", (f"to do: {advice('inline')}",))):
        first = reason.model_copy(update={"action": advice(name)})
        assert AcrossStock(first).to_do() == said


@pytest.mark.parametrize(
    ("journal", "compared"),
    [
        (None, []),
        ("", []),
        ("[]\n{ended}\n", []),  # it was lost between two variants
        ("[]\n", [((), True)]),
        ("[]\n{ended}\n[0, 1]\n", [((), False), ((0, 1), True)]),
    ],
)
def test_what_a_lost_process_compared_is_known_to_the_next(tmp_path, journal, compared):
    ended = ComparedVariant(hoisted=(), differs=False, text="a\u2028b").model_dump_json()
    if journal is not None:
        ProcessFiles(tmp_path).variants.write_text(journal.replace("{ended}", ended), "utf-8")
    lost = Lost("crash", "signal SIGABRT", "compile", "the log")
    found = in_worker._compared_before(tmp_path, lost)
    assert [(each.hoisted, each.differs) for each in found] == compared
    if compared:
        assert found[-1].text == "crash in compile: signal SIGABRT: the process ended"


def failing(type_, message="", **more):
    failure = Failure(kind="exception", stage="call", type=type_, message=message, **more)
    return ComparedVariant(hoisted=(), differs=True, text="", failure=failure)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (failing("E", "argument 2 of <f at 0x7f01a0>"), failing("E", "argument 13 of <f>"), True),
        (failing("E", "of <f>"), failing("E", "of <g>"), False),
        (failing("E"), failing("F"), False),
        (failing("E"), ComparedVariant(hoisted=(), differs=True, text="values"), False),
        (failing("E"), ComparedVariant(hoisted=(), differs=False, text=""), False),
    ],
)
def test_a_search_does_not_slip_to_another_failure(one, other, alike):
    assert culprit._alike(one, other) is alike
