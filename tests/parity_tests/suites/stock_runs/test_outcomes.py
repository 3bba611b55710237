"""Each outcome that a test can have on both sides, and what pytest makes of it."""

import junitparser
import pytest

from parity_tests.suites.stock_runs.child.constparity_stock_child import MOST_TEXT
from parity_tests.suites.stock_runs.outcomes import names_the_flag
from reports.rows.suite_runs import SuiteOutcome

SUITE = """
def test_passes(): pass

def test_fails():
    print("before it fails")
    assert 1 == 2

def test_differs(): assert not ON_SIMPLIFIED, "0x7f01: the flag is on"
def test_differs_too(): assert not ON_SIMPLIFIED, "0x7f02: the flag is on"
def test_differs_on_legacy(): assert ON_SIMPLIFIED

@pytest.mark.skip(reason="not today")
def test_skipped(): pass

def test_skipped_on_one():
    if ON_SIMPLIFIED:
        pytest.skip("not here")

def test_needs_the_flag():
    if not ON_SIMPLIFIED:
        pytest.skip("needs jax_use_simplified_jaxpr_constants")

def test_needs_it_and_fails():
    if not ON_SIMPLIFIED:
        pytest.skip("needs jax_use_simplified_jaxpr_constants")
    assert 0

@pytest.mark.xfail(reason="known")
def test_xfails(): assert 0

@pytest.mark.xfail(reason="known")
def test_xfails_otherwise():
    if ON_SIMPLIFIED: raise ValueError("donated")
    assert 0

@pytest.mark.xfail(reason="known")
def test_xfails_on_one(): assert not ON_SIMPLIFIED

@pytest.mark.xfail
def test_xpasses(): pass

@pytest.fixture
def broken():
    raise ValueError("no setup")

def test_error(broken): pass

@pytest.fixture
def breaks():
    yield
    assert not ON_SIMPLIFIED, "no teardown"

def test_teardown_differs(breaks): pass

def test_fails_otherwise(): assert 0, f"{ON_SIMPLIFIED} is the flag"

def test_says_much(): assert 0, "much " * 10_000

def test_has_subtests(subtests):
    with subtests.test("one"):
        pass

@pytest.mark.parametrize("x", ["a b", "[x]", "c::d", "\u00e9", "e@f", "g/h.py"])
def test_named(x): pass

class TestClass:
    def test_method(self, record_property): record_property("figure", 3)
"""


@pytest.fixture(scope="module")
def done(plant, run):
    return run(plant(SUITE), "--junitxml=junit.xml")


@pytest.fixture(scope="module")
def outcomes(done):
    """What both sides made of each test that is in a list."""
    result = done.result
    listed = (*result.differences, *result.fail_otherwise, *result.fail_alike)
    return {
        each.test.partition("::")[2]: (each.legacy.outcome, each.simplified.outcome)
        for each in listed
    }


def test_the_terminal_is_that_of_pytest(done):
    assert done.code == 1
    assert done.last_line == "11 failed, 10 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 error"


def test_what_differs_is_named_with_both_outcomes(done, outcomes):
    assert outcomes == {
        "test_differs": ("passed", "failed"),
        "test_differs_too": ("passed", "failed"),
        "test_differs_on_legacy": ("failed", "passed"),
        "test_skipped_on_one": ("passed", "skipped"),
        "test_needs_it_and_fails": ("skipped", "failed"),
        "test_xfails_on_one": ("xpassed", "xfailed"),
        "test_teardown_differs": ("passed", "error at teardown"),
        "test_fails": ("failed", "failed"),
        "test_error": ("error at setup", "error at setup"),
        "test_fails_otherwise": ("failed", "failed"),
        "test_xfails_otherwise": ("xfailed", "xfailed"),
        "test_says_much": ("failed", "failed"),
    }


def test_every_test_is_counted_once(done):
    result = done.result
    assert result.tests == 25
    failing = len(result.fail_otherwise) + len(result.fail_alike)
    others = len(result.differences) + len(result.know_the_flag)
    assert result.alike + others + failing == result.tests
    assert result.not_compared == result.not_repeatable == ()


def test_a_skip_for_the_flag_is_told_apart_and_fails_nothing(done):
    [knows] = done.result.know_the_flag
    assert knows.test == "test_it.py::test_needs_the_flag"
    assert (knows.legacy.outcome, knows.simplified.outcome) == ("skipped", "passed")
    assert knows.again is None  # and costs no second run
    assert "1 know the flag" in done.printed
    assert "FAILED test_it.py::test_needs_the_flag" not in done.printed


def test_subtests_that_do_not_pass_belong_to_the_outcome(plant, run):
    done = run(
        plant("""
import unittest

def test_skips(subtests):
    for n in range(2):
        with subtests.test(n=n):
            if ON_SIMPLIFIED: pytest.skip("no constvars")

def test_xfails(subtests):
    with subtests.test("one"):
        if ON_SIMPLIFIED: pytest.xfail("no constvars")

def test_alike(subtests):
    with subtests.test("one"):
        pytest.skip("everywhere")

class TestOfUnittest(unittest.TestCase):
    def test_skips(self):
        with self.subTest("one"):
            if ON_SIMPLIFIED: self.skipTest("no constvars")
""")
    )
    assert {each.test: each.simplified.outcome for each in done.result.differences} == {
        "test_it.py::test_skips": "2 subtests skipped",
        "test_it.py::test_xfails": "1 subtest xfailed",
        "test_it.py::TestOfUnittest::test_skips": "1 subtest skipped",
    }
    assert "Skipped: no constvars" in done.printed
    assert done.result.alike == 1
    assert done.code == 1
    assert done.last_line == "3 failed, 1 passed, 1 skipped"


