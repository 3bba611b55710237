"""The extras of the installed package, and which of their packages are missing."""

from __future__ import annotations

import importlib.metadata
import re

from parity_tests.diagnosis.records import Extra

FOR_USERS = ("corpus", "fuzz", "tables")


def extras() -> tuple[Extra, ...]:
    """Return each extra for users; none where constparity itself runs from an unpacked tree."""
    try:
        requirements = importlib.metadata.requires("constparity") or []
    except importlib.metadata.PackageNotFoundError:
        return ()
    return tuple(Extra(name=name, missing=_missing(requirements, name)) for name in FOR_USERS)


def _missing(requirements: list[str], extra: str) -> tuple[str, ...]:
    named = re.compile(rf"""extra == ["']{extra}["']""")
    found = [
        match[0]
        for each in requirements
        if named.search(each) and (match := re.match(r"[\w.-]+", each))
    ]
    return tuple(name for name in found if not _is_installed(name))


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
