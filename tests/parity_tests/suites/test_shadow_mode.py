"""Shadow mode on planted suites: what is shadowed, what fails a test, and what the report says."""

import re
import textwrap

import pytest
from doc_blocks import excerpt, says
from planted_suites import TESTS_OF_WAYS as TESTS
from planted_suites import WAYS

from reports.views.suite_texts import NOT_SEEN


def test_without_a_fault_the_suite_passes_and_one_section_says_what_was_compared(suite):
    run = suite.write(WAYS).run("--constparity=both")
    assert run.returncode == 0, run.output
    assert run.outcomes == {"passed": TESTS}
    assert f"of {TESTS} tests ran on both pipelines; the tests saw legacy" in run.section[0]
    assert NOT_SEEN in run.section
    assert not [line for line in run.section if "differ" in line]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--constparity=both", "1 program of 1 test ran on both pipelines"),
        ("--constparity=legacy --constparity-collect=made", "1 program written"),
        ("--constparity=prove", "proof: 1 of 1 programs proved"),
    ],
)
def test_jax_may_be_looked_for_before_it_is_imported(suite, options, said):
    """As libraries do that can do without it. JAX is imported by the tests, after the plugin."""
    (suite.folder / "conftest.py").write_text(
        "import importlib.util\nassert importlib.util.find_spec('jax')\n"
    )
    run = suite.write("def test_it():\n    scaled(2.0)\n").run(*options.split(), is_new=True)
    assert said in run.output
    assert run.returncode == 0


def test_modules_that_were_there_before_the_plugin_are_named(suite):
    early = """
    import functools
    import jax

    jit = functools.partial(jax.jit, inline=True)
    """
    suite.write(early, head="", name="partial_of_jit.py")
    suite.write("import jax\nf = jax.jit(lambda x: x + 1)\n", head="", name="jitted_before.py")
    tests = """
    import jitted_before, partial_of_jit


    def test_it():
        jitted_before.f(1.0)
        partial_of_jit.jit(lambda x: x * TABLE)(1.0)
    """
    options = ("-pjitted_before", "-ppartial_of_jit", "--constparity=both")
    run = suite.write(tests).run(*options, is_new=True)
    assert "1 program of 1 test ran on both pipelines" in run.section[0], run.output
    for name in ("jitted_before", "partial_of_jit"):
        assert f"{name} was imported before the plugin: functions that it had jitted" in run.output


def test_pytest_rewrites_no_assertion_of_what_the_plugin_imports(suite):
    """pytest would, of the package that a plugin is in; it takes longer than the imports."""
    marks = "import pytest\npytest.register_assert_rewrite('parity_tests')\n"
    suite.write(marks, head="", name="marks_ours.py")
    tests = """
    import sys
    from importlib.machinery import SourceFileLoader


    def test_loader():
        assert type(sys.modules["parity_tests.suites.journal"].__loader__) is SourceFileLoader
    """
    run = suite.write(tests).run("-pmarks_ours", "--constparity=both")
    assert run.outcomes == {"passed": 1}, run.output


def test_a_test_may_put_something_in_the_place_of_jax(suite):
    tests = """
    import sys
    from unittest import mock

    import pytest


    @pytest.mark.parametrize("instead", [None, mock.MagicMock()])
    def test_without_jax(instead, monkeypatch):
        monkeypatch.setitem(sys.modules, "jax", instead)
    """
    run = suite.write(tests, head="").run("--constparity=both", is_new=True)
    assert run.outcomes == {"passed": 2}, run.output


def test_jax_that_was_imported_past_the_plugin_ends_the_run(suite):
    (suite.folder / "conftest.py").write_text(
        "import sys\nsys.meta_path[:] = [one for one in sys.meta_path if isinstance(one, type)]\n"
    )
    run = suite.write("def test_it():\n    scaled(2.0)\n").run("--constparity=both", is_new=True)
    assert run.returncode == 4
    assert "nothing is compared; import it in the first conftest.py" in run.output


