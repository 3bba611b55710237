"""Saved results: a campaign as JSON, and beside it an archive of its arrays, to judge it again.

`A.json` is the JSON report. `A.json.arrays` is a zip archive of files of the campaign's folder, as
they are there: the output arrays and the printed jaxpr of each program on each side. One file with
the arrays in it was the alternative; a report that is read, diffed and sent around would carry them
everywhere.

The archive also has a manifest with the digests of the report and of its own members. Both files
are written before either takes its place, and read only where all digests are right.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import reports
from parity_tests.evidence import values
from parity_tests.evidence.digests import digest, digest_of_file
from parity_tests.evidence.folder_layout import truth_files
from parity_tests.evidence.records import Evidence, Recorded, truth_of
from parity_tests.evidence.values import Value
from reports.output import json_file
from reports.rows import Campaign, Observation, ProgramRow, Side

SUFFIX = ".arrays"
FORMAT = 2  # of the archive; format 1 had no manifest
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Members:
    """The names of the members of the archive that belong to one program, by its number."""

    number: int

    def outputs(self, side: Side) -> str:
        """Name the output arrays of a side."""
        return f"{self.number}/{side}.npz"

    def jaxpr(self, side: Side) -> str:
        """Name the printed jaxpr of a side."""
        return f"{self.number}/{side}.jaxpr.txt"

    @property
    def truth(self) -> str:
        """The name of the arbiter's outputs."""
        return f"{self.number}/truth.npz"


def members_of(
    place: int, records: Mapping[Side, Recorded], folder: Path, number: int
) -> dict[str, Path]:
    """Return the files that are saved of one program, by their names in the archive.

    `place` is that of the program in its campaign, and `number` the one that it has in the folder.
    """
    members, found = Members(place), {}
    for side, each in records.items():
        if each.files is not None:
            found[members.outputs(side)] = each.files.outputs
            found[members.jaxpr(side)] = each.files.jaxpr
    if truth_of(folder, number):
        found[members.truth] = truth_files(folder, number).truth
    return found


class SavedError(ValueError):
    """Saved results cannot be read; the message names the file, what is wrong and what to do."""


