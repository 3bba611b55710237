"""The entry point for pytest: the options, and which parts of the plugin are registered for them.

Without `--constparity` this file is all that is imported, and it imports neither JAX nor the rest
of the tester: a test-suite that does not ask must not notice.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MODES = ("off", "legacy", "simplified", "both", "prove", "jax-both")
IN_PROCESS = ("legacy", "simplified", "both", "prove")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; all begin with `--constparity`."""
    group = parser.getgroup("constparity", "captured constants on both pipelines")
    group.addoption(
        "--constparity",
        choices=MODES,
        default="off",
        metavar="MODE",
        help="run what jax.jit compiles on a pipeline of constparity (legacy, simplified), on both "
        "and compare (both), on stock JAX and prove both forms one computation (prove), or run the "
        "suite on stock JAX in both modes and compare the outcomes (jax-both); default: off",
    )
    group.addoption(
        "--constparity-sees",
        choices=("legacy", "simplified"),
        default=None,
        metavar="SIDE",
        help="with both: the side whose results the tests see (default: legacy)",
    )
    group.addoption(
        "--constparity-python",
        action="append",
        default=[],
        metavar="PATH",
        help="with jax-both: also run the suite with this interpreter, which has its own JAX; "
        "repeatable",
    )
    group.addoption(
        "--constparity-timeout",
        type=float,
        default=None,
        metavar="SECONDS",
        help="with jax-both: end a process that has made no progress for so long, and go on after "
        "the test that it was in; 0 for no limit (default: 3600)",
    )
    group.addoption(
        "--constparity-collect",
        default=None,
        metavar="DIR",
        help="write each program that the suite compiles as a file for `constparity run DIR`; "
        "runs on legacy where --constparity says nothing",
    )
    group.addoption(
        "--constparity-xfail",
        action="append",
        default=[],
        metavar="FILE",
        help="a list of known differences (TOML); one that is gone fails; repeatable",
    )
    group.addoption(
        "--constparity-baseline",
        default=None,
        metavar="FILE",
        help="with both: the accepted state of each program; any other state fails",
    )
    group.addoption(
        "--constparity-update",
        action="store_true",
        help="write the file of --constparity-baseline instead of comparing with it",
    )
    group.addoption(
        "--constparity-fail",
        action="append",
        default=[],
        metavar="RULE",
        help="measure the collected programs after the tests, and fail as `constparity run "
        "--fail-on RULE` does, as in slower:20%%; with --constparity=prove as `constparity prove` "
        "does, as in not-proved:parted; repeatable",
    )
    group.addoption(
        "--constparity-bisect",
        type=int,
        default=0,
        metavar="N",
        help="with jax-both: find the lines that are to blame for the first N tests that differ, "
        "as `constparity bisect` does",
    )
    group.addoption(
        "--constparity-report",
        action="append",
        default=[],
        metavar="FORMAT:PATH",
        help="write a report: html, md, comment, junit, sarif, json; repeatable",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Prepare before the first conftest.py, which may import what calls `jax.jit`."""
    options = early_config.known_args_namespace
    _settle(options, early_config.rootpath)
    if options.constparity_collect and options.constparity == "off":
        options.constparity = "legacy"  # someone has to compile what is collected
    if options.constparity in IN_PROCESS:
        from parity_tests.suites.suite_plugin import Measuring, SuitePlugin

        suite = SuitePlugin(options)
        early_config.pluginmanager.register(suite, "constparity-suite")
        if options.constparity_collect:
            from parity_tests.suites.collected.hooks import CollectingPlugin

            collecting = CollectingPlugin(options.constparity_collect)
            early_config.pluginmanager.register(collecting, "constparity-collect")
        if options.constparity_fail and options.constparity != "prove":
            measuring = Measuring(suite, options.constparity_collect, options.constparity_fail)
            early_config.pluginmanager.register(measuring, "constparity-measure")
    with _users_code(options):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Collect, which imports the user's tests."""
    with _users_code(collector.config.option):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, settle the options that pytest has parsed again, register jax-both."""
    _settle(config.option, config.rootpath)
    if config.option.constparity_collect and config.option.constparity == "jax-both":
        raise pytest.UsageError(
            "--constparity-collect: jax-both runs stock JAX, which shows no programs; use legacy, "
            "simplified or both"
        )
    config.addinivalue_line(
        "markers",
        "constparity(rtol=None, atol=None, metrics=None, xfail=None): a parity test: what it "
        "compiles runs on both pipelines, and it fails if nothing was compared",
    )
    if config.option.constparity == "jax-both":
        # Here, for pytest-xdist has its workers start at the end of this hook.
        from parity_tests.suites.stock_runs.plugin import register

        register(config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Register what runs explicit parity tests, where there are any."""
    if any(_may_be_explicit(each) for each in items):
        _open_ours(with_engine=True)
        from parity_tests.suites.explicit import ExplicitTests, check_markers

        check_markers(items)
        suite = config.pluginmanager.get_plugin("constparity-suite")
        explicit = ExplicitTests(suite.recorder if suite else None)
        config.pluginmanager.register(explicit, "constparity-explicit")


def _may_be_explicit(item: pytest.Item) -> bool:
    is_marked = item.get_closest_marker("constparity") is not None
    return is_marked or "constparity" in getattr(item, "fixturenames", ())


@pytest.fixture
def constparity(request: pytest.FixtureRequest) -> Any:
    """Compare both pipelines within a test: `constparity.check(fun, *args, **kwargs)`."""
    from parity_tests.suites.explicit import CheckOfFixture

    return CheckOfFixture(request)


def _open_ours(*, with_engine: bool) -> None:
    """Have this process import our packages, and the user's imports of such names say so."""
    from parity_tests import own_packages

    names = (*own_packages.TESTER, *(own_packages.ENGINE if with_engine else ()))
    try:
        own_packages.check_installed()
        own_packages.open_to_process(names)
    except own_packages.CollisionError as error:
        raise pytest.UsageError(str(error)) from error
    own_packages.guard_imports(always=True)


def _users_code(options: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """Return what code of the user's is imported in: jax-both replaces nothing in this process."""
    if options.constparity != "jax-both":
        return contextlib.nullcontext()
    from parity_tests import own_packages

    return own_packages.USERS_TURN


def _settle(options: argparse.Namespace, folder: Path) -> None:
    """Refuse options that would do nothing, and take what the project sets for the others."""
    if options.constparity == "off" and not any(_given(options)):
        return  # nobody asks, and nothing is imported
    _open_ours(with_engine=options.constparity not in ("off", "jax-both"))
    from parity_tests.suites.settings import SettingsError, apply_project, check_options

    try:
        check_options(options)
        if options.constparity != "off":
            if importlib.util.find_spec("jax") is None:
                raise SettingsError(
                    f"--constparity={options.constparity}: {sys.executable} has no JAX: install "
                    "it there, as pip install jax"
                )
            apply_project(options, folder)
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from error


def _given(options: argparse.Namespace) -> Iterator[bool]:
    for name, value in vars(options).items():
        if name.startswith("constparity_"):
            yield bool(value)
