"""Explicit parity tests: with and without shadow mode, and never of nothing."""

import pytest

from parity_tests.suites.explicit_rules import MarkerError, rules_of

MARKED = """
@pytest.mark.constparity
def test_jits():
    jax.jit(lambda x: x * TABLE)(2.0)


@pytest.mark.constparity
def test_nothing():
    pass


@pytest.mark.constparity
def test_jitted_at_import():
    scaled(2.0)


@pytest.mark.constparity
def test_effects_alone():
    jax.jit(lambda x: jax.debug.print("{}", x))(2.0)


@pytest.mark.constparity(rtol=2.0)
def test_tolerant():
    jax.jit(lambda x: x * TABLE)(2.0)


@pytest.mark.constparity(metrics="sharding")
def test_of_sharding():
    jax.jit(lambda x: x * TABLE)(2.0)


@pytest.mark.constparity(xfail="as in #7")
def test_expected():
    jax.jit(lambda x: x * TABLE)(2.0)


@pytest.mark.constparity
@pytest.mark.skip
def test_skipped():
    pass


def test_plain():
    assert (scaled(2.0) == 2.0 * TABLE).all()
"""
NO_FAULT = {"jits", "tolerant", "of_sharding", "plain"}


def passed(run):
    return {line.rpartition("::test_")[2] for line in run.output.splitlines()
            if line.startswith("PASSED ")}  # fmt: skip


def test_marked_tests_compare_without_any_option(suite):
    run = suite.write(MARKED).run("-rA")
    assert passed(run) == NO_FAULT, run.output
    assert run.outcomes == {"passed": 4, "failed": 4, "skipped": 1}
    nothing = "this parity test compared nothing: no program ran through `jax.jit` while it ran"
    assert run.output.count(nothing) == 2 * 2  # in the failure, and in the line of -rA
    assert "run pytest with --constparity=both" in run.output
    assert "1 program ran: it has effects: Debug" in run.output
    assert "and xfail='as in #7' says that they differ; remove it from the marker" in run.output
    assert "= constparity =" not in run.output


def test_marked_tests_see_a_fault_by_their_rules(suite):
    run = suite.write(MARKED).plant().run("-rA")
    assert passed(run) == NO_FAULT - {"jits"}, run.output
    assert run.outcomes == {"passed": 3, "failed": 4, "skipped": 1, "xfailed": 1}
    assert "legacy and simplified differ in `<lambda>`" in run.output
    assert "first used at test_planted.py" in run.output


def test_under_shadow_mode_the_rules_hold_and_what_was_jitted_at_import_is_compared(suite):
    suite.write(MARKED)
    run = suite.run("--constparity=both", "-rA")
    assert passed(run) == NO_FAULT | {"jitted_at_import"}, run.output
    run = suite.plant().run("--constparity=both", "-rA")
    assert passed(run) == {"tolerant", "of_sharding"}, run.output
    assert run.outcomes["xfailed"] == 1
    assert any(line.startswith("differences: 3 new, 1 known") for line in run.section), run.section


CHECKED = """
def test_checks(constparity):
    assert constparity.check(lambda x, y: x * TABLE + y, 2.0, y=1.0)[3] == 7.0


def test_checks_what_is_jitted(constparity):
    assert constparity.check(scaled, 2.0)[3] == 6.0


def test_checks_nothing(constparity):
    pass


def test_checks_effects(constparity):
    constparity.check(lambda x: jax.debug.print("{}", x), 1.0)


@pytest.mark.constparity(rtol=2.0)
def test_tolerates(constparity):
    constparity.check(scaled, 2.0)


def test_returns_nothing(constparity):
    constparity.check(lambda x: None, 2.0)
"""


def test_the_fixture_checks_a_function(suite):
    suite.write(CHECKED)
    for options in ([], ["--constparity=both"], ["--constparity=legacy"]):
        run = suite.run(*options, "-rA")
        alike = {"checks", "checks_what_is_jitted", "tolerates", "returns_nothing"}
        assert passed(run) == alike, run.output
        assert run.outcomes == {"passed": 4, "failed": 2}
    run = suite.plant().run("-rA")
    assert passed(run) == {"tolerates", "returns_nothing"}, run.output
    assert "AssertionError: constparity: legacy and simplified differ in `<lambda>`" in run.output


def test_a_check_keeps_the_options_of_a_jit(suite):
    tests = """
    def test_static(constparity):
        times = jax.jit(lambda x, n: [x * TABLE] * n, static_argnames="n")
        assert len(constparity.check(times, 2.0, n=3)) == 3


    def test_donates(constparity):
        state = TABLE + 1
        constparity.check(jax.jit(lambda x: x * state, donate_argnums=0), state)


    @pytest.mark.constparity
    def test_of_engine(constparity):
        constparity.check(jax.jit(lambda x, n: [x * TABLE] * n, static_argnames="n"), 2.0, n=3)
    """
    run = suite.write(tests).run("-rA")
    assert passed(run) == {"static", "of_engine"}, run.output
    assert "the array is also passed as a donated argument" in run.output


def test_jax_is_as_it_was_after_a_marked_test(suite):
    tests = """
    from jax import jit

    STOCK = [jax.jit]


    @pytest.mark.constparity
    def test_marked():
        assert jax.jit is jit is not STOCK[0]
        jit(lambda x: x * TABLE)(2.0)


    def test_after():
        assert jax.jit is jit is STOCK[0]
    """
    run = suite.write(tests).run()
    assert run.outcomes == {"passed": 2}, run.output


def test_a_suite_with_a_fixture_of_that_name_keeps_it(suite):
    tests = """
    @pytest.fixture
    def constparity():
        return 3


    def test_own(constparity):
        assert constparity == 3
    """
    assert suite.write(tests).run().outcomes == {"passed": 1}


def test_a_marker_with_a_mistake_is_a_usage_error(suite):
    run = suite.write("@pytest.mark.constparity(rtoll=1)\ndef test_a():\n    pass\n").run()
    assert run.returncode == 4
    assert "test_a: constparity has no argument 'rtoll'; it has rtol, atol, metrics" in run.output


@pytest.mark.parametrize(
    ("arguments", "named", "said"),
    [
        ((1e-3,), {}, "named arguments alone"),
        ((), {"rtol": -1}, "rtol must be a number from 0 on"),
        ((), {"atol": "1"}, "atol must be a number from 0 on"),
        ((), {"metrics": ("outputs", "time")}, "metrics must be some of outputs, sharding"),
        ((), {"metrics": ()}, "metrics must be some of"),
        ((), {"xfail": True}, "the reason of the difference"),
    ],
)
def test_what_a_marker_may_say(arguments, named, said):
    with pytest.raises(MarkerError, match=said):
        rules_of(arguments, named)
