"""The arrays that a command captured as SARIF: a note for each line that captures some."""

from __future__ import annotations

from reports.documents.sites import headline, names_of
from reports.output import sarif
from reports.rows.sites import Captured, Sites
from reports.views.figures import humanise_bytes
from reports.views.texts import counted

_CAPTURED = sarif.SarifRule(
    "captured-array",
    "An array that a traced function captures",
    "Legacy copies it into each compiled program; simplified passes it as an argument.",
)


def render_sarif(sites: Sites) -> str:
    """Render what a command captured as SARIF 2.1.0."""
    notes = [headline(sites), *(f"out of reach: {each}" for each in sites.not_reached)]
    found = sites.captured[: sarif.MOST_RESULTS]
    return sarif.render(sites.constparity, [_CAPTURED], list(map(_finding, found)), notes=notes)


def _finding(found: Captured) -> sarif.SarifFinding:
    what = f"{counted(found.arrays, 'array')} {found.array}, {humanise_bytes(found.all_bytes)}"
    copies = f"{counted(found.copies, 'copy')}, {humanise_bytes(found.copied_bytes)}"
    programs = counted(found.lowered, "lowered program")
    return sarif.SarifFinding(
        rule_id=_CAPTURED.id,
        message=sarif.shown(
            f"{what}: captured by {names_of(found.programs)}; legacy inlines {copies}, into "
            f"{programs}"
        ),
        level="note",
        file=found.file or None,
        line=found.line or None,
        snippet=sarif.shown(found.code),
        properties={"bytes": found.all_bytes, "copiedBytes": found.copied_bytes},
    )
