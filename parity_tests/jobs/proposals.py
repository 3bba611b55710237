"""The files that `constparity init` would write, and those that stay as they are.

Changes are shown as a unified diff first, then written whole or not at all.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity_tests.jobs import ProjectError
from parity_tests.jobs.facts import Facts
from parity_tests.jobs.rendering import gitlab_jobs_of, workflow_of
from reports import write_atomically
from reports.rows.fail_rules import DEFAULT

WORKFLOW = Path(".github/workflows/constparity.yml")
PIPELINE = Path(".gitlab-ci.yml")
JOBS = Path(".gitlab/constparity.yml")
PYPROJECT = Path("pyproject.toml")

_LINE = f"- local: /{JOBS.as_posix()}"
# The first item of a block list below `include:`; its group is the indentation.
_FIRST_INCLUDED = re.compile(
    r"^include:[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*?([ \t]*)- ", re.MULTILINE
)
# GitLab's stages where a pipeline names none.
_STAGES = ("build", "test", "deploy")


@dataclass(frozen=True)
class Change:
    """What a file of a project is, and what it would be; `before` is None where there is none."""

    path: Path
    before: str | None
    after: str


@dataclass(frozen=True)
class Kept:
    """A file that stays as it is, and why."""

    path: Path
    reason: str


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


def diff_of(changes: Sequence[Change]) -> str:
    """Return the changes as one patch, which `git apply` and `patch -p1` take.

    Example::

        diff_of([Change(Path("a"), None, "x\\n")]).startswith("--- /dev/null")
    """
    return "".join(line for change in changes for line in _lines(change))


def _lines(change: Change) -> Iterator[str]:
    before = (change.before or "").splitlines(keepends=True)
    after = change.after.splitlines(keepends=True)
    name = change.path.as_posix()
    fromfile = "/dev/null" if change.before is None else f"a/{name}"
    for line in difflib.unified_diff(before, after, fromfile, f"b/{name}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def apply(folder: Path, changes: Sequence[Change]) -> None:
    """Write the changes below a folder. Raises OSError where a file cannot be written.

    A file that was changed since the diff was shown is an error, for nobody has agreed to that.
    """
    for change in changes:
        if content_of(folder / change.path) != change.before:
            raise OSError(f"{folder / change.path} was changed in the meantime: run it again")
    for change in changes:
        write_atomically(folder / change.path, change.after)


def content_of(file: Path) -> str | None:
    """Return the text of a file with its own line ends; None where there is no such file.

    Raises `ProjectError` where it cannot be read, or is no UTF-8.
    """
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ProjectError(f"{file} cannot be read: {error}") from error


# -- pyproject.toml --------------------------------------------------------------------------------


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
    tables = _tables_of(before or "")
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


def _tables_of(content: str) -> dict[str, object]:
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


# -- .gitlab-ci.yml --------------------------------------------------------------------------------


def stage_of(folder: Path) -> str:
    """Return the stage that compares: `test`, or the last one where a pipeline has no such stage.

    Raises `ProjectError` where its stages are no list.

    Example::

        stage_of(Path("my_project")) == "test"
    """
    found = _parsed(folder).get("stages") or _STAGES
    if not isinstance(found, list | tuple):
        raise ProjectError(f"{folder / PIPELINE}: its stages must be a list, and are {found!r}")
    stages = [str(each) for each in found]
    return "test" if "test" in stages else stages[-1]


def include_change(folder: Path) -> Change | Kept:
    """Return the pipeline with our jobs included, or why it stays as it is.

    One line is added and no other is touched. Raises `ProjectError` where that is not possible.
    """
    before = content_of(folder / PIPELINE)
    tables = _parsed(folder)
    included = tables.get("include")
    if JOBS.as_posix() in str(included):
        return Kept(PIPELINE, f"it includes {JOBS.as_posix()}")
    after = _with_include(before or "", has_include="include" in tables)
    expected = [{"local": f"/{JOBS.as_posix()}"}, *(included or [])]
    if after is None or _loaded(after) != {**tables, "include": expected}:
        raise ProjectError(
            f"{folder / PIPELINE} has an `include` that is no plain list; add this line to it by "
            f"hand, and run it again:\n  {_LINE}"
        )
    return Change(PIPELINE, before, after)


def _with_include(before: str, *, has_include: bool) -> str | None:
    """Return the text with our line as the first of `include`; None where that is no block list."""
    end = "\r\n" if "\r\n" in before else "\n"
    if not has_include:
        gap = end if before.strip() else ""
        start = before if not before or before.endswith("\n") else before + end
        return f"{start}{gap}include:{end}  {_LINE}{end}"
    found = _FIRST_INCLUDED.search(before)
    if found is None:
        return None
    at = before.rindex("\n", 0, found.start(1)) + 1
    return f"{before[:at]}{found[1]}{_LINE}{end}{before[at:]}"


def _parsed(folder: Path) -> dict[str, Any]:
    return _loaded(content_of(folder / PIPELINE) or "", str(folder / PIPELINE))


def _loaded(content: str, name: str = str(PIPELINE)) -> dict[str, Any]:
    """Read YAML as data: no tag of it makes an object, and GitLab's own are left as they are."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise ProjectError(
            f"{name} is YAML, and no package here reads it: install constparity[init]"
        ) from error

    class Loader(yaml.SafeLoader):
        """A loader with the tags of GitLab, as !reference; it refuses a node that holds itself."""

        def construct_object(self, node: yaml.Node, deep: bool = True) -> Any:
            return super().construct_object(node, deep=True)

    def tagged(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> tuple[str, Any]:
        if isinstance(node, yaml.SequenceNode):
            return tag, loader.construct_sequence(node, deep=True)
        if isinstance(node, yaml.MappingNode):
            return tag, loader.construct_mapping(node, deep=True)
        return tag, node.value

    Loader.add_multi_constructor("!", tagged)
    try:
        found = yaml.load(content, Loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ProjectError(f"{name} cannot be read: {error}") from error
    if found is not None and not isinstance(found, dict):
        raise ProjectError(f"{name} is no mapping of jobs")
    return found or {}
