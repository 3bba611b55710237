"""Prove mode on planted suites: what is proved, what fails a test, and what a test notices."""

import os
import re
from types import SimpleNamespace

import hijax_primitives
import pytest
from doc_blocks import excerpt, says
from planted_suites import HEAD, TESTS_OF_WAYS, WAYS, Suite

from parity_tests.suites.settings import SETTINGS, SettingsError, apply_project, check_options
from reports.output.json_file import load_result

# Each test jits one function of its own name, but the last ones, whose section says why.
PROGRAMS = """
import pickle

import numpy as np

WRITEABLE = np.arange(64, dtype=np.float32)
SIMPLIFIED = "jax_use_simplified_jaxpr_constants"


def test_reads():
    @jax.jit
    def reads(x):
        return x * TABLE if getattr(jax.config, SIMPLIFIED) else x - TABLE

    reads(1.0)


def test_plain():
    @jax.jit
    def plain(x):
        return x * TABLE

    assert plain(2.0)[1] == 2


def test_derivative_within():
    @jax.jit
    @jax.grad
    def derivative_within(x):
        def turn(carry, _):
            return jnp.tanh(carry * TABLE[:8]), carry.sum()

        return jax.lax.scan(turn, x, None, length=3)[1].sum()

    derivative_within(jnp.ones(8))


def test_tree():
    @functools.partial(jax.jit, static_argnames="double", donate_argnums=0)
    def tree(state, *, double):
        return {"state": jax.tree.map(lambda each: each * TABLE * (2 if double else 1), state)}

    tree((jnp.ones(64), jnp.zeros(64)), double=True)


def test_folds():
    @jax.jit
    def folds(x):
        return x + jnp.exp(TABLE)

    folds(1.0)


def test_donates():
    table = jnp.arange(64.0)

    def donates(x):
        return x + table

    jax.jit(donates, donate_argnums=0)(table)


def test_can_be_overwritten():
    @jax.jit
    def can_be_overwritten(x):
        return x + WRITEABLE

    can_be_overwritten(jnp.ones(64))


def test_derived():
    @jax.jit
    def derived(x):
        return (x * TABLE).sum()

    jax.grad(derived)(2.0)


def test_captures_a_tracer():
    def outer(w):
        @jax.jit
        def captures_a_tracer(x):
            return x * w * TABLE

        return captures_a_tracer(2.0).sum()

    jax.grad(outer)(3.0)


def test_runs_while_traced():
    traces = []

    @jax.jit
    def is_run(x):
        traces.append(1)
        return x + TABLE

    @jax.jit
    def runs(x):
        with jax.core.eval_context():
            found = is_run(1.0)
        return x * found

    runs(1.0)
    # In each trace of `runs`, and once more to prove it by itself.
    assert len(traces) == 3


class Odd:
    def __repr__(self):
        raise ValueError("no text")


def test_odd_tree():
    @jax.tree_util.register_pytree_node_class
    class Tree:
        def __init__(self, x, odd=Odd()):
            self.x = x

        def tree_flatten(self):
            return (self.x,), Odd()

        @classmethod
        def tree_unflatten(cls, odd, children):
            return cls(*children)

    @jax.jit
    def odd_tree(x):
        return Tree(x * TABLE)

    odd_tree(1.0)


def test_reads_more():
    @jax.jit
    def reads_more(x):
        return x if getattr(jax.config, SIMPLIFIED) else (x, x * TABLE)

    reads_more(1.0)


def test_counts_traces():
    traces = []

    @jax.jit
    def counts_traces(x):
        traces.append(1)
        return x * TABLE

    counts_traces(1.0)
    counts_traces(2.0)
    assert len(traces) == 2
    counts_traces(jnp.ones(64))
    assert len(traces) == 4


def test_fails_by_the_second_trace():
    traces = []
    jax.jit(lambda x: traces.append(1) or x)(1.0)
    assert len(traces) == 1


def test_draws():
    @jax.jit
    def draws(x):
        return x + np.random.normal()

    np.random.seed(0)
    draws(1.0)
    found = np.random.normal()
    np.random.seed(0)
    np.random.normal()
    assert found == np.random.normal()


def test_traced_only_once():
    traces = []

    @jax.jit
    def traced_only_once(x):
        traces.append(1)
        if len(traces) > 1:
            pytest.fail("once more")
        return x * TABLE

    traced_only_once(1.0)


def test_raises():
    @jax.jit
    def raises(x):
        raise ValueError("planted")

    with pytest.raises(ValueError, match="planted"):
        raises(1.0)


def test_compiles_once():
    compiled = []
    listen = lambda name, *_, **__: compiled.append(name)
    jax.monitoring.register_event_duration_secs_listener(listen)

    @jax.jit
    def compiles_once(x):
        return scaled(x) + TABLE

    compiles_once(1.0)
    assert sum(name.endswith("backend_compile_duration") for name in compiled) == 1


def test_is_jax_s():
    assert type(scaled) is type(jnp.sin) and isinstance(jax.jit, type(lambda: 0))
    assert pickle.loads(pickle.dumps(jax.jit)) is jax.jit
    with pytest.raises(TypeError):
        jax.jit(lambda x: x, no_option=True)


@pytest.mark.constparity
def test_explicit():
    jax.jit(lambda x: x - TABLE)(1.0)
"""

