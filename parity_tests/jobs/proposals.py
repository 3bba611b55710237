"""The files that `constparity init` would write, and those that stay as they are."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from parity_tests.jobs import ProjectError
from parity_tests.jobs.changes import Change, Kept, content_of
from parity_tests.jobs.facts import Facts
from parity_tests.jobs.gitlab_include import JOBS, include_change, stage_of
from parity_tests.jobs.rendering import gitlab_jobs_of, workflow_of
from reports.rows.fail_rules import DEFAULT

PYPROJECT = Path("pyproject.toml")


WORKFLOW = Path(".github/workflows/constparity.yml")


def section() -> str:
    """Return the section: the rules that hold without it, for a project to change."""
    rules = ", ".join(f'"{each}"' for each in DEFAULT.split(","))
    return (
        "[tool.constparity]\n"
        "# Which findings fail a job: `constparity run --help` lists the rules.\n"
        f"fail-on = [{rules}]\n"
    )


def section_change(folder: Path) -> Change | Kept:
    """Return the file with the section at its end, or why it stays as it is.

    The text before the section stays the same to the byte: the section is appended, where a library
    that writes TOML would have to be trusted with the comments. Raises `ProjectError`.
    """
    before = content_of(folder / PYPROJECT)
    tables = _parsed(before or "")
    tool = tables.get("tool", {})
    if isinstance(tool, dict) and "constparity" in tool:
        return Kept(PYPROJECT, "it has [tool.constparity]")
    after = _appended(before or "", section())
    try:
        added = tomllib.loads(after)
    except tomllib.TOMLDecodeError as error:  # `tool` is an inline table, which cannot be extended
        raise ProjectError(
            f"{folder / PYPROJECT}: [tool.constparity] cannot be added at its end ({error}); add "
            f"it by hand:\n{section()}"
        ) from error
    assert added["tool"].pop("constparity")
    assert added == {"tool": {}, **tables}
    return Change(PYPROJECT, before, after)


def _parsed(content: str) -> dict[str, object]:
    try:
        return tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise ProjectError(f"{PYPROJECT} cannot be read: {error}") from error


def _appended(before: str, added: str) -> str:
    """Return a text with another one behind it, after an empty line, in its own line ends."""
    end = "\r\n" if "\r\n" in before else "\n"
    if before and not before.endswith("\n"):
        before += end
    gap = end if before.strip() else ""
    return before + gap + added.replace("\n", end)


def proposals(facts: Facts) -> list[Change | Kept]:
    """Return what would be written for a project; a file of the user is never written over.

    Raises `ProjectError` where a file can be neither changed nor left alone.
    """
    return list(_proposals(facts))


def _proposals(facts: Facts) -> Iterator[Change | Kept]:
    if "github" in facts.systems:
        yield _other_workflow(facts.folder) or _new_file(facts.folder, WORKFLOW, workflow_of(facts))
    if "gitlab" in facts.systems:
        yield _new_file(facts.folder, JOBS, gitlab_jobs_of(facts, stage_of(facts.folder)))
        yield include_change(facts.folder)
    yield section_change(facts.folder)


def _other_workflow(folder: Path) -> Kept | None:
    """Return a workflow of the user that runs constparity under another name, if there is one."""
    for file in sorted((folder / WORKFLOW.parent).glob("*.y*ml")):
        if file.name != WORKFLOW.name and "constparity" in (content_of(file) or ""):
            return Kept(file.relative_to(folder), "it runs constparity")
    return None


def _new_file(folder: Path, path: Path, content: str) -> Change | Kept:
    if content_of(folder / path) is not None:
        return Kept(path, "it is there")
    return Change(path, None, content)