@pytest.mark.parametrize("sees", ["legacy", "simplified"])
def test_each_way_to_reach_jit_is_shadowed(suite, sees):
    """A fault in one pipeline fails every test, whichever side the tests see."""
    run = suite.write(WAYS).plant().run("--constparity=both", f"--constparity-sees={sees}", "-rA")
    assert run.returncode == 1
    passed = re.findall(r"^PASSED .*::(\w+)", run.output, re.MULTILINE)
    assert not passed, run.output
    assert run.outcomes == {"failed": TESTS - 1, "error": 1}  # the fixture fails in its setup


def test_a_difference_names_program_leaf_values_distance_and_the_captured_array(suite):
    tests = """
    @jax.jit
    def step(x):
        return {"loss": (x * TABLE)[3]}


    def test_step():
        assert step(2.0)["loss"] == 6.0
    """
    run = suite.write(tests, name="test_model.py").plant().run("--constparity=both")
    assert run.returncode == 1
    shown = excerpt("guide-suites.md", "constparity: legacy and simplified differ")
    assert says(f"…\n{shown}…\n", run.output), run.output
    message = " ".join(run.output.split())
    assert "legacy and simplified differ in `step` (test_model.py:17)" in message
    assert "['loss']: 6.0 on legacy, 12.0 on simplified; max rel 0.5, max abs 6" in message
    assert (
        "test_model.py:19: outputs are different in their values: mismatch at ['loss'] "
        "-> constparity culprit names the captured arrays that it takes; for a file of the program "
        "to name, run pytest --constparity-collect=DIR" in message
    )
    assert "captured float32[64] (256 bytes), first used at test_model.py:19 in step" in message


def test_the_difference_is_no_exception_that_a_test_can_swallow(suite):
    tests = """
    def test_swallows():
        try:
            scaled(2.0)
        except BaseException:
            pass
    """
    assert suite.write(tests).plant().run("--constparity=both").outcomes == {"failed": 1}


def test_a_failing_test_keeps_its_own_message_and_gets_the_difference_beside_it(suite):
    tests = """
    def test_fails():
        scaled(2.0)
        assert False, "its own message"
    """
    run = suite.write(tests).plant().run("--constparity=both")
    assert run.outcomes == {"failed": 1}
    assert "its own message" in run.output
    assert "differ in `scaled`" in run.output


def test_outputs_that_have_no_values_are_compared(suite):
    tests = """
    def test_derivative_of_an_integer():
        jax.jit(jax.grad(lambda n, x: (x * TABLE).sum(), allow_int=True))(3, TABLE)
    """
    run = suite.write(tests).run("--constparity=both")
    assert run.outcomes == {"passed": 1}, run.output
    assert "1 program of 1 test ran on both pipelines" in run.section[0]


def test_a_failing_test_is_told_that_its_programs_ran_twice(suite):
    tests = """
    from jax._src import test_util


    def test_counts():
        with test_util.count_jit_and_pmap_lowerings() as count:
            jax.jit(lambda x: x * TABLE)(2.0)
        assert count() == 1


    def test_fails_before():
        assert False
    """
    run = suite.write(tests).run("--constparity=both")
    assert run.outcomes == {"failed": 2}
    assert run.output.count("a test that counts these may fail by that alone") == 1


def test_what_jax_logs_of_a_program_is_logged_of_the_side_that_the_test_sees(suite):
    tests = """
    def test_logs(caplog):
        with jax.log_compiles():
            jax.jit(lambda x: x * TABLE)(2.0)
        assert caplog.text.count("Finished XLA compilation") == 1
    """
    run = suite.write(tests).run("--constparity=both")
    assert run.outcomes == {"passed": 1}, run.output
    assert "1 program of 1 test ran on both pipelines" in run.output


def test_a_failing_test_is_told_that_executables_are_shared(suite):
    tests = """
    def test_compiles_each(caplog):
        with jax.log_compiles():
            for _ in range(2):
                jax.jit(lambda x: x * TABLE)(2.0)
        assert caplog.text.count("Finished XLA compilation") == 2
    """
    stock = suite.write(tests).run()
    assert stock.outcomes == {"passed": 1}, stock.output
    ours = suite.write(tests).run("--constparity=simplified")
    assert ours.outcomes == {"failed": 1}, ours.output
    assert "what it jits ran in constparity's simplified" in ours.output


