"""Saved results: a campaign as JSON, and beside it an archive of its arrays, to judge it again.

`A.json` is the JSON report. `A.json.arrays` is a zip archive of the output arrays and the printed
jaxpr of each program on each side. One file with the arrays in it was the alternative; a report
that is read, diffed and sent around would carry them everywhere.
"""

from __future__ import annotations

import io
import os
import secrets
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import reports
from parity_tests.evidence import values
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from reports.rows import Campaign, Observation, ProgramRow, Side

SUFFIX = ".arrays"


@dataclass(frozen=True)
class Kept:
    """What one program left: the evidence of each side, and the arbiter's outputs, if it ran."""

    evidence: Mapping[Side, Evidence]
    truth: tuple[Value, ...] = ()


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


class SavedError(ValueError):
    """Saved results cannot be read; the message names the file, what is wrong and what to do."""


def save(path: Path, campaign: Campaign, kept: Callable[[int], Kept]) -> None:
    """Write a campaign and its arrays; each of the two files is there whole or not at all.

    `kept` is asked for the arrays of one program after the other, by number. Raises `OSError` where
    a file cannot be written.
    """
    part = path.with_name(f".constparity-{secrets.token_hex(8)}.tmp")
    try:
        with zipfile.ZipFile(part, "x", zipfile.ZIP_DEFLATED) as archive:
            for number in range(len(campaign.programs)):
                left, members = kept(number), Members(number)
                for side, each in left.evidence.items():
                    _put(archive, members.outputs(side), each.outputs)
                    archive.writestr(members.jaxpr(side), each.jaxpr)
                if left.truth:
                    _put(archive, members.truth, left.truth)
        os.replace(part, _archive_of(path))
    finally:
        part.unlink(missing_ok=True)
    reports.write_report(reports.parse_report_option(f"json:{path}"), campaign)


@dataclass(frozen=True)
class Saved:
    """A saved campaign; the arrays are read when they are asked for."""

    path: Path
    campaign: Campaign

    @classmethod
    def read(cls, path: Path) -> Saved:
        """Read a campaign. Raises `reports.ReportReadError` and `SavedError`."""
        saved = cls(path, reports.load_campaign(path, written_by="constparity run --save "))
        archive = _archive_of(path)
        if not zipfile.is_zipfile(archive):
            what = "is not an archive" if archive.exists() else "is missing"
            raise SavedError(
                f"the arrays of {str(path)!r} cannot be read: {str(archive)!r} {what}; write both "
                f"with constparity run --save {path}"
            )
        return saved

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
        with zipfile.ZipFile(_archive_of(self.path)) as archive:
            member = Members(number).truth
            return self._values(archive, member) if member in archive.namelist() else ()

    def _find(self, name: str) -> tuple[int, ProgramRow]:
        return next((n, row) for n, row in enumerate(self.campaign.programs) if row.name == name)

    def _evidence(self, number: int, observation: Observation) -> Evidence:
        if observation.failure is not None:
            return Evidence(observation)
        members, side = Members(number), observation.side
        with zipfile.ZipFile(_archive_of(self.path)) as archive:
            outputs = self._values(archive, members.outputs(side))
            digests = [each.sha256 for each in observation.outputs]
            if [values.digest(each) for each in outputs] != digests:
                said = f"{members.outputs(side)} holds other arrays than the report describes"
                raise self._damaged(said)
            try:
                jaxpr = archive.read(members.jaxpr(side)).decode("utf-8")
            except (KeyError, zipfile.BadZipFile, UnicodeDecodeError) as error:
                raise self._damaged(str(error)) from error
        return Evidence(observation, outputs, jaxpr)

    def _values(self, archive: zipfile.ZipFile, member: str) -> tuple[Value, ...]:
        try:
            return values.load(io.BytesIO(archive.read(member)))
        except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> SavedError:
        archive = str(_archive_of(self.path))
        return SavedError(f"{archive!r} is damaged or belongs to another report: {what}")


def _put(archive: zipfile.ZipFile, member: str, outputs: Sequence[Value]) -> None:
    buffer = io.BytesIO()
    values.save(buffer, outputs)
    archive.writestr(member, buffer.getvalue())


def _archive_of(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)
