"""The settings of the plugin: options of pytest, and what a project sets in its pyproject.toml.

A setting of `[tool.constparity.pytest]` has the name of its option without `--constparity-`, and
holds where the option is not given. The mode itself is no setting: a run asks for it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

TABLE = "[tool.constparity.pytest]"

_Kind = Literal["side", "seconds", "file", "texts", "files", "reports"]


@dataclass(frozen=True)
class Setting:
    """A setting: what it may hold, and the modes that use it."""

    kind: _Kind
    modes: tuple[str, ...]


_ALL = ("legacy", "simplified", "both")
SETTINGS: dict[str, Setting] = {
    "sees": Setting("side", ("both",)),
    "python": Setting("files", ("jax-both",)),
    "timeout": Setting("seconds", ("jax-both",)),
    "collect": Setting("file", _ALL),
    "xfail": Setting("files", ("both", "prove")),
    "baseline": Setting("file", ("both",)),
    "fail": Setting("texts", ("both", "prove")),
    "report": Setting("reports", ("both", "prove", "jax-both")),
}
# Options that compare, in the order in which a message names them; `--constparity=both` has all.
_COMPARING = ("xfail", "baseline", "update", "fail", "report")
# Of these, and of others, what a mode that runs each program once on stock JAX has no use for.
_RUNNING = ("baseline", "update", "collect")


class SettingsError(ValueError):
    """A setting or an option cannot be used as it is; the message says what to write."""


def check_options(options: Any) -> None:
    """Refuse options that the mode of the run would ignore. Raises `SettingsError`."""
    mode = options.constparity
    if mode in ("off", "legacy", "simplified"):
        for name in _COMPARING:
            if getattr(options, f"constparity_{name}"):
                why = "compares nothing" if mode != "off" else "is not asked for anything"
                raise SettingsError(
                    f"--constparity-{name}: --constparity={mode} {why}; use --constparity=both"
                )
    if mode == "prove":
        for name in _RUNNING:
            if getattr(options, f"constparity_{name}"):
                raise SettingsError(
                    f"--constparity-{name}: --constparity=prove runs stock JAX alone; use "
                    "--constparity=both"
                )
    if options.constparity_bisect and mode != "jax-both":
        raise SettingsError(
            f"--constparity-bisect: --constparity={mode} finds no tests to bisect; use "
            "--constparity=jax-both"
        )
    if options.constparity_update and not options.constparity_baseline:
        raise SettingsError("--constparity-update: name the file with --constparity-baseline=FILE")


def apply_project(options: Any, folder: Path) -> None:
    """Set the options that were not given as the project does in whose folder the suite lies.

    Paths of the project are relative to its pyproject.toml. Raises `SettingsError`.
    """
    file, table = project_table(folder)
    for name, value in checked(table.get("pytest", {}), str(file)).items():
        is_unset = not getattr(options, f"constparity_{name}")
        if is_unset and options.constparity in SETTINGS[name].modes:
            found = _below(file.parent, SETTINGS[name], value)
            if name == "fail" and options.constparity == "prove":
                found = _of_proofs(found)
            setattr(options, f"constparity_{name}", found)
    options.constparity_sees = options.constparity_sees or "legacy"
    if options.constparity == "prove":
        _check_rules(options.constparity_fail)
        return
    if options.constparity_fail and not options.constparity_collect:
        raise SettingsError(
            "--constparity-fail: name a folder with --constparity-collect=DIR; the programs in it "
            "are measured after the tests"
        )


def _of_proofs(texts: list[str]) -> list[str]:
    """Leave out the rules of a project that are about measurements: other modes have them."""
    from reports.rows.fail_rules import FailRuleError, of_proofs, parse

    try:
        return [rule.text for text in texts for rule in of_proofs(parse(text))]
    except FailRuleError as error:
        raise SettingsError(f"fail of {TABLE}: {error}") from error


def _check_rules(texts: list[str]) -> None:
    from reports.rows.fail_rules import FailRuleError, check_of_proofs, parse

    try:
        check_of_proofs(parse(",".join(texts or ())))
    except FailRuleError as error:
        raise SettingsError(f"--constparity-fail: {error}") from error


def checked(table: Any, file: str) -> Mapping[str, Any]:
    """Return the settings of a project, each with a value that it may have.

    Raises `SettingsError`, whose message names the file and the settings that there are.
    """
    if not isinstance(table, dict):
        raise SettingsError(f"{file}: tool.constparity.pytest is no table")
    for name, value in table.items():
        setting = SETTINGS.get(name)
        if setting is None:
            raise SettingsError(
                f"{file}: {TABLE} has no setting {name!r}; the settings are {', '.join(SETTINGS)}"
            )
        if not _fits(setting, value):
            raise SettingsError(f"{file}: {name} of {TABLE} must be {_WORDS[setting.kind]}")
    return table


def project_table(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the pyproject.toml of the project that a folder lies in, and its [tool.constparity].

    Raises `SettingsError`.
    """
    start = folder.resolve()
    files = (each / "pyproject.toml" for each in (start, *start.parents))
    file = next((each for each in files if each.is_file()), start / "pyproject.toml")
    try:
        project = tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error
    table = project.get("tool", {}).get("constparity", {})
    if not isinstance(table, dict):
        raise SettingsError(f"{file}: tool.constparity is no table")
    return file, table


_WORDS: dict[_Kind, str] = {
    "side": "'legacy' or 'simplified'",
    "seconds": "a number of seconds above 0",
    "file": "a path",
    "texts": "a list of texts",
    "files": "a list of paths",
    "reports": 'a list of FORMAT:PATH, as in ["html:report.html"]',
}


def _fits(setting: Setting, value: Any) -> bool:
    match setting.kind:
        case "side":
            return value in ("legacy", "simplified")
        case "seconds":
            return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        case "file":
            return isinstance(value, str) and bool(value)
    return isinstance(value, list) and all(isinstance(each, str) and each for each in value)


def _below(folder: Path, setting: Setting, value: Any) -> Any:
    match setting.kind:
        case "file":
            return _joined(folder, value)
        case "files":
            return [_joined(folder, each) for each in value]
        case "reports":
            parts = [each.partition(":") for each in value]
            return [f"{name}{colon}{_joined(folder, path)}" for name, colon, path in parts]
    return value


def _joined(folder: Path, path: str) -> str:
    # A path that names nothing or a folder stays as it is, for the option's own message.
    return os.path.join(folder, os.path.expanduser(path)) if path else path