def test_what_differs_outside_of_tests_fails_the_run(suite):
    tests = """
    AT_IMPORT = scaled(2.0)


    def test_passes():
        pass
    """
    run = suite.write(tests).plant().run("--constparity=both")
    assert run.returncode == 1
    assert run.outcomes == {"passed": 1}
    assert any("differ in `scaled`" in line for line in run.section)


EFFECTS = """
import jax.experimental
import numpy as np


def test_printed():
    @jax.jit
    def printing(x):
        jax.debug.print("x is {}", x)
        return x * TABLE

    printing(2.0)


def test_donated():
    donating = jax.jit(lambda x: x + TABLE, donate_argnums=0)
    x = jnp.ones(64)
    donating(x)
    assert x.is_deleted()


def test_captured_and_donated():
    table = jnp.ones(64)
    assert jax.jit(lambda x: x + table, donate_argnums=0)(table)[0] == 2


def test_ordered():
    calls = []

    @jax.jit
    def ordered(x):
        return jax.experimental.io_callback(lambda y: calls.append(y) or y, x, x, ordered=True)

    ordered(jnp.ones(3))
    jax.effects_barrier()
    assert len(calls) == 1


def test_random():
    @jax.jit
    def drawn(key):
        return jax.random.normal(key, (4,)) * TABLE[:4]

    drawn(jax.random.key(0))


def test_traced_once():
    traces = []

    @jax.jit
    def counting(x):
        traces.append(1)
        return x * TABLE + np.random.rand()

    counting(1.0)
    counting(2.0)
    assert len(traces) == 1
"""


def test_programs_run_once_or_twice_as_their_meaning_allows(suite):
    run = suite.write(EFFECTS).run("--constparity=both", "-s")
    assert run.outcomes == {"failed": 1, "passed": 5}, run.output
    assert run.output.count("x is 2.0") == 1
    [broken] = [line for line in run.section if "differ in" in line or "breaks" in line]
    assert broken.startswith("the flip of stock JAX breaks `<lambda>` (test_planted.py:")
    once = [line for line in run.section if line.startswith("not compared each time")]
    assert len(once) == 2
    assert any("as printing (test_planted.py:" in line and "Debug" in line for line in once)
    assert any("as ordered (test_planted.py:" in line and "IO" in line for line in once)


def test_a_result_that_does_not_repeat_itself_is_not_compared_and_others_are(suite):
    tests = """
    import itertools
    import numpy as np

    handles = itertools.count()


    @jax.jit
    def opened(x):
        made = jax.ShapeDtypeStruct((), "int32")
        handle = jax.pure_callback(lambda: np.int32(next(handles)), made)
        return {"handle": handle, "scaled": x * TABLE[3]}


    def test_opens():
        opened(2.0)
    """
    run = suite.write(tests).run("--constparity=both")
    assert run.outcomes == {"passed": 1}, run.output
    [told] = [line for line in run.section if line.startswith("not compared each time")]
    assert told.startswith("not compared each time: 1 program, as opened (test_planted.py:")
    assert told.endswith(": ['handle'] differs from run to run on one side")
    run = suite.plant().run("--constparity=both")
    assert run.outcomes == {"failed": 1}
    assert "['scaled']: 6.0 on legacy, 12.0 on simplified" in run.output
    assert "['handle']: " not in run.output


def test_a_stage_is_called_with_arguments_that_are_placed_otherwise_than_it_was_lowered_for(suite):
    tests = """
    from jax.experimental.layout import Format, Layout

    A_TYPE = jax.ShapeDtypeStruct((4, 2), "float32")


    def scale(x):
        return x * TABLE[3]


    def test_places():
        scaled = jax.jit(scale).lower(A_TYPE).compile()
        placed = jax.device_put(jnp.ones((4, 2)), jax.devices()[0])
        assert not scaled(placed).committed


    @pytest.mark.filterwarnings("ignore:Some donated buffers")
    def test_places_what_is_donated():
        scaled = jax.jit(scale, donate_argnums=0).lower(A_TYPE).compile()
        placed = jax.device_put(jnp.ones((4, 2)), jax.devices()[0])
        assert not scaled(placed).committed


    def test_leaves_layouts_to_the_compiler():
        scaled = jax.jit(scale, in_shardings=Format(Layout.AUTO)).lower(A_TYPE).compile()
        [[chosen], _] = scaled.input_formats
        scaled(jax.jit(jnp.sin, out_shardings=chosen)(jnp.ones((4, 2))))
    """
    run = suite.write(tests).run("--constparity=both")
    assert run.outcomes == {"passed": 3}, run.output
    assert not [line for line in run.section if line.startswith("not compared")]
    run = suite.plant().run("--constparity=both")
    assert run.outcomes == {"failed": 3}


