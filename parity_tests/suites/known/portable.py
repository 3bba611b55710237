"""Portable names of files: the same in another checkout, environment or home, on any system."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

# Folders of installed packages; what follows the last of them is the name of a module.
_INSTALLED = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True)
class PortableNames:
    """The names of a session; `root` is pytest's root, `here` the folder that it was started in."""

    root: Path
    here: Path

    def of_file(self, file: str) -> str:
        """Return the name of a file as all machines know it, with "/".

        An installed file is named from its package on, one below the root from there on, and any
        other from its outermost package on.

        Example::

            names.of_file("/home/me/.venv/lib/python3.12/site-packages/equinox/_jit.py")
            # "equinox/_jit.py"
        """
        if not file or file.startswith("<"):
            return file
        if installed := installed_file(file):
            return installed
        path = Path(os.path.normpath(self.here.joinpath(*_parts(file))))
        if path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        package = path.parent
        while (package / "__init__.py").is_file():
            package = package.parent
        return path.relative_to(package).as_posix()


def is_of_a_machine(key: str) -> bool:
    """Say whether a key of a baseline, "file:name(types)", has the path of a machine in it."""
    is_absolute = any(kind(key).is_absolute() for kind in (PurePosixPath, PureWindowsPath))
    return is_absolute or bool(installed_file(key))


def installed_file(file: str) -> str:
    """Return the name of an installed file from its package on; "" where it is not installed.

    Example::

        installed_file("/home/me/.venv/lib/python3.12/site-packages/equinox/_jit.py")
        # "equinox/_jit.py"
    """
    parts = _parts(file)
    for number in reversed(range(len(parts) - 1)):
        if parts[number] in _INSTALLED:
            return "/".join(parts[number + 1 :])
    return ""


def _parts(file: str) -> tuple[str, ...]:
    """Return the parts of a path of this system or of another one."""
    is_of_windows = "\\" in file and "/" not in file
    return (PureWindowsPath if is_of_windows else PurePosixPath)(file).parts
