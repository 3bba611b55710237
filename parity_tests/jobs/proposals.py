"""The files that `constparity init` would write, and those that stay as they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from parity_tests.jobs.changes import Change, Kept, content_of
from parity_tests.jobs.facts import Facts
from parity_tests.jobs.gitlab_include import JOBS, include_change, stage_of
from parity_tests.jobs.pyproject_section import section_change
from parity_tests.jobs.rendering import gitlab_jobs_of, workflow_of

WORKFLOW = Path(".github/workflows/constparity.yml")


def proposals(facts: Facts) -> list[Change | Kept]:
    """Return what would be written for a project; a file of the user is never written over.

    Raises `ProjectError` where a file can be neither changed nor left alone.

    Example::

        proposals(facts(Path("my_project"), origin))[0].path == WORKFLOW
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