PROVED = {
    "plain", "derivative_within", "tree", "folds", "donates", "can_be_overwritten", "derived",
    "counts_traces", "compiles_once", "<lambda>", "captures_a_tracer",
    "is_run", "runs",
}  # fmt: skip


@pytest.fixture(scope="module")
def ran(server, tmp_path_factory):
    """One run of all programs, and its result."""
    suite = Suite(tmp_path_factory.mktemp("proved"), server).write(PROGRAMS, name="test_model.py")
    run = suite.run("--constparity=prove", "--constparity-report=json:out.json")
    return run, load_result(suite.folder / "out.json")


def by_name(result):
    return {each.name: each for each in result.programs}


def test_a_refuted_program_fails_its_test_and_no_other_answer_fails_one(ran):
    run, result = ran
    assert run.returncode == 1
    assert run.outcomes == {"failed": 2, "passed": PROGRAMS.count("def test_") - 2}, run.output
    [difference] = result.differences
    assert difference.test == "test_model.py::test_reads_more"
    assert "constparity: legacy and simplified are two computations in `reads_more`" in run.output
    assert "its type was ~float32[] -> ~float32[], float32[64]" in run.output
    assert run.output.count("what it jits was traced twice, to prove it") == 1


def test_each_program_has_its_answer(ran):
    answers = {name: row.proof.answer for name, row in by_name(ran[1]).items()}
    assert answers == dict.fromkeys(PROVED, "proved") | {
        "reads": "parted", "reads_more": "refuted", "draws": "undecided",
        "traced_only_once": "undecided", "odd_tree": "undecided",
    }  # fmt: skip


def test_what_may_still_break_is_told_beside_the_proof(ran):
    rows = by_name(ran[1])
    hazards = {name: [each.kind for each in row.proof.hazards] for name, row in rows.items()}
    assert {name: kinds for name, kinds in hazards.items() if kinds} == {
        "donates": ["captured and donated"], "can_be_overwritten": ["writeable NumPy array"],
    }  # fmt: skip
    assert [each.gist for each in rows["folds"].proof.folded] == ["`exp`"]
    for name in ("derived", "captures_a_tracer"):
        assert "its derivative or batch ran" in rows[name].proof.reservations[0]
    assert rows["tree"].proof.reservations == (
        "it donates and captures float32[64]: a later call that donates the captured array fails "
        "after the flip, and is not seen",
    )
    assert rows["donates"].proof.reservations == ()
    assert rows["plain"].proof.may_break is False


