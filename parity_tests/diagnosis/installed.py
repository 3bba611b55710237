"""What is installed beside constparity: its extras, and the plugin that pytest finds.

Nothing of the plugin is imported for that.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Mapping
from pathlib import Path

from parity_tests.diagnosis.records import Extra, PytestPlugin
from parity_tests.processes.interpreters import FOR_RELOAD, missing_in

_PLUGIN = "constparity"
_NO_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
# The extras for users, and what each is for.
FOR_USERS = {
    "cluster": "constparity campaign --scheduler",
    "corpus": "programs of other libraries in the built-in corpus",
    "fuzz": "constparity fuzz",
    "init": "constparity init in a project with a .gitlab-ci.yml",
    "lint": "constparity lint",
    "tables": "reports in CSV and Parquet, and frames in notebooks",
}


def extras() -> tuple[Extra, ...]:
    """Return each extra for users; none where constparity itself runs from an unpacked tree."""
    try:
        requirements = importlib.metadata.requires("constparity") or []
    except importlib.metadata.PackageNotFoundError:
        return ()
    return tuple(
        Extra(name=name, purpose=purpose, missing=_missing(requirements, name))
        for name, purpose in FOR_USERS.items()
    )


def extras_in(python: Path) -> tuple[Extra, ...]:
    """Return what an interpreter of other versions may have besides, for the programs it runs."""
    needed = {"corpus": _corpus_packages(), "--reload": FOR_RELOAD}
    return tuple(
        Extra(name=name, missing=missing_in(python, packages)) for name, packages in needed.items()
    )


def _corpus_packages() -> tuple[str, ...]:
    try:
        return _named(importlib.metadata.requires("constparity") or [], "corpus")
    except importlib.metadata.PackageNotFoundError:
        return ()


def _missing(requirements: list[str], extra: str) -> tuple[str, ...]:
    return tuple(name for name in _named(requirements, extra) if not _is_installed(name))


def _named(requirements: list[str], extra: str) -> tuple[str, ...]:
    named = re.compile(rf"""extra == ["']{extra}["']""")
    return tuple(
        match[0]
        for each in requirements
        if named.search(each) and (match := re.match(r"[\w.-]+", each))
    )


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def pytest_plugin(environment: Mapping[str, str] = os.environ) -> PytestPlugin:
    """Say whether a pytest that starts here loads the plugin, and what to do where it does not.

    Example::

        pytest_plugin().is_loaded
    """
    try:
        importlib.metadata.distribution("pytest")
    except importlib.metadata.PackageNotFoundError:
        return PytestPlugin(is_loaded=False, to_do="without pytest: pip install pytest")
    found = [
        each for each in importlib.metadata.entry_points(group="pytest11") if each.name == _PLUGIN
    ]
    if not found:
        to_do = "not registered: install constparity with pip, for it runs from an unpacked tree"
        return PytestPlugin(is_loaded=False, to_do=to_do)
    if environment.get(_NO_AUTOLOAD):
        to_do = f"not loaded, for {_NO_AUTOLOAD} is set: pytest -p {found[0].value}"
        return PytestPlugin(is_loaded=False, to_do=to_do)
    return PytestPlugin(is_loaded=True)
