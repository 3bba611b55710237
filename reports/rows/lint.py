"""The records of `constparity lint`: its findings, and the files that it did not read."""

from __future__ import annotations

from typing import Literal

from reports.rows.row import Row

LintConfidence = Literal["low", "medium", "high"]


class LintFinding(Row):
    """A place in a file, what a rule says of it, and how sure the rule is.

    Lines and columns count from 1. `is_fixable` says that `--fix` rewrites it.
    """

    code: str
    file: str
    line: int
    column: int
    message: str
    confidence: LintConfidence
    is_fixable: bool = False


class LintUnread(Row):
    """A file or folder that was not linted, and why; `is_failure` says that it should have been."""

    file: str
    reason: str
    is_failure: bool


class LintReport(Row):
    """What lint found; `files` counts the files that were read."""

    constparity: str
    files: int
    findings: tuple[LintFinding, ...]
    unread: tuple[LintUnread, ...]
