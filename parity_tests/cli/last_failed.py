"""The cache of the commands in the working directory, and in it which programs failed last.

The folder is a cache as pytest's is: git ignores it, and backups leave it out. It is made when a
program fails for the first time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from parity_tests.cli.exit_codes import complain
from parity_tests.run.selection import target_key
from reports import write_atomically
from reports.rows import ProgramRow

FOLDER = Path(".constparity_cache")
_ABOUT = {
    ".gitignore": "# Made by constparity.\n*\n",
    "CACHEDIR.TAG": (
        "Signature: 8a477f597d28d172789f06886806bc55\n"
        "# This folder is a cache of constparity: it may be deleted.\n"
        "# For information about cache directory tags, see https://bford.info/cachedir/\n"
    ),
}


def read(folder: Path | None = None) -> tuple[str, ...]:
    """Return the targets of the programs that failed last; none where nothing is known.

    Example::

        read() == ("my_model.py:step",)
    """
    folder = folder or FOLDER
    try:
        found = json.loads((folder / "last_failed.json").read_text("utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        complain(f"cannot read which programs failed last: {error}")
        return ()
    if isinstance(found, list) and all(isinstance(each, str) for each in found):
        return tuple(found)
    complain(f"{folder / 'last_failed.json'} is no list of programs, and is not used")
    return ()


def remember(ran: Iterable[ProgramRow], failed: Iterable[str], folder: Path | None = None) -> None:
    """Keep which programs failed, by name; those that were not run keep what is known of them.

    Where the folder cannot be written, a line on stderr says so.
    """
    folder, names = folder or FOLDER, set(failed)
    rows = [row for row in ran if row.target]
    now = {target_key(row.target) for row in rows if row.name in names}
    passed = {target_key(row.target) for row in rows if row.observations} - now
    before = read(folder)
    found = [*(each for each in before if each not in passed | now), *sorted(now)]
    if not found and not before:
        return
    try:
        make(folder)
        write_atomically(folder / "last_failed.json", json.dumps(found, indent=2) + "\n")
    except OSError as error:
        complain(f"cannot keep which programs failed: {error}")


def make(folder: Path = FOLDER) -> Path:
    """Make the cache folder where there is none, and return it. Raises OSError.

    Example::

        make() == Path(".constparity_cache")
    """
    folder.mkdir(exist_ok=True)
    for name, text in _ABOUT.items():
        if not (folder / name).exists():
            (folder / name).write_text(text, "utf-8")
    return folder
