"""The plugin that is installed and not asked for: nobody notices it."""

import re

OF_ALL_KINDS = """
import warnings


@pytest.fixture(scope="module", params=[2, 1])
def number(request):
    return request.param


def test_numbers(number):
    scaled(float(number))


def test_warns():
    warnings.warn("planted")


def test_fails():
    assert scaled(1.0)[1] == 2


@pytest.mark.skip(reason="planted")
def test_skipped():
    pass


@pytest.mark.xfail
def test_expected():
    raise ValueError


def test_jit_is_jax_s():
    assert jax.jit.__module__.startswith("jax.")
"""


def test_collection_order_outcomes_and_warnings_are_those_without_it(suite):
    suite.write(OF_ALL_KINDS)
    asked_nothing, without = (
        suite.run("-v", *more, is_new=True) for more in ((), ("-p", "no:constparity"))
    )
    assert asked_nothing.returncode == without.returncode == 1
    assert _lines(asked_nothing.stdout) == _lines(without.stdout)
    assert asked_nothing.outcomes == {
        "failed": 1, "passed": 4, "skipped": 1, "xfailed": 1, "warning": 1,
    }  # fmt: skip


def _lines(output):
    without_time = re.sub(r"in [\d.]+s.*", "", output)
    lines = [line.strip("= ") for line in without_time.splitlines()]  # padded by the time
    return [line for line in lines if not line.startswith("plugins: ")]


LOADED = """
import sys


def test_modules():
    print("loaded:", *sorted(sys.modules))
"""


def test_it_imports_its_options_and_nothing_else(suite):
    """A count stands for the time, which is some 7 ms on an idle machine (2 CPUs)."""
    suite.write(LOADED, head="")
    [with_it], [without] = (
        re.findall(r"loaded: (.*)", suite.run("-s", *more, is_new=True).stdout)
        for more in ((), ("-p", "no:constparity"))
    )
    assert set(with_it.split()) - set(without.split()) == {
        "parity_tests",
        "parity_tests.jax_defaults",
        "parity_tests.jax_internals",
        "parity_tests.own_jit",
        "parity_tests.program",
        "parity_tests.suites",
        "parity_tests.suites.plugin",
    }


def test_without_the_plugin_its_options_are_unknown(suite):
    run = suite.write(LOADED, head="").run("-p", "no:constparity", "--constparity=both")
    assert run.returncode == 4
    assert "unrecognized arguments: --constparity=both" in run.stderr
