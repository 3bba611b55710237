"""Report files: checked before a run, written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path


class ReportPathError(OSError):
    """A report cannot be written where it was asked for; the message names the path and a way out.

    Example::

        >>> issubclass(ReportPathError, OSError)
        True
    """


def check_writable(path: str | os.PathLike[str]) -> None:
    """Find out before a run starts whether a report can be written to `path` after it.

    The parent folder is created where it is missing, and stays. Nothing else is left behind, and
    nothing at all where the check fails; a file that already lies at `path` is not touched.

    Raises `ReportPathError` where `path` is a folder, a device or a file without write permission,
    or where its parent folder cannot be created or written to.

    Example::

        >>> check_writable("/dev/null")
        Traceback (most recent call last):
        ...
        reports.output.files.ReportPathError: cannot write the report to '/dev/null': it exists \
and is not a regular file; name a file
    """
    target = _target(path)
    created = _make_folders(target.parent, path)
    try:
        probe = _temporary_beside(target)
        try:
            probe.open("xb").close()
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        _remove_folders(created)
        raise _unwritable_folder(path, target, error) from error


def as_bytes(content: str | bytes) -> bytes:
    r"""Return the bytes of a report, whose text is written as UTF-8.

    Example::

        >>> as_bytes("\u00b5s"), as_bytes(b"PAR1")
        (b'\xc2\xb5s', b'PAR1')
    """
    return content.encode("utf-8") if isinstance(content, str) else content


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write `content` to `path`, so that a reader sees all of it or what was there before.

    Raises `ReportPathError` as `check_writable` does, and where the disk is full. No half-written
    file remains.

    Example::

        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> write_atomically(f"{folder.name}/report.md", "# parity")
        >>> os.listdir(folder.name)
        ['report.md']
        >>> folder.cleanup()
    """
    target = _target(path)
    data = as_bytes(content)
    created = _make_folders(target.parent, path)
    temporary = _temporary_beside(target)
    try:
        # Not tempfile.mkstemp: its files are readable by their owner alone, and a CI job often
        # uploads a report under another user. A plain open follows the umask.
        with temporary.open("xb") as file:
            file.write(data)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        _remove_folders(created)
        raise _unwritable_folder(path, target, error) from error
    finally:
        # Also where the write is interrupted from the keyboard; after the replace there is none.
        temporary.unlink(missing_ok=True)


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the file that `path` stands for, links followed: a link keeps its target."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Path(os.path.realpath(path))  # _make_folders tells what is in the way
    except OSError as error:
        raise _error(path, f"{_reason(error)}", "name another file") from error
    if stat.S_ISDIR(mode):
        inside = os.path.join(os.fspath(path), "report.html")
        raise _error(path, "it is a folder", f"name a file in it, such as {inside!r}")
    if not stat.S_ISREG(mode):
        # os.replace would put a regular file in the place of /dev/null.
        raise _error(path, "it exists and is not a regular file", "name a file")
    if not os.access(path, os.W_OK):
        raise _error(
            path, "the file exists and may not be written", "make it writable or name another file"
        )
    return Path(os.path.realpath(path))


def _make_folders(folder: Path, path: str | os.PathLike[str]) -> list[Path]:
    """Create `folder` and its parents; return those that were missing, the innermost first."""
    missing = []
    ancestor = folder
    while not ancestor.exists():
        missing.append(ancestor)
        ancestor = ancestor.parent
    if not ancestor.is_dir():
        raise _error(
            path, f"{str(ancestor)!r} is a file, not a folder", "name a path below a folder"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _remove_folders(missing)
        raise _error(
            path,
            f"the folder {str(folder)!r} cannot be created ({_reason(error)})",
            "create it yourself or name a path in another folder",
        ) from error
    return missing


def _remove_folders(folders: list[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:  # not created after all, or in use by somebody else by now
            return


def _temporary_beside(target: Path) -> Path:
    # In the same folder: os.replace is atomic within one file system only. The name is short,
    # because the target's name may already be the longest as the file system allows.
    return target.parent / f".constparity-{secrets.token_hex(8)}.tmp"


def _unwritable_folder(
    path: str | os.PathLike[str], target: Path, error: OSError
) -> ReportPathError:
    return _error(
        path,
        f"the folder {str(target.parent)!r} does not take it ({_reason(error)})",
        "make room or permission there, or name a path in another folder",
    )


def _error(path: str | os.PathLike[str], what: str, what_to_do: str) -> ReportPathError:
    return ReportPathError(f"cannot write the report to {os.fspath(path)!r}: {what}; {what_to_do}")


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
