"""A second interpreter: the same Python and the same JAX, with the packages of a side and no more.

Its packages are links to ours, so it takes no download and half a second.
"""

import importlib.metadata
import venv
from pathlib import Path

from packaging.requirements import Requirement


def other_python(folder, packages=("jax", "jaxlib", "numpy", "pydantic")):
    """The interpreter of a new virtual environment with packages and all that they require."""
    venv.create(folder, with_pip=False, symlinks=True)
    [site] = Path(folder).glob("lib/python*/site-packages")
    for name in _with_requirements(packages):
        for file in importlib.metadata.files(name):
            link = site / file.parts[0]
            if file.parts[0] not in ("..", "__pycache__") and not link.exists():
                own = Path(file.locate())
                link.symlink_to(own.parents[len(file.parts) - 2] if len(file.parts) > 1 else own)
    return Path(folder) / "bin" / "python"


def _with_requirements(packages):
    waiting, found = list(packages), set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            needed = map(Requirement, importlib.metadata.requires(name) or ())
            waiting += [r.name for r in needed if not r.marker or r.marker.evaluate({"extra": ""})]
    return found