# What reading a damaged archive raises.
_ARCHIVE_ERRORS = (
    OSError, EOFError, ValueError, KeyError, TypeError, RuntimeError, struct.error,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def archive_of(path: Path) -> Path:
    """Return the archive of saved results: it lies beside the report.

    Example::

        archive_of(Path("A.json")) == Path("A.json.arrays")
    """
    return path.with_name(path.name + SUFFIX)


def save(path: Path, campaign: Campaign, members: Mapping[str, Path]) -> None:
    """Write a campaign and its arrays: both files are there as a whole, or what was there before.

    `members` are the files of the archive, by their names in it. Raises `OSError`, which names the
    file and the reason, where a file cannot be read or written.
    """
    for each in (path, archive_of(path)):
        reports.check_writable(each)  # makes a folder again that was removed in the meantime
    report = json_file.render(campaign).encode("utf-8")
    parts = [path.with_name(f".constparity-{secrets.token_hex(8)}.tmp") for _ in range(2)]
    try:
        _write_archive(parts[0], digest(report), members)
        with parts[1].open("xb") as file:
            file.write(report)
        os.replace(parts[0], os.path.realpath(archive_of(path)))
        os.replace(parts[1], os.path.realpath(path))
    except OSError as error:
        told = error.strerror or str(error)
        of = f": {error.filename}" if error.filename and Path(error.filename) not in parts else ""
        raise OSError(
            f"cannot save the results to {str(path)!r} ({told}{of}); make room or permission "
            "there, or name a file in another folder"
        ) from error
    finally:
        for part in parts:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


def _write_archive(part: Path, report: str, members: Mapping[str, Path]) -> None:
    with zipfile.ZipFile(part, "x", zipfile.ZIP_DEFLATED) as archive:
        for member, file in members.items():
            archive.write(file, member)
        digests = {member: digest_of_file(file) for member, file in members.items()}
        manifest = {"format": FORMAT, "report": report, "members": digests}
        archive.writestr(_MANIFEST, json.dumps(manifest))


def _no_archive(file: Path) -> str:
    """Say why a file is no archive that can be read; "" where it is one."""
    try:
        with file.open("rb") as opened:
            return "" if zipfile.is_zipfile(opened) else "is not an archive"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be opened ({error.strerror})"


@dataclass(frozen=True)
class Saved:
    """A saved campaign; the arrays are read when they are asked for."""

    path: Path
    campaign: Campaign

    @classmethod
    def read(cls, path: Path) -> Saved:
        """Read a campaign, and check the digests of all that was saved with it.

        Raises `reports.ReportReadError` and `SavedError`.
        """
        saved = cls(path, reports.load_campaign(path, written_by="constparity run --save "))
        archive = archive_of(path)
        if what := _no_archive(archive):
            raise SavedError(
                f"the arrays of {str(path)!r} cannot be read: {str(archive)!r} {what}; write both "
                f"with constparity run --save {path}"
            )
        try:
            with zipfile.ZipFile(archive) as opened:
                saved._check(opened)
        except SavedError:
            raise
        except _ARCHIVE_ERRORS as error:
            raise saved._damaged(str(error)) from error
        return saved

    def _check(self, archive: zipfile.ZipFile) -> None:
        """Compare the format of the archive with ours, and all digests with what is there."""
        if _MANIFEST not in archive.namelist():
            raise self._other_format(1)
        manifest = json.loads(archive.read(_MANIFEST))
        if (format_ := manifest["format"]) != FORMAT:
            raise self._other_format(format_)
        if digest(self.path.read_bytes()) != manifest["report"]:
            raise self._damaged(f"{str(self.path)!r} is not the report that it was saved with")
        for member, saved in manifest["members"].items():
            if digest(archive.read(member)) != saved:
                raise self._damaged(f"{member} is not what was saved")

    def rows(self) -> dict[str, ProgramRow]:
        """Return the programs by name."""
        return {row.name: row for row in self.campaign.programs}

    def evidence(self, name: str) -> dict[Side, Evidence]:
        """Read what each side left of a program. Raises `SavedError` for a damaged archive."""
        number, row = self._find(name)
        return {each.side: self._evidence(number, each) for each in row.observations}

    def truth(self, name: str) -> tuple[Value, ...]:
        """Read the arbiter's outputs; there are none where it was not asked."""
        number, _ = self._find(name)
        with zipfile.ZipFile(archive_of(self.path)) as archive:
            member = Members(number).truth
            return self._values(archive, member) if member in archive.namelist() else ()

    def _find(self, name: str) -> tuple[int, ProgramRow]:
        return next((n, row) for n, row in enumerate(self.campaign.programs) if row.name == name)

    def _evidence(self, number: int, observation: Observation) -> Evidence:
        if observation.failure is not None:
            return Evidence(observation)
        members, side = Members(number), observation.side
        with zipfile.ZipFile(archive_of(self.path)) as archive:
            outputs = self._values(archive, members.outputs(side))
            digests = [each.sha256 for each in observation.outputs]
            if [values.digest(each) for each in outputs] != digests:
                said = f"{members.outputs(side)} holds other arrays than the report describes"
                raise self._damaged(said)
            try:
                jaxpr = archive.read(members.jaxpr(side)).decode("utf-8")
            except _ARCHIVE_ERRORS as error:
                raise self._damaged(str(error)) from error
        return Evidence(observation, outputs, jaxpr)

    def _values(self, archive: zipfile.ZipFile, member: str) -> tuple[Value, ...]:
        try:
            return values.load(io.BytesIO(archive.read(member)))
        except _ARCHIVE_ERRORS as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> SavedError:
        archive = str(archive_of(self.path))
        return SavedError(
            f"{archive!r} is damaged or belongs to another report: {what}; write both again with "
            f"constparity run --save {self.path}"
        )

    def _other_format(self, found: object) -> SavedError:
        archive = str(archive_of(self.path))
        return SavedError(
            f"{archive!r} is in format {found}, and this constparity reads format {FORMAT}; "
            "compare with the constparity that wrote it, or write it again with constparity run "
            f"--save {self.path}"
        )
