"""The journal of one pytest process of stock JAX, which the parent of `jax-both` reads.

Another interpreter has pytest and the project's packages, and not constparity. So this file imports
the standard library and pytest only, and is given by path: run as a script it starts pytest, and as
a plugin it writes a line of JSON for each event. It never imports jax.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from importlib import metadata
from typing import Any

import pytest

NAME = "constparity_stock_child"
OPTION = "--stock-plan-of-constparity"  # not of the prefix that constparity checks
FLAG = "jax_use_simplified_jaxpr_constants"
FLAGS = f"{NAME}_flags"  # of a report
# Characters of a text in the journal: a traceback of JAX takes some thousand.
MOST_TEXT = 8_000
MOST_SUMMARY = 300
_SET_PARENT_DEATH_SIGNAL = 1  # of prctl(2)
_TAIL = 6_000  # The end of a traceback has the exception.


class Journal:
    """A file of JSON lines; a line is there as soon as it is written, whatever crashes next."""

    def __init__(self, path: str) -> None:
        self._process = os.getpid()
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 - open for the whole session

    def write(self, event: str, **fields: Any) -> None:
        """Add a line. A process that a test has forked adds none."""
        if os.getpid() == self._process:
            self._file.write(json.dumps({"event": event, **fields}, default=str) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file, before Python warns of it."""
        self._file.close()


class Plan:
    """What the parent asks for, read from a file: command lines have limits."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        self.journal: str = told["journal"]
        self.only = None if told["only"] is None else frozenset(told["only"])
        self.without = frozenset(told["without"])
        self.options: dict[str, Any] = told["options"]

    def takes(self, test: str) -> bool:
        """Say whether the process is to run a test."""
        return test not in self.without and (self.only is None or test in self.only)

    def set_options(self, namespace: Any, leave: Sequence[str] = ()) -> None:
        """Set the options that pytest and its plugins know; the others' plugins are not there."""
        for name, value in self.options.items():
            if hasattr(namespace, name) and name not in leave:
                setattr(namespace, name, value)


def cut(text: str) -> str:
    """Return a text, or its beginning and its end where it is longer than `MOST_TEXT`."""
    if len(text) <= MOST_TEXT:
        return text
    left_out = len(text) - MOST_TEXT
    head = text[: MOST_TEXT - _TAIL]
    return f"{head}\n... {left_out} characters left out ...\n{text[-_TAIL:]}"


def plain_id(test: str, is_grouped: bool) -> str:
    """Return a node id without the group that pytest-xdist appends under `--dist=loadgroup`."""
    at = test.rfind("@")
    return test[:at] if is_grouped and at > max(test.rfind("]"), test.rfind("::")) else test


def versions() -> dict[str, Any]:
    """Return what JAX says of itself: versions, and its flag and what it is in the environment."""
    told: dict[str, Any] = {"jax": _installed("jax"), "jaxlib": _installed("jaxlib")}
    told["flag"], told["variable"] = flag_now(), variable_now()
    jax = sys.modules.get("jax")
    told["jax"] = getattr(jax, "__version__", told["jax"])
    return told


def flag_now() -> bool | None:
    """Return JAX's flag; None where nothing has imported JAX."""
    value: bool | None = getattr(getattr(sys.modules.get("jax"), "config", None), FLAG, None)
    return value


def variable_now() -> str:
    """Return JAX's flag in the environment, which processes that tests start have; "" if unset."""
    return os.environ.get(FLAG.upper(), "")


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


# -- hooks of a process ----------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare where the plan lies."""
    parser.getgroup("constparity").addoption(OPTION, metavar="FILE", help="of the parent process")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Set options before plugins of an early start read them; pytest-cov is one."""
    known = early_config.known_args_namespace
    Plan(known.stock_plan_of_constparity).set_options(known)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Set the options, and watch the session."""
    plan = Plan(config.getoption(OPTION))
    # The folder of a worker is part of that of its controller.
    plan.set_options(config.option, ["basetemp"] if hasattr(config, "workerinput") else [])
    config.pluginmanager.register(Watcher(config, plan), f"{NAME}-watcher")
    if not config.pluginmanager.has_plugin("constparity"):
        config.pluginmanager.register(NotInstalled(), f"{NAME}-not-installed")


class NotInstalled:
    """The marker and the fixture of constparity, in an interpreter that does not have it."""

    def pytest_configure(self, config: pytest.Config) -> None:
        """Declare the marker."""
        config.addinivalue_line("markers", "constparity: a parity test")

    @pytest.fixture
    def constparity(self) -> None:
        """Skip the parity test."""
        pytest.skip("constparity is not installed in this interpreter")


