"""Digests of files that a campaign keeps: what is damaged is found before it is believed.

They are written as `sha256sum` writes them, beside the files, so `sha256sum --check` finds the
same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path


class DamagedError(ValueError):
    """A kept file is not what was written; the message names it and says how."""


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes, as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def digest_of_file(file: Path) -> str:
    """Return the SHA-256 of a file. Raises `OSError`."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def seal(files: Iterable[Path], contents: Mapping[Path, bytes] | None = None) -> str:
    """Return the lines with the digests of files, and of `contents` that are still to be written.

    Example::

        seal([folder / "0.npz"]) == "9f86d081...  0.npz\\n"
    """
    digests = {file.name: digest_of_file(file) for file in files}
    digests |= {file.name: digest(content) for file, content in (contents or {}).items()}
    return "".join(f"{value}  {name}\n" for name, value in digests.items())


def check(sealed: Path) -> None:
    """Compare the files beside `sealed` with their digests in it. Raises `DamagedError`."""
    try:
        lines = sealed.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise DamagedError(f"{sealed} is missing, which has the digests") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedError(f"{sealed} cannot be read") from error
    if not lines:
        raise DamagedError(f"{sealed} is empty")
    for line in lines:
        value, _, name = line.partition("  ")
        file = sealed.with_name(name or "?")
        try:
            found = digest_of_file(file)
        except FileNotFoundError as error:
            raise DamagedError(f"{file} is missing") from error
        except OSError as error:
            raise DamagedError(f"{file} cannot be read ({error.strerror})") from error
        if found != value:
            raise DamagedError(f"{file} is not what was written")
