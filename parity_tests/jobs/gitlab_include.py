"""The line of .gitlab-ci.yml that includes our jobs, and the stage that they belong to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from parity_tests.jobs import ProjectError
from parity_tests.jobs.changes import Change, Kept, content_of

PIPELINE = Path(".gitlab-ci.yml")
JOBS = Path(".gitlab/constparity.yml")

_LINE = f"- local: /{JOBS.as_posix()}"
# The first item of a block list below `include:`; its group is the indentation.
_FIRST_INCLUDED = re.compile(
    r"^include:[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*?([ \t]*)- ", re.MULTILINE
)
# GitLab's stages where a pipeline names none.
_STAGES = ("build", "test", "deploy")


def stage_of(folder: Path) -> str:
    """Return the stage that compares: `test`, or the last one where a pipeline has no such stage.

    Example::

        stage_of(Path("my_project")) == "test"
    """
    found = _parsed(folder).get("stages") or _STAGES
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
            f"{name} is YAML, and no package here reads it: pip install 'constparity[init]'"
        ) from error

    class Loader(yaml.SafeLoader):
        """A loader with the tags of GitLab, as !reference."""

    def tagged(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> tuple[str, Any]:
        if isinstance(node, yaml.SequenceNode):
            return tag, loader.construct_sequence(node, deep=True)
        if isinstance(node, yaml.MappingNode):
            return tag, loader.construct_mapping(node, deep=True)
        return tag, node.value

    Loader.add_multi_constructor("!", tagged)
    try:
        found = yaml.load(content, Loader)
    except yaml.YAMLError as error:
        raise ProjectError(f"{name} cannot be read: {error}") from error
    if found is not None and not isinstance(found, dict):
        raise ProjectError(f"{name} is no mapping of jobs")
    return found or {}
