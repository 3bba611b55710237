"""The section `[tool.constparity]` of a project's pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

from parity_tests.jobs import ProjectError
from parity_tests.jobs.changes import Change, Kept, content_of
from reports.rows.fail_rules import DEFAULT

PYPROJECT = Path("pyproject.toml")


def section() -> str:
    """Return the section: the rules that hold without it, for a project to change.

    Example::

        section().startswith("[tool.constparity]")
    """
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

    Example::

        section_change(Path("my_project")).after.endswith(section())
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
