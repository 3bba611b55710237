"""`--constparity-fail`: rules on the programs that a suite compiled, measured after the tests."""

import pytest

from reports.output.json_file import load_result

TESTS = """
BIG = jnp.ones((200, 200))


@jax.jit
def big(x):
    return x * BIG


def test_big():
    big(2.0)


def test_scaled():
    scaled(2.0)
"""
BOTH = ("--constparity=both", "--constparity-collect=programs")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--constparity=both", "--constparity-fail=slower:20%"],
            "name a folder with --constparity",
        ),
        ([*BOTH, "--constparity-fail=slowr"], "no rule 'slowr'"),
        ([*BOTH, "--constparity-fail=slower:20"], "write slower:20%"),
        ([*BOTH, "--constparity-fail=version-change"], "is about several versions"),
        (["--constparity=legacy", "--constparity-fail=slower"], "compares nothing"),
    ],
)
def test_a_rule_that_cannot_be_asked_is_refused_before_any_test(suite, options, said):
    suite.write("open('imported', 'w')")
    run = suite.run(*options)
    assert run.returncode == 4, run.output
    assert said in run.output
    assert not (suite.folder / "imported").exists()


def test_rules_judge_what_the_suite_collected(suite):
    suite.write(TESTS)
    rules = ("--constparity-fail=different,new-failure", "--constparity-fail=larger:1x")
    run = suite.run(*BOTH, *rules, "--constparity-report=json:out.json", "-n2", timeout=500)
    assert run.outcomes == {"passed": 2}, run.output
    measured = load_result(suite.folder / "out.json").measured
    assert (measured.programs, measured.rounds, measured.problem) == (2, 0, "")
    states = {each.rule: bool(each.broken_by) for each in measured.rules}
    assert states["different"] is states["new-failure"] is False
    assert run.returncode == int(any(states.values()))
    assert "Measured after the tests: 2 programs, times: not measured" in run.section
    assert "different: kept" in run.section


def test_jax_is_not_imported_before_the_first_conftest(suite):
    suite.write("def test_nothing():\n    pass\n")
    suite.plant("import sys\n\nassert 'jax' not in sys.modules\n")
    asked = (*BOTH, "--constparity-fail=different", "--constparity-report=md:a.md")
    run = suite.run(*asked, is_new=True)
    assert run.outcomes == {"passed": 1}, run.output


def test_nothing_to_measure_is_no_success(suite):
    suite.write("def test_nothing():\n    pass\n")
    run = suite.run(*BOTH, "--constparity-fail=different")
    assert run.outcomes == {"passed": 1}
    assert run.returncode == 1
    assert any("the suite collected no program" in line for line in run.section), run.section
