"""Under pytest-xdist the report is the same for any number of workers."""

import pytest

pytestmark = pytest.mark.deep

SUITE = """
@pytest.mark.parametrize("x", ["a b", "[x]", "e@f", *range(20)])
def test_named(x): pass

@pytest.mark.xdist_group("pair")
def test_in_a_group(): assert not ON_SIMPLIFIED

def test_fails(): assert 0, "alike"
@pytest.mark.parametrize("x", range(6))
def test_crashes(x):
    if ON_SIMPLIFIED and x in (1, 4): os.kill(os.getpid(), signal.SIGSEGV)
@pytest.mark.skip(reason="why")
def test_skipped(): pass
if ON_SIMPLIFIED:
    def test_alone(): pass
"""


def counted(result):
    """The result without what an attempt has of its own: times, processes, texts of a crash."""
    told = result.model_dump(exclude={"created", "arguments"})
    for side in told["sides"]:
        side.update(seconds=0, starts=0)
    lists = ("differences", "fail_otherwise", "fail_alike", "not_compared", "not_repeatable")
    for each in (each for name in lists for each in told[name]):
        each["legacy"].pop("text")
        each["simplified"].pop("text")
    return told


@pytest.fixture(scope="module")
def folder(plant):
    return plant(SUITE)


@pytest.fixture(scope="module")
def alone(run, folder):
    return run(folder, "-p", "xdist", "-n0")


@pytest.mark.parametrize("dist", ["load", "loadgroup"])
def test_the_report_is_the_same_for_any_number_of_workers(run, folder, alone, dist):
    done = run(folder, "-p", "xdist", "-n2", f"--dist={dist}")
    assert counted(done.result) == counted(alone.result)
    assert done.last_line == alone.last_line == "5 failed, 27 passed, 1 skipped"
    assert done.code == alone.code == 1


def test_the_first_failure_is_that_of_the_order(run, folder):
    done = run(folder, "-p", "xdist", "-n2", "-x")
    assert done.last_line == "1 failed, 23 passed"
    assert done.result.left_out == 8


def test_workers_say_what_jax_they_have(plant, run):
    done = run(plant("import jax\ndef test_one(): pass"), "-p", "xdist", "-n1")
    # The controller itself imports no JAX.
    assert [side.is_proven for side in done.result.sides] == [True, True]
