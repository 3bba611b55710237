"""Suites that go wrong: the report of shadow mode is complete and true all the same."""

import pytest

GOOD = """
def test_good():
    scaled(2.0)


"""


def both(suite, tests, *options):
    return suite.write(GOOD + tests).run("--constparity=both", *options)


CRASH = """
def test_crash():
    scaled(3.0)
    import os, signal
    os.kill(os.getpid(), signal.SIGSEGV)


def test_after():
    jax.jit(lambda x: x - TABLE)(1.0)
"""


def test_a_crash_of_the_only_process_is_reported_by_another(suite):
    run = both(suite, CRASH)
    assert run.returncode < 0
    assert "the process of the tests died before it could report" in run.output
    assert "1 program of 1 test ran on both pipelines" in run.output
    assert "lost: main in test_planted.py::test_crash" in run.output


def test_a_crash_of_a_worker_is_in_the_report_with_what_the_worker_had_finished(suite):
    run = both(suite, CRASH, "-n", "1")
    assert run.returncode == 1
    assert run.outcomes == {"failed": 1, "passed": 2}, run.output
    assert "2 programs of 2 tests ran on both pipelines; the tests saw legacy" in run.section
    [lost] = [line for line in run.section if line.startswith("lost")]
    assert lost.startswith("lost: gw0 in test_planted.py::test_crash")


def test_a_killed_run_says_which_test_was_running(suite):
    tests = """
def test_hangs():
    scaled(3.0)
    import os, signal, time
    os.kill(os.getpid(), signal.SIGTERM)  # as a CI does after its time is over
    time.sleep(60)
"""
    run = both(suite, tests)
    assert "lost: main in test_planted.py::test_hangs" in run.output


def test_an_interrupted_run_has_its_summary(suite, interruptible):
    tests = """
def test_hangs():
    import os, signal, time
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""
    run = suite.write(GOOD + tests).run("--constparity=both")
    assert run.returncode == 2
    assert "1 program of 1 test ran on both pipelines; the tests saw legacy" in run.section


MEMORY = """
def test_memory():
    def exhausted(*args, **kwargs):
        raise MemoryError("planted")

    from engine.runtime import lowering
    stock = lowering._lower
    lowering._lower = lambda pipeline, *args, **kwargs: (
        exhausted() if pipeline.side == "simplified" else stock(pipeline, *args, **kwargs)
    )
    try:
        jax.jit(lambda x: x - TABLE)(1.0)
    finally:
        lowering._lower = stock


def test_own_memory():
    with pytest.raises(MemoryError):
        raise MemoryError("the test's own")
"""


def test_want_of_memory_on_one_side_is_no_difference(suite):
    run = both(suite, MEMORY)
    assert run.outcomes == {"passed": 3}
    assert any("a side was out of memory" in line for line in run.section)


STATE = """
import os


def test_changes_the_flag():
    jax.config.update("jax_use_simplified_jaxpr_constants", True)
    try:
        jax.jit(lambda x: x * TABLE + 1)(2.0)
    finally:
        jax.config.update("jax_use_simplified_jaxpr_constants", False)


def test_changes_our_flag():
    import engine
    with engine.use_simplified_constants(True):
        jax.jit(lambda x: x * TABLE + 2)(2.0)


def test_clears_caches():
    scaled(2.0)
    jax.clear_caches()
    scaled(2.0)


def test_threads():
    threads = [threading.Thread(target=scaled, args=(float(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_in_legacy_after_all():
    jax.jit(lambda x: x * TABLE + 3)(2.0)


@pytest.mark.skip(reason="planted")
def test_skipped():
    raise AssertionError


@pytest.mark.xfail(strict=True)
def test_fails_as_expected():
    assert scaled(2.0)[1] == 3


class TestOfUnittest(__import__("unittest").TestCase):
    def test_in_a_class(self):
        scaled(2.0)
"""


def test_a_suite_that_changes_settings_clears_caches_and_runs_threads(suite):
    run = both(suite, STATE)
    assert run.outcomes == {"passed": 7, "skipped": 1, "xfailed": 1}, run.output
    assert "4 programs of 8 tests ran on both pipelines; the tests saw legacy" in run.section


def test_the_same_suite_with_a_fault_fails_each_test_that_ran_a_program(suite):
    run = suite.plant().write(STATE).run("--constparity=both")
    # What the fault changes makes the xfailed test fail as it expects.
    assert run.outcomes == {"failed": 6, "skipped": 1, "xfailed": 1}, run.output


FORK = """
def test_forks():
    import os
    scaled(2.0)
    child = os.fork()
    if not child:
        from engine.runtime import watching
        os._exit(0 if watching.watcher() is None else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_process_is_left_alone_and_named(suite):
    run = both(suite, FORK, "-W", "ignore")  # JAX warns of a fork
    assert run.outcomes == {"passed": 2}, run.output
    assert "1 program of 2 tests ran on both pipelines; the tests saw legacy" in run.section
    assert any("test_planted.py::test_forks forked a process" in line for line in run.section)


PATCHES = """
def test_patches(monkeypatch):
    monkeypatch.setattr(jax, "jit", lambda f, **options: f)
    jax.jit(lambda x: x * TABLE)(2.0)


def test_after():
    jax.jit(lambda x: x + TABLE)(2.0)
"""


def test_a_test_that_replaces_jit_is_named(suite):
    run = both(suite, PATCHES)
    assert run.outcomes == {"passed": 3}
    assert "2 programs of 2 tests ran on both pipelines; the tests saw legacy" in run.section
    [said] = [line for line in run.section if "replaced jax.jit" in line]
    assert "test_planted.py::test_patches" in said


MANY = """
@pytest.mark.parametrize("number", range(10_000))
def test_many(number):
    if number % 1000 == 0:
        scaled(float(number))
"""


@pytest.mark.deep
def test_ten_thousand_tests(suite):
    run = both(suite, MANY, "-n", "2")
    assert run.outcomes == {"passed": 10_001}
    assert "1 program of 11 tests ran on both pipelines; the tests saw legacy" in run.section


REMOVED = """
def test_removes_its_working_directory(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    jax.jit(lambda x: x + TABLE)(2.0)
"""


def test_a_working_directory_that_is_gone_fails_no_program(suite):
    run = both(suite, REMOVED)
    assert run.outcomes == {"passed": 2}, run.output