class Watcher:
    """The hooks of the session; a worker of pytest-xdist selects tests and writes nothing."""

    def __init__(self, config: pytest.Config, plan: Plan) -> None:
        self._plan = plan
        self._output = getattr(config, "workeroutput", None)
        self._journal = None if self._output is not None else Journal(plan.journal)
        grouped = getattr(config.option, "dist", "") == "loadgroup"
        self._is_grouped = grouped or getattr(config.option, "loadgroup", False)
        self._collected: set[str] = set()
        self._lost_by = ""
        self._internal_error = ""
        self._flags: list[bool] = []  # of the test in hand
        self._subtests: Counter[str] = Counter()  # that passed, of each test
        self._write(
            "begin",
            python=platform.python_version(),
            executable=sys.executable,
            pytest=pytest.__version__,
            variable=variable_now(),
        )

    def _write(self, event: str, **fields: Any) -> None:
        if self._journal is not None:
            self._journal.write(event, **fields)

    def _id(self, test: str) -> str:
        return plain_id(test, self._is_grouped)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Take the plan's tests of those that all other plugins have left."""
        yield
        self._has_collected(item.nodeid for item in items)
        items[:] = [item for item in items if self._plan.takes(self._id(item.nodeid))]

    def pytest_collection_finish(self) -> None:
        """Tell the versions early, for a process that crashes has no end of session."""
        self._write("versions", **versions())

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Hear what a worker has collected."""
        self._has_collected(ids)

    def _has_collected(self, ids: Iterable[str]) -> None:
        new = [each for each in map(self._id, ids) if each not in self._collected]
        self._collected.update(new)
        self._write("collected", tests=new)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Tell what could not be collected, or was skipped as a whole."""
        if not report.passed:
            self._write("not collected", of=report.nodeid, **_said(report))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell which test is in hand."""
        self._write("start", test=self._id(nodeid))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Look at JAX's flag as a test begins, with what its fixtures have set, and as it ends."""
        before = flag_now()
        try:
            return (yield)
        finally:
            self._flags = [each for each in (before, flag_now()) if each is not None]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Have the report of a test carry its flags, also from a worker of pytest-xdist."""
        report = yield
        if call.when == "call":
            setattr(report, FLAGS, self._flags)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell what became of a phase of a test."""
        # A subtest that passed is counted, and an attempt to be run again is no outcome.
        is_part = hasattr(report, "context")
        passed = is_part and report.passed and not hasattr(report, "wasxfail")
        self._subtests[report.nodeid] += passed
        if passed or report.outcome not in ("passed", "failed", "skipped"):
            return
        self._write(
            "phase",
            test=self._id(report.nodeid),
            when=report.when,
            duration=report.duration,
            wasxfail=getattr(report, "wasxfail", None),
            sections=[[name, cut(text)] for name, text in report.sections if report.failed],
            properties=[[str(name), value] for name, value in report.user_properties],
            lost_by=self._lost_by if report.when == "???" else "",
            is_part=is_part,
            flags=getattr(report, FLAGS, []),
            **_said(report),
        )

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Tell that a test is no longer in hand."""
        self._write("finish", test=self._id(nodeid), subtests=self._subtests[nodeid])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Hear what a worker says of JAX, or by which signal it was lost."""
        if told := getattr(node, "workeroutput", {}).get(NAME):
            self._write("versions", **told)
        self._lost_by = _signal_of(node) if error else ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Tell what JAX says when all tests have run."""
        if self._output is not None:
            self._output[NAME] = versions()
            return
        self._write("versions", **versions())
        stopped = self._internal_error or session.shouldfail or session.shouldstop
        self._write("end", status=int(exitstatus), stopped=str(stopped or ""))

    def pytest_internalerror(self, excrepr: object) -> None:
        """Keep the last line of an error of pytest or of a plugin, which ends the session."""
        last = next(reversed(str(excrepr).strip().splitlines()), "")
        self._internal_error = f"internal error of pytest: {last[:MOST_SUMMARY]}"

    def pytest_unconfigure(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()


def _said(report: pytest.TestReport | pytest.CollectReport) -> dict[str, Any]:
    """Return the outcome of a report with its texts, cut, and the place that they name."""
    if report.passed:  # pytest-xdist adds where it ran
        return {"outcome": report.outcome}
    skipped = report.longrepr if isinstance(report.longrepr, tuple) else None
    crash = getattr(report.longrepr, "reprcrash", None)
    if skipped is not None:
        file, line, text = skipped
    elif crash is not None:
        file, line, text = crash.path, crash.lineno, report.longreprtext
    else:
        file, line, text = "", 0, report.longreprtext
    lines = (crash.message if crash else text).strip().splitlines()
    last = lines[0] if crash and lines else next(reversed(lines), "")
    return {
        "outcome": report.outcome,
        "text": cut(text),
        "summary": last[:MOST_SUMMARY],
        "file": str(file),
        "line": line,
    }


def _signal_of(node: Any) -> str:
    """Return the exit status of a worker that crashed: negative for a signal; "" if not known."""
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)
    if process is None:
        return ""
    try:
        return str(process.wait(5))
    except subprocess.TimeoutExpired:
        return ""


def _end_with_parent() -> None:
    """Have the kernel end this process with its parent, which may be killed and end nothing.

    A thread that waits for the parent would be seen by tests that fork.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def main() -> None:
    """Run pytest with the arguments, as `pytest` or as `python -m pytest` would.

    The first argument is the folder to find modules in, or "" for none.
    """
    _end_with_parent()
    here = os.path.dirname(os.path.abspath(__file__))
    first = sys.argv.pop(1)
    # Last, so that nothing of the project is hidden.
    others = [entry for entry in sys.path if entry != here]
    sys.path[:] = [*([first] if first else []), *others, here]
    sys.argv[0] = os.path.join(os.path.dirname(pytest.__file__), "__main__.py")
    sys.exit(pytest.main())


if __name__ == "__main__":
    main()
