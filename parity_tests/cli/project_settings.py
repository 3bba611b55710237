"""The settings of a project: the table `[tool.constparity]` of its pyproject.toml.

The file is looked for in the working directory and in the folders above it, as other tools do.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity_tests.cli.exit_codes import fail

_KEYS = ("fail-on", "pytest")


@dataclass(frozen=True)
class ProjectSettings:
    """What a project sets for all runs; `fail_on` is None where it sets nothing."""

    fail_on: str | None = None


def project_settings(folder: Path | None = None) -> ProjectSettings:
    """Read the settings of the project that a folder, else the working directory, lies in.

    Leaves with `Exit.USAGE` where the table cannot be read, and says what is wrong with it.

    Example::

        project_settings(Path("my_project")).fail_on == "different,new-failure"
    """
    start = (folder or Path.cwd()).resolve()
    files = (each / "pyproject.toml" for each in (start, *start.parents))
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        return ProjectSettings()
    try:
        table = tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("constparity", {})
    except (OSError, ValueError) as error:
        fail(f"{file} cannot be read: {error}")
    return _checked(file, table)


def _checked(file: Path, table: Any) -> ProjectSettings:
    if not isinstance(table, dict):
        fail(f"{file}: tool.constparity is no table")
    unknown = sorted(set(table) - set(_KEYS))
    if unknown:
        fail(
            f"{file}: [tool.constparity] has no setting {unknown[0]!r}; "
            f"the settings are {', '.join(_KEYS)}"
        )
    _check_pytest(file, table.get("pytest", {}))
    rules = table.get("fail-on")
    if isinstance(rules, list) and all(isinstance(each, str) for each in rules):
        rules = ",".join(rules)
    if rules is not None and not isinstance(rules, str):
        fail(f'{file}: fail-on is a text or a list of texts, as in fail-on = ["different"]')
    return ProjectSettings(rules)


def _check_pytest(file: Path, table: Any) -> None:
    """Check what is set for the plugin of pytest: the plugin alone uses it."""
    from parity_tests.suites.settings import SettingsError, checked

    try:
        checked(table, str(file))
    except SettingsError as error:
        fail(str(error))
