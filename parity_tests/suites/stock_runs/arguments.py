"""The command line and the environment of the child processes, made of those of the parent."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from parity_tests.processes.side_environment import with_flag
from reports.rows.suite_runs import StockSide

CHILD = Path(__file__).parent / "child" / "constparity_stock_child.py"
# Options of files that the user asked for once: the parent writes them, or nobody does.
# The child sets them by name, wherever they were set: on the command line, in addopts, in a file.
_NO_FILES: Mapping[str, Any] = {
    "xmlpath": None,  # --junitxml
    "cov_source": [],  # pytest-cov
    "report_log": None,  # pytest-reportlog
    "htmlpath": None,  # pytest-html
    "json_report": False,  # pytest-json-report
    "json_report_file": "none",
    "allure_report_dir": None,  # allure-pytest
    "benchmark_json": None,  # pytest-benchmark
    "pastebin": None,
    "log_file": None,
}
# The parent has selected by these, and a child would select by outcomes of its own.
_NO_SELECTION = {
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "stepwise_skip": False,
    "stepwise_reset": False,
    "cacheclear": False,
}


def arguments_of_children(config: pytest.Config) -> list[str]:
    """Return the arguments that were given, and those that a child needs to find the same suite."""
    added = [
        # Node ids begin at the root, which pytest would look for from the arguments that are left.
        f"--rootdir={config.rootpath}",
        f"--config-file={config.inipath or os.devnull}",
        f"--confcutdir={config.known_args_namespace.confcutdir}",
    ]
    if config.pluginmanager.has_plugin("logging"):  # else the option is none, and pytest warns
        added[:0] = ["-o", "log_file="]
    return [*added, *given_arguments(config)]


def given_arguments(config: pytest.Config) -> list[str]:
    """Return the arguments of addopts, PYTEST_ADDOPTS and the command line, without our own."""
    given = [
        *config.getini("addopts"),
        *shlex.split(os.environ.get("PYTEST_ADDOPTS", "")),
        *config.invocation_params.args,
    ]
    flags = {name for name, value in vars(config.option).items() if isinstance(value, bool)}
    return without_ours([str(each) for each in given], flags)


def without_ours(given: Sequence[str], flags: set[str]) -> list[str]:
    """Return arguments without `--constparity*`, their values, and `-p` of our plugins.

    `flags` are the names of options that take no value.

    Example::

        >>> without_ours(["-v", "--constparity", "jax-both", "-p", "constparity", "tests"], set())
        ['-v', 'tests']
    """
    kept: list[str] = []
    waiting = list(given)
    while waiting:
        each = waiting.pop(0)
        if each == "--":
            return [*kept, each, *waiting]
        if each.startswith("--constparity"):
            name = each.lstrip("-").replace("-", "_")
            if "=" not in each and name not in flags:
                waiting[:1] = []
        elif each == "-p" and waiting and _is_ours(waiting[0]):
            waiting[:1] = []
        elif not (each.startswith("-p") and _is_ours(each[2:])):
            kept.append(each)
    return kept


def _is_ours(plugin: str) -> bool:
    return plugin == "constparity" or plugin.startswith("parity_tests.")


def command_of(python: Path, arguments: Sequence[str], plan: Path, cache: Path | None) -> list[str]:
    """Return the command of a child process; `cache` is None where the user has none."""
    # `python -m pytest` finds modules in the current folder, and `pytest` does not.
    as_module = Path(sys.argv[0]).name == "__main__.py"
    ours = [
        "-o",
        "addopts=",  # they are among the arguments
        "-p",
        CHILD.stem,
        f"--stock-plan-of-constparity={plan}",
    ]
    if cache is not None:
        ours += ["-o", f"cache_dir={cache}"]  # that of the user has outcomes of the user's runs
    return [str(python), str(CHILD), os.getcwd() if as_module else "", *ours, *arguments]


def environment_of(side: StockSide) -> dict[str, str]:
    """Return the environment of a child process: that of the parent, and the flag of the side."""
    environment = with_flag(os.environ, side)
    environment.pop("PYTEST_ADDOPTS", None)  # they are among the arguments
    return environment


def options_of_children(config: pytest.Config) -> dict[str, Any]:
    """Return the values of options that a child sets, whatever its arguments say."""
    options: dict[str, Any] = {
        **_NO_FILES,
        **_NO_SELECTION,
        "constparity": "off",
        "continue_on_collection_errors": True,  # what one side cannot collect is a difference
        # The parent starts the session again for tests that a lost worker has left. Of those that
        # pytest-xdist 3.8 replaces, each runs the test that crashed once more (--dist=loadscope).
        "maxworkerrestart": "0",
    }
    if getattr(config.option, "tbstyle", "") in ("no", "line"):
        options["tbstyle"] = "short"  # the parent shows no more, and compares more
    if getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None):
        # Workers end in another order each time: the parent stops at the first failure instead.
        options["maxfail"] = 0
    return options


def last_failed(config: pytest.Config, items: Sequence[str]) -> frozenset[str] | None:
    """Return the tests that --lf has selected, those of one side among them; None for all.

    `items` are those that the parent runs: not all of them failed where --lf selected none.
    """
    if not getattr(config.option, "lf", False) or config.cache is None:
        return None
    failed = config.cache.get("cache/lastfailed", {})
    if not failed and config.option.last_failed_no_failures == "none":
        return frozenset()
    return frozenset(failed) if failed and failed.keys() >= set(items) else None
