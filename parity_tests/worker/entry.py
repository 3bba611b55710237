"""The file that a child process starts with: it opens our packages to it, and nothing beside them.

Our packages may lie beside the parent's JAX, in the folder that the parent's packages are installed
in. A process of another interpreter must not find that JAX. So no folder is put on its path:
`sys.meta_path` gets a finder that knows the packages alone that the process may import
(`parity_tests/own_packages.py`).

The file imports the standard library alone, since nothing else can be imported before.
"""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location

_NAME = "parity_tests.own_packages"
_spec = spec_from_file_location(_NAME, os.path.abspath(f"{__file__}/../../own_packages.py"))
assert _spec is not None
assert _spec.loader is not None
_own_packages = sys.modules[_NAME] = module_from_spec(_spec)
_spec.loader.exec_module(_own_packages)
# Not in the block below: a process that a program spawns runs this file under another name.
_own_packages.open_to_process(sys.argv[1].split(","))

if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd()  # as `python -m` does; this file's folder is no user's
    from parity_tests.worker.main import main

    main(sys.argv[2])