def test_the_section_says_how_many_are_proved_and_why_others_are_not(ran):
    section = ran[0].section
    shown = excerpt("guide-suites.md", "proof: ")
    assert says(f"{shown}…\n", "\n".join(section)), section
    assert section[0] == (
        "proof: 14 of 19 programs proved; 2 of these may still break; 3 of these in part; "
        "XLA folds constants of 1, so their bits may differ"
    )
    assert section[1] == (
        "19 programs, each traced in our two forms, because JAX takes its flag once, when it is "
        "imported"
    )
    told = "\n".join(section)
    assert "what Python does between calls or with stages, as to serialize them, and what" in told
    assert "parted: `reads` (test_model.py:" in told
    assert "proved in part: `derived` (test_model.py:" in told
    assert "proved, may still break: `donates` (test_model.py:" in told
    assert re.search(r"  jaxpr: parted: test_model.py:\d+: sub before the flip, mul after it", told)
    assert "  jaxpr: undecided: each trace of it is another program, in one form as well" in told
    assert (
        "  jaxpr: undecided: traced again, in simplified form, it raised Failed: once more" in told
    )


EXPANDED = f"""
import sys

import numpy as np

sys.path.append({os.path.dirname(hijax_primitives.__file__)!r})
from hijax_primitives import expanding

WRITEABLE = np.arange(64, dtype=np.float32)


def raises(x):
    raise NotImplementedError("no rule")


def test_expands():
    @jax.jit
    def expands(x):
        return expanding(lambda x: x * WRITEABLE)(x)

    expands(jnp.ones(64))


def test_traces():
    @jax.jit
    def only_traced(x):
        return expanding(raises)(x)

    only_traced.trace(jnp.ones(64))
"""


def test_what_a_primitive_captures_when_it_expands_may_break(suite):
    run = suite.write(EXPANDED).run("--constparity=prove", "--constparity-report=json:out.json")
    assert run.outcomes == {"passed": 2}, run.output
    rows = by_name(load_result(suite.folder / "out.json"))
    assert [each.kind for each in rows["expands"].proof.hazards] == ["writeable NumPy array"]
    assert rows["expands"].captured == 1
    assert rows["only_traced"].proof.reservations == (
        "what its hijax primitives capture is not known: NotImplementedError: no rule",
    )


# The simplified pipeline loses the last equation of each program.
LOST = """
import dataclasses

from engine.jax_internals import replaced
from simplified_consts import pipeline

stock = pipeline.PIPELINE.normalize


def faulty(closed_jaxpr):
    found = stock(closed_jaxpr)
    *_, last = found.jaxpr.eqns
    return replaced(found, outvars=[last.invars[0]])


pipeline.PIPELINE = dataclasses.replace(pipeline.PIPELINE, normalize=faulty)
"""
FEW = """
@jax.jit
def kept(x):
    return x - TABLE


def test_kept():
    kept(jnp.ones(64))


def test_typed():
    scaled(jnp.ones(()))


def test_known():
    jax.jit(lambda x: x - TABLE)(jnp.ones(()))
"""


PARTS = """

@jax.jit
def known_to_part(x):
    return TABLE - x


def test_known_to_part():
    known_to_part(jnp.ones(64))
"""
DONATES = """

def test_donates():
    table = jnp.arange(64.0)

    def donates(x):
        return x + table

    jax.jit(donates, donate_argnums=0)(table)
"""
# The rule on sizes is of the other mode.
RULES = """
[tool.constparity.pytest]
fail = ["larger:10%", "hazard:donated"]
"""


