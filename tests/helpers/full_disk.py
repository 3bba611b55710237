"""A disk that is full for one file, in the process that runs the programs of a module."""

# Goes at the end of a module that imports os; `FULL_FOR` is the name of the file.
FULL_DISK = """

from pathlib import Path

_replace = Path.replace


def _full(self, target):
    if Path(target).name == os.environ.get("FULL_FOR"):
        raise OSError(28, "No space left on device", str(target))
    return _replace(self, target)


Path.replace = _full
"""
