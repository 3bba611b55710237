"""Which tests of a suite ran to their end: the others say nothing about a known difference."""

from __future__ import annotations

import glob
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from parity_tests.suites.journal import read
from reports.rows.suite import SuiteProcess

_FINISHED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)


@dataclass(frozen=True)
class Selection:
    """The tests of a run by what became of them.

    `part` says why the run was of a part of the suite from the outset; "" where it was not.
    """

    completed: frozenset[str]
    skipped: frozenset[str]
    failed: frozenset[str]  # for another reason than a difference
    deselected: frozenset[str]
    lost: frozenset[str]
    part: str
    root: Path  # of node ids

    @property
    def is_whole(self) -> bool:
        """Whether every test of the suite ran to its end, but for those that skip themselves."""
        return self.was_all_asked and not self.failed

    @property
    def was_all_asked(self) -> bool:
        """Whether the run was of the whole suite, also where a test is xfailed or ran again."""
        return not (self.part or self.deselected or self.lost)

    @property
    def known(self) -> frozenset[str]:
        """All tests that the run knows, whatever became of them."""
        groups = (self.skipped, self.failed, self.deselected, self.lost)
        return self.completed.union(*groups)

    def has_all_of_file(self, test: str) -> bool:
        """Say whether the run knows every test of the file that a test, by node id, is in."""
        file = f"{test.partition('::')[0]}::"
        return not self.part and any(each.startswith(file) for each in self.known)

    def leaves_out(self, test: str) -> bool:
        """Say whether the file of a test is there, and no test of it was collected."""
        file = test.partition("::")[0]
        is_known = any(each.startswith(f"{file}::") for each in self.known)
        return bool(file) and not is_known and (self.root / file).is_file()

    def why_unknown(self, covers: Callable[[str], bool], *, one_test: bool) -> str:
        """Say why the run cannot tell that some tests see no difference; "" where it can.

        `covers` says which tests; `one_test` that there is one of them in any run.
        """
        if not any(map(covers, self.completed)):
            return "none of its tests ran to the end"
        for tests, became in (
            (self.deselected, "was not selected"),
            (self.failed, "failed for another reason"),
            (self.lost, "was lost with its process"),
        ):
            if found := sorted(filter(covers, tests)):
                return f"{found[0]} {became}"
        return "" if one_test else self.part


def selection_of(
    folder: Path, session: pytest.Session, lost: tuple[SuiteProcess, ...]
) -> Selection:
    """Read from the journals of a folder which tests ran, and from the session which were asked."""
    ended: dict[str, set[str]] = {"completed": set(), "skipped": set(), "failed": set()}
    deselected: set[str] = set()
    for _, lines in read(folder):
        for line in lines:
            if line["kind"] == "deselected":
                deselected |= set(line["tests"])
            elif line["kind"] == "ends" and (became := _became(line)):
                ended[became].add(line["test"])
    return Selection(
        completed=frozenset(ended["completed"] - ended["failed"]),
        skipped=frozenset(ended["skipped"]),
        failed=frozenset(ended["failed"]),
        deselected=frozenset(deselected),
        lost=frozenset(each.test for each in lost),
        part=_why_part(session),
        root=session.config.rootpath,
    )


def _became(line: dict[str, Any]) -> str:
    if line["skipped"]:
        return "skipped"
    if not line["completed"]:
        return "failed"
    return "completed" if line["phase"] == "call" else ""


def _why_part(session: pytest.Session) -> str:
    config = session.config
    most = config.option.maxfail or 0  # with pytest-xdist the session does not say that it stopped
    if session.shouldfail or session.shouldstop or 0 < most <= session.testsfailed:
        return "the run stopped early"
    if session.exitstatus not in _FINISHED:
        return "the run was not finished"
    if getattr(config.option, "lf", False):
        return "--last-failed runs a part of the suite"
    # Those of `addopts` are the same in each run.
    if any(each.startswith("--ignore") for each in config.invocation_params.args):
        return "--ignore leaves out a part of the suite"
    here = config.invocation_params.dir  # a test may change the directory
    single = [each for each in config.args if "::" in each or (here / each).is_file()]
    if not single and not config.option.pyargs:
        folders = [(here / each).resolve() for each in config.args]
        has_all = all(any(path.is_relative_to(one) for one in folders) for path in _suite(config))
        single = [] if has_all else config.args
    return f"the run was of {single[0]} alone" if single else ""


def _suite(config: pytest.Config) -> list[Path]:
    """Return what pytest collects where it is given nothing; [] where no `testpaths` are set."""
    found = (
        glob.glob(each, root_dir=config.rootpath, recursive=True)
        for each in config.getini("testpaths")
    )
    return [(config.rootpath / path).resolve() for paths in found for path in paths]
