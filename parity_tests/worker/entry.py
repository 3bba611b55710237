"""The file that a child process starts with: it opens our packages to it, and nothing beside them.

Our packages may lie beside the parent's JAX, in the folder that the parent's packages are installed
in. A process of another interpreter must not find that JAX. So no folder is put on its path:
`sys.meta_path` gets a finder that knows the packages alone that the process may import.

The file imports the standard library alone, since nothing else can be imported before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class OurPackages:
    """A finder of some packages that lie in one folder; what is below them Python finds itself."""

    def __init__(self, folder: str, packages: Sequence[str]) -> None:
        self._folder, self._packages = folder, packages

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find one of the packages."""
        return PathFinder.find_spec(name, [self._folder]) if name in self._packages else None


# Not in the block below: a process that a program spawns runs this file under another name.
sys.meta_path.insert(
    0, OurPackages(os.path.abspath(f"{__file__}/../../.."), sys.argv[1].split(","))
)

if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd()  # as `python -m` does; this file's folder is no user's
    from parity_tests.worker.main import main

    main(sys.argv[2])