def test_what_a_test_skips_for_and_how_many_subtests_it_has_are_compared(plant, run):
    done = run(
        plant("""
import unittest

def test_has_subtests(subtests):
    for n in range(3 if ON_SIMPLIFIED else 2):
        with subtests.test(n=n): pass

class TestOfUnittest(unittest.TestCase):
    def test_has_subtests(self):
        for n in range(0 if ON_SIMPLIFIED else 2):
            with self.subTest(n=n): pass

def test_skips(): pytest.skip("no constvars" if ON_SIMPLIFIED else "needs a TPU")
def test_skips_alike(): pytest.skip(f"needs {4 + ON_SIMPLIFIED} devices")
def test_needs_the_flag():
    pytest.skip("needs a TPU" if ON_SIMPLIFIED else "needs jax_use_simplified_jaxpr_constants")
""")
    )
    assert {each.test: each.again for each in done.result.differences} == {
        "test_it.py::test_has_subtests": ("passed (subtests: 2)", "passed (subtests: 3)"),
        "test_it.py::TestOfUnittest::test_has_subtests": ("passed (subtests: 2)", "passed"),
        "test_it.py::test_skips": (
            "skipped: Skipped: needs a TPU",
            "skipped: Skipped: no constvars",
        ),
    }
    assert [each.test for each in done.result.know_the_flag] == ["test_it.py::test_needs_the_flag"]
    assert "passed (subtests: 2) on jax-legacy, passed on jax-simplified" in done.printed
    assert done.last_line == "3 failed, 2 skipped"


@pytest.mark.parametrize(
    ("outcome", "reason", "names"),
    [
        ("skipped", "Requires use_simplified_jaxpr_constants=True", True),
        ("skipped", "Works only with simplified Jaxpr consts", True),
        ("skipped", "Works only with simplified constants of a model", False),
        ("failed", "Works only with simplified Jaxpr consts", False),
    ],
)
def test_the_flag_may_be_named_in_words(outcome, reason, names):
    assert names_the_flag(SuiteOutcome(outcome=outcome, summary=reason)) is names


def test_a_difference_names_both_sides_and_the_second_run(done):
    assert (
        "Again in fresh processes: passed on jax-legacy, failed on jax-simplified." in done.printed
    )
    assert "jax-simplified  failed: AssertionError: 0x7f01: the flag is on" in done.printed
    assert all(each.again for each in done.result.differences)


def test_a_failure_of_both_sides_stays_the_suites_own(done):
    assert "This test fails alike on both sides of stock JAX" in done.printed
    assert "before it fails" in done.printed  # what it printed is there as ever
    assert "FAILED test_it.py::test_fails - assert 1 == 2" in done.printed


def test_a_failure_with_another_reason_is_named_with_both(done):
    found = [each.test.partition("::")[2] for each in done.result.fail_otherwise]
    assert found == ["test_xfails_otherwise", "test_fails_otherwise"]
    jax = done.result.sides[0].interpreter
    assert f"fails on both sides of stock {jax}, otherwise on each" in done.printed
    assert "jax-simplified  failed: AssertionError: True is the flag" in done.printed
    assert "jax-simplified  xfailed: known: ValueError: donated" in done.printed
    assert "3 fail alike, 2 fail otherwise" in done.printed


@pytest.mark.parametrize("style", ["long", "native", "line", "no"])
def test_all_lines_of_a_message_are_compared_however_tracebacks_are_shown(plant, run, style):
    done = run(
        plant("""
@pytest.mark.xfail
def test_xfails(): assert 0, f"off by\\nthe flag is {ON_SIMPLIFIED}"
@pytest.mark.xfail
def test_xfails_alike(): assert 0, f"off by\\n{4 + ON_SIMPLIFIED}"
"""),
        f"--tb={style}",
    )
    assert [each.test for each in done.result.fail_otherwise] == ["test_it.py::test_xfails"]
    assert done.last_line == "1 failed, 1 xfailed"


def test_a_doctest_that_prints_another_text_on_each_side_fails_otherwise(plant, run):
    text = """
>>> import os
>>> print("hoisted" if os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1" else "inlined")
4
"""
    done = run(plant({"test_it.txt": text}), "--doctest-glob=*.txt")
    assert [each.test for each in done.result.fail_otherwise] == ["test_it.txt::test_it.txt"]


def test_differences_are_grouped_by_what_they_say(done):
    lines = done.printed.splitlines()
    [first] = [number for number, line in enumerate(lines) if line.startswith("  2 x ")]
    assert "0x7f01: the flag is on" in lines[first]  # numbers aside, as test_differs_too says
    assert lines[first + 1 : first + 3] == [
        "    test_it.py::test_differs",
        "    test_it.py::test_differs_too",
    ]
    assert lines[first - 1] == "different: 7"  # the largest group comes first


def test_a_long_message_is_cut_and_says_so(done):
    [long] = [each for each in done.result.fail_alike if each.test.endswith("says_much")]
    assert "characters left out" in long.legacy.text
    assert len(long.legacy.text) < MOST_TEXT + 100


def test_the_junit_file_is_the_parents(done):
    [suite] = junitparser.JUnitXml.fromfile(str(done.folder / "junit.xml"))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (25, 11, 1, 2)
    assert '<property name="figure" value="3"' in (done.folder / "junit.xml").read_text()


def test_both_sides_say_what_they_are(done):
    legacy, simplified = done.result.sides
    assert (legacy.variable, simplified.variable) == ("0", "1")
    assert legacy.jax == simplified.jax != ""
    assert legacy.flag_at_end is None  # nothing imported JAX
    assert legacy.counts["skipped"] == 3
    assert simplified.counts["skipped"] == 2
