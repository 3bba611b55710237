"""A campaign as the HTML page: the decision, the pictures, the table, and a section per program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from reports.document import Table
from reports.rows import Campaign, ProgramRow, Side, worst_first
from reports.views import measured, overview
from reports.views.decision import Decision, decision
from reports.views.programs_table import ProgramsTable, programs_table
from reports.views.scatter import Scatter, UlpDistances, scatters, ulp_distances
from reports.views.sides import Flip, flip_of, sides_of
from reports.views.sweeps import Sweeps, sweeps_of
from reports.views.texts import Term, terms_of, visible
from reports.views.web_section import WebSection, web_section


@dataclass(frozen=True)
class WebPage:
    """All that the HTML page shows but its sections, which are made one at a time."""

    title: str
    facts: str  # "155 programs, JAX 0.10.2 on cpu"
    created: str
    before: str  # the side before the flip; "" where no two were run
    after: str
    agreement: str
    provenance: tuple[str, ...]
    measured: tuple[str, ...]  # with which versions, where sides ran on several
    counts: str
    notes: tuple[str, ...]
    decision: Decision
    terms: tuple[Term, ...]  # words of the first screen and of the table
    pictures: tuple[Scatter, ...]
    ulps: UlpDistances | None
    sweeps: Sweeps
    table: ProgramsTable
    environment: Table
    programs: tuple[ProgramRow, ...]
    anchors: tuple[str, ...]
    sides: tuple[Side, ...]
    flip: Flip | None

    @property
    def worse(self) -> int:
        """The number of programs that a flip is not safe for, or whose sides are not at parity."""
        return sum(
            (row.flip is not None and row.flip.outcome != "safe") or row.verdict != "parity"
            for row in self.programs
        )

    def sections(self) -> Iterator[WebSection]:
        """Make the section of each program, the worst first."""
        apart = measured.are_apart(self.programs)
        for row, anchor in zip(self.programs, self.anchors, strict=True):
            yield web_section(row, self.sides, self.flip, anchor, apart=apart)


def web_page(campaign: Campaign) -> WebPage:
    """Make the HTML page of a campaign, the programs first that a flip breaks."""
    programs = worst_first(campaign.programs)
    anchors = addresses([row.name for row in programs])
    sides, flip = sides_of(campaign), flip_of(campaign)
    pictures = scatters(programs, anchors, flip) if flip else ()
    table = programs_table(programs, anchors, sides, flip)
    made = decision(campaign, programs, anchors, flip, pictures)
    environment = campaign.environment
    return WebPage(
        title=f"flip: {made.answer}" if made.answer else campaign.verdict,
        facts=f"JAX {environment.jax} on {environment.backend}",
        created=campaign.created,
        before=flip.before if flip else "",
        after=flip.after if flip else "",
        agreement=campaign.headline.agreement,
        provenance=campaign.provenance,
        measured=measured.lines_of(campaign),
        counts=overview.counts(programs),
        notes=overview.left_out(campaign.not_run),
        decision=made,
        terms=terms_of(line.reason for line in table.lines),
        pictures=pictures,
        ulps=ulp_distances(programs, flip) if flip else None,
        sweeps=sweeps_of(campaign, programs, anchors),
        table=table,
        environment=overview.environment_table(campaign.environment),
        programs=tuple(programs),
        anchors=tuple(anchors),
        sides=sides,
        flip=flip,
    )


# What `encodeURIComponent` of JavaScript leaves as it is, beyond what `quote` does.
_UNRESERVED = "!'()*"


def addresses(names: Sequence[str]) -> list[str]:
    """Return the anchor of each program: its name, and a number where others have it too.

    Example::

        >>> addresses(["step", "a step", "step"])
        ['program=step', 'program=a%20step', 'program=step~2']
    """
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        shown = visible(name)
        seen[shown] += 1
        number = f"~{seen[shown]}" if seen[shown] > 1 else ""
        found.append(f"program={quote(shown + number, safe=_UNRESERVED)}")
    return found
