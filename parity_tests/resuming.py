"""The folder of a campaign: what is finished stays in it, so an interrupted campaign goes on.

A campaign that is not told a folder has one for as long as it runs. Each finished program of a
side is a file there, written whole or not at all, and a campaign that finds them starts with them.
"""

from __future__ import annotations

import contextlib
import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from parity_tests.worker import Listed, Listing, to_json, write

_IDENTITY = "campaign.json"


class ResumeError(ValueError):
    """A folder cannot be gone on with; the message names the folder, why, and what to do."""


@contextlib.contextmanager
def campaign_folder(resume: Path | None) -> Iterator[Path]:
    """Hold the folder of a campaign: `resume`, created where it is missing, or a temporary one.

    Raises `ResumeError` where it cannot be used, or another campaign is at work in it.
    """
    if resume is None:
        with tempfile.TemporaryDirectory(prefix="constparity-") as name:
            yield Path(name)
        return
    try:
        resume.mkdir(parents=True, exist_ok=True)
        lock = open(resume / "lock", "w")  # noqa: SIM115 - closed below, with the lock
    except OSError as error:
        raise ResumeError(
            f"cannot keep a campaign in {str(resume)!r}: {error.strerror}; name another folder"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResumeError(
                f"another campaign is at work in {str(resume)!r}; wait for it or name another "
                "folder"
            ) from None
        yield resume.absolute()


def check_same_campaign(folder: Path, listing: Listing) -> None:
    """Make sure that what a folder holds was measured of these programs in this environment.

    A folder that holds nothing yet becomes that of `listing`. Raises `ResumeError` that names the
    first difference.
    """
    file = folder / _IDENTITY
    if not file.exists():
        write(file, to_json(listing))
        return
    try:
        before = Listing.model_validate_json(file.read_text("utf-8"))
    except (OSError, ValidationError) as error:
        raise ResumeError(f"{str(file)!r} is no campaign of this constparity: {error}") from error
    if what := _difference(before, listing):
        raise ResumeError(
            f"{str(folder)!r} holds a campaign that cannot be gone on with: {what}; name another "
            "folder, or remove this one"
        )


def _difference(before: Listing, now: Listing) -> str | None:
    if before.environment != now.environment:
        then, today = (
            listing.environment.model_dump() if listing.environment else {}
            for listing in (before, now)
        )
        key = next(key for key in {**then, **today} if then.get(key) != today.get(key))
        return f"its {key} was {then.get(key)!r} and is {today.get(key)!r}"
    if [each.target for each in before.programs] != [each.target for each in now.programs]:
        return f"it has {len(before.programs)} programs and the targets name other ones"
    changed = [_changed(*pair) for pair in zip(before.programs, now.programs, strict=True)]
    return next(filter(None, changed), None)


def _changed(before: Listed, now: Listed) -> str | None:
    if (before.name, before.digest, before.unavailable) == (now.name, now.digest, now.unavailable):
        return None
    return f"the source of {now.name} ({now.source or now.target}) has changed since"
