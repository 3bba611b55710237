"""The environment of all tests, set before anything imports JAX."""

import compileall
import gc
import os
import signal
import sys
from contextlib import nullcontext

import pytest
import system_programs
from forked_workers import forked_workers

from parity_tests.own_packages import ENGINE, TESTER

# Variables of the caller: those for the tests stay, and those that would change programs go.
_FOR_TESTS = (
    "CONSTPARITY_EXAMPLES",
    "CONSTPARITY_OTHER_PYTHON",
    "CONSTPARITY_SEEDS",
    "CONSTPARITY_TEST_",
    "CONSTPARITY_WHOLE_CORPUS",
)
_FOR_PROGRAMS = (
    "COLUMNS",
    "CONSTPARITY_",
    "FORCE_COLOR",
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_ENABLE_X64",
    "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS",
    "PYTEST_ADDOPTS",  # for these tests, and not for those that they run
    "TTY_COMPATIBLE",
)
for _name in list(os.environ):
    if _name.startswith(_FOR_PROGRAMS) and not _name.startswith(_FOR_TESTS):
        del os.environ[_name]

# Eight host devices, so that placement can be tested.
_DEVICES = "--xla_force_host_platform_device_count=8"
# LLVM's optimisations would take half of the time of all tests. XLA's own passes before them,
# folding and fusion included, stay the same. The built-in corpus runs with the user's flags.
_FAST = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"

os.environ.setdefault("CONSTPARITY_TEST_XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
for _flag in (_DEVICES, *_FAST.split()):
    if _flag.partition("=")[0] not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_flag}".strip()


# Where PYTHONDONTWRITEBYTECODE is set, each process would compile what it imports of these.
_COMPILED = (*TESTER, *ENGINE, "tests/helpers", "tests/programs")


def pytest_sessionstart(session):
    """Compile what processes import. Files that tests write stay as the variable has them.

    A compiled file would hide what is written there in the same second.
    """
    if not hasattr(session.config, "workerinput"):
        for folder in _COMPILED:
            compileall.compile_dir(session.config.rootpath / folder, quiet=2)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Have no collection of garbage look at the tests themselves, which stay; each took 0.4 s.

    What pytest makes of them is kept for the next run.
    """
    gc.disable()
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = writes_none
        gc.enable()
        gc.freeze()


def pytest_unconfigure(config):
    """Say as the very last line which tests were left out, and how to have them run."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:  # the processes of xdist have none
        skipped = [report.longrepr[-1] for report in terminal.stats.get("skipped", ())]
        if line := system_programs.last_line(skipped):
            terminal.write_line(line, yellow=True)


@pytest.fixture(scope="session")
def _forks():
    with forked_workers() as forks:
        yield forks


@pytest.fixture(scope="module", autouse=True)
def _workers(request, _forks):
    """Fork the processes of sides, but for the modules with the mark `fresh_workers`."""
    wants_fresh = request.node.get_closest_marker("fresh_workers")
    is_fresh = wants_fresh or "CONSTPARITY_TEST_FRESH_WORKERS" in os.environ
    with nullcontext() if is_fresh else _forks.in_use():
        yield


@pytest.fixture(scope="module", autouse=True)
def _short_collections():
    """Have no collection of garbage look at what earlier modules left, and no search for leaks.

    JAX's own looks at each object of the process many times.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def interruptible():
    """Let child processes heed SIGINT, which a shell has its background processes ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