def test_a_stage_that_refuses_its_arguments_is_no_difference(suite):
    """The other side has no stage to ask, and runs with arguments of any place."""
    tests = """
    import numpy as np


    @pytest.mark.filterwarnings("ignore:.*int64")
    def test_types():
        with jax.enable_x64(True):
            lowered = scaled.lower(jnp.ones(64))
        with pytest.raises(TypeError, match="enable_x64"):
            lowered.compile()(np.ones(64))


    def test_places():
        compiled = scaled.lower(jnp.ones(64)).compile()
        with pytest.raises(ValueError, match="disagree"):
            compiled(jax.device_put(jnp.ones(64), jax.devices()[1]))
    """
    suite.plant("import os\nos.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'\n")
    run = suite.write(tests).run("--constparity=both", is_new=True)
    assert run.outcomes == {"passed": 2}, run.output
    [told] = [line for line in run.section if line.startswith("not compared each time")]
    assert told.endswith("a compiled stage refuses its arguments, alike on both sides")


@pytest.mark.parametrize("mode", ["both", "prove"])
def test_what_runs_after_the_session_is_not_disturbed(suite, mode):
    tests = """
    import atexit

    atexit.register(lambda: print("at exit:", jax.jit(lambda x: x * TABLE)(2.0)[3]))


    def test_it():
        scaled(2.0)
    """
    run = suite.write(tests).run(f"--constparity={mode}", is_new=True)
    assert "at exit: 6.0" in run.stdout, run.output
    assert "Traceback" not in run.stderr


def test_a_side_that_fails_alone_is_a_difference(suite):
    fault = """
    from engine.runtime import lowering

    stock = lowering._lower

    def faulty(pipeline, *args, **kwargs):
        if pipeline.side == "simplified":
            raise NotImplementedError("planted")
        return stock(pipeline, *args, **kwargs)

    lowering._lower = faulty
    """
    tests = """
    def test_works():
        scaled(2.0)
    """
    run = suite.write(tests).plant(textwrap.dedent(fault)).run("--constparity=both")
    assert run.outcomes == {"failed": 1}
    assert "legacy: works; simplified: NotImplementedError: planted" in run.output


def test_an_exception_of_both_sides_is_what_the_test_expects(suite):
    tests = """
    def test_raises():
        failing = jax.jit(lambda x: jax.pure_callback(fail, x, x * TABLE[:1].sum()))
        with pytest.raises(Exception, match="planted"):
            failing(1.0)


    def fail(x):
        raise ValueError("planted")
    """
    run = suite.write(tests).run("--constparity=both")
    assert run.outcomes == {"passed": 1}, run.output
    assert any("both sides raise the same exception" in line for line in run.section)


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_one_pipeline_runs_the_suite(suite, side):
    tests = f"""
    def test_side():
        assert type(scaled.trace(1.0)).__module__ == "engine.stages"
        assert scaled.trace(1.0).side == "{side}"
        assert len(jax.make_jaxpr(scaled)(1.0).jaxpr.eqns) == 1
    """
    run = suite.write(tests).run(f"--constparity={side}")
    assert run.outcomes == {"passed": 1}, run.output


def test_the_report_is_the_same_for_any_number_of_workers(suite):
    without_libraries, _, _ = WAYS.partition("def test_equinox")
    suite.write(without_libraries).plant()
    alone, *others = (suite.run("--constparity=both", *given) for given in ((), ("-n0",), ("-n2",)))
    for run in others:
        assert run.returncode == alone.returncode == 1
        assert run.section == alone.section
        assert run.outcomes == alone.outcomes