def test_an_equation_that_our_pipeline_loses_is_no_proof_in_any_report(suite):
    formats = {"html": "html", "md": "md", "comment": "md", "junit": "xml", "sarif": "sarif"}
    reports = [f"--constparity-report={each}:{each}.{end}" for each, end in formats.items()]
    (suite.folder / "known.toml").write_text(
        '[[known]]\nprogram = "<lambda>"\nmetric = "proof"\nreason = "planted"\n'
        '[[known]]\nprogram = "known_to_part"\nmetric = "proof"\nreason = "planted"\n'
    )
    suite.write(FEW + PARTS).plant(LOST)
    asked = ["--constparity-xfail=known.toml", "--constparity-fail=not-proved:parted"]
    run = suite.run("--constparity=prove", *asked, *reports)
    # Of the two that are parted one is known.
    assert run.outcomes == {"failed": 2, "xfailed": 2}, run.output
    assert "legacy and simplified are not proved one computation in `kept`" in run.output
    assert run.section[0] == "proof: 0 of 4 programs proved"
    told = "\n".join(run.section)
    assert "parted: `kept` (test_planted.py:" in told
    assert "refuted: `scaled` (test_planted.py:" in told
    text = {each: (suite.folder / f"{each}.{end}").read_text() for each, end in formats.items()}
    assert "parted" in text["html"]
    assert "refuted" in text["html"]
    assert "not shadowed" not in text["md"]
    assert "1 program refuted, and 1 program that --constparity-fail names" in text["comment"]
    assert '<property name="state" value="known difference"' in text["junit"]
    assert "two computations" in text["sarif"]


def test_each_way_to_reach_jit_is_proved_on_two_workers(suite):
    suite.write(WAYS)
    run = suite.run("--constparity=prove", "-n", "2", "--constparity-report=json:out.json")
    assert run.outcomes == {"passed": TESTS_OF_WAYS}, run.output
    found = load_result(suite.folder / "out.json").programs
    assert {each.proof.answer for each in found} == {"proved"}
    assert len({each.identity for each in found}) == len(found)
    assert {each.name for each in found} >= {"scaled", "partial", "method", "by_name", "<lambda>"}


def test_after_the_flip_jax_has_the_simplified_form_and_ours_is_the_legacy_one(suite, monkeypatch):
    monkeypatch.setenv("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS", "1")
    (suite.folder / "pyproject.toml").write_text(RULES)
    run = suite.write(FEW + DONATES).run("--constparity=prove", is_new=True)
    assert run.outcomes == {"passed": 3, "failed": 1}
    assert run.section[0] == "proof: 4 of 4 programs proved; 1 of these may still break"
    head = "legacy and simplified are one computation, which may still break, in `donates`"
    assert head in run.output
    assert "captured and donated: " in run.output


@pytest.mark.parametrize("option", ["baseline", "update", "collect"])
def test_options_that_run_programs_are_refused(option):
    given = dict.fromkeys(("xfail", "baseline", "update", "fail", "report", "collect"))
    options = SimpleNamespace(
        constparity="prove", **{f"constparity_{name}": name == option for name in given}
    )
    with pytest.raises(SettingsError, match="prove runs stock JAX alone; use --constparity=both"):
        check_options(options)


def test_a_rule_on_measurements_is_refused(tmp_path):
    given = dict.fromkeys(SETTINGS, None)
    options = SimpleNamespace(
        constparity="prove",
        **{f"constparity_{name}": None for name in given} | {"constparity_fail": ["slower:20%"]},
    )
    with pytest.raises(SettingsError, match="--constparity-fail: 'slower:20%' is about what a run"):
        apply_project(options, tmp_path)


TWO_JITS = """

import numpy as np
from jax.sharding import SingleDeviceSharding

FIRST, SECOND = map(SingleDeviceSharding, jax.devices()[:2])
CAPTURED = jax.device_put(TABLE, FIRST)


def adds(x):
    return x + CAPTURED


def test_it():
    for sharding in (FIRST, SECOND):
        jax.jit(adds, out_shardings=sharding)(np.ones(64, np.float32))
"""


def test_two_jits_of_one_function_have_hazards_of_their_own(suite):
    run = suite.write(HEAD + TWO_JITS).run("--constparity=prove")
    assert run.section[0] == "proof: 1 of 1 programs proved; 1 of these may still break"
    assert "its out_shardings state cpu:1: " in run.output.lower()


LATER = """

import numpy as np

HOST = np.frombuffer(bytes(256), np.float32)
X = jnp.ones(64)


def test_later_call_is_guarded():
    @jax.jit
    def guarded(x):
        jax.debug.callback(lambda x: None, x)  # JAX asks Python in each call
        return x * HOST

    guarded(X)
    with jax.transfer_guard_host_to_device("disallow"):
        guarded(X)


def test_first_call_of_a_stage_is_guarded():
    @jax.jit
    def stage(x):
        return x - HOST

    compiled = stage.lower(X).compile()
    with jax.transfer_guard("disallow"):
        compiled(X)


def deleted(delete):
    table = jnp.arange(64.0) + 1

    @jax.jit
    def adds(x):
        return x + table

    adds(X)
    delete(table)
    adds(X)


def test_deleted():
    deleted(lambda table: table.delete())


def test_donated_to_another_jit():
    deleted(jax.jit(lambda x: x + 1, donate_argnums=0))


def test_memory_of_numpy():
    memory = np.zeros(64 * 4 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    written = memory[start : start + 64 * 4].view(np.float32)  # aligned: JAX takes no copy
    shared = jax.device_put(written)

    @jax.jit
    def shares(x):
        return x + shared

    with jax.transfer_guard("disallow_explicit"):
        shares(X)
    written[:] = 7


def test_kept():
    @jax.jit
    def kept(x):
        return x - TABLE

    copy = jnp.array(TABLE)
    kept(X)
    copy.delete()
"""


HELD = """
import gc
import jax
import jax.numpy as jnp
import weakref
from parity_tests.suites import proving

proving.HELD_BYTES = 600


def test_held():
    arrays = [jnp.arange(64.0) + n for n in range(5)]
    refs = [weakref.ref(each) for each in arrays]
    for number, each in enumerate(arrays):
        def held(x, each=each):
            return x * each
        held.__name__ = f"held{number}"
        jax.jit(held)(2.0)
    del arrays, each, held
    gc.collect()
    assert [ref() is not None for ref in refs] == [True, True, False, False, False]
"""


def test_a_test_has_the_memory_of_captured_arrays_back(suite):
    """What becomes of the arrays that nobody holds until the test ends is not known."""
    run = suite.write(HELD).run("--constparity=prove", "--constparity-report=json:out.json")
    assert run.outcomes == {"passed": 1}, run.output
    rows = by_name(load_result(suite.folder / "out.json"))
    said = {name: " ".join(row.proof.reservations) for name, row in rows.items()}
    gone = "it captures float32[64], which nobody has any more"
    assert {name for name, why in said.items() if why.startswith(gone)} == {
        "held2", "held3", "held4",
    }  # fmt: skip
    assert {said["held0"], said["held1"]} == {""}


def test_what_happens_after_a_trace_may_break_the_program(suite):
    suite.write(LATER)
    run = suite.run("--constparity=prove", "--constparity-report=json:out.json")
    assert run.outcomes == {"passed": 6}, run.output
    rows = by_name(load_result(suite.folder / "out.json"))
    hazards = {name: [each.kind for each in row.proof.hazards] for name, row in rows.items()}
    assert hazards == {
        "guarded": ["implicit transfer"], "stage": [], "adds": ["captured and donated"],
        "<lambda>": [], "shares": ["writeable NumPy array"], "kept": [],
    }  # fmt: skip
    [reservation] = rows["stage"].proof.reservations
    assert reservation.startswith("it is traced for a stage and captures NumPy array float32[64]")
    [hazard] = rows["adds"].proof.hazards
    assert hazard.code == "return x + table"
    assert "was deleted or donated to another call" in hazard.what


def test_a_rule_fails_the_test_that_deletes_what_is_captured(suite):
    suite.write(LATER)
    run = suite.run("--constparity=prove", "--constparity-fail=hazard:donated")
    assert run.outcomes == {"passed": 4, "failed": 2}, run.output
    assert run.output.count("one computation, which may still break, in `adds`") >= 2
