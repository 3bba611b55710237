"""The HTML page of a campaign, whose programs can be sorted, filtered and opened."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from urllib.parse import quote

from markupsafe import Markup

from reports.document import Table
from reports.output import plots
from reports.output.caps import Caps, capped_parts, capped_table
from reports.output.html import FOLDER, LIMIT_BYTES, environment, page_policy, page_style
from reports.rows import Campaign, ProgramRow, Side, worst_first
from reports.views import growth, measured, overview
from reports.views.decision import Decision, decision
from reports.views.flip import Flip, flip_of, sides_of
from reports.views.programs_table import ProgramsTable, programs_table
from reports.views.scatter import Scatter, UlpDistances, scatters, ulp_distances
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
    proof: str  # "" where nothing was numbered
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
        proof=campaign.headline.proof,
        provenance=campaign.provenance,
        measured=measured.lines_of(campaign),
        counts=overview.counts(programs),
        notes=(
            *(f"{line}." for line in growth.lines([("", campaign)])),
            *overview.left_out(campaign.not_run),
        ),
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


# -- written as HTML -------------------------------------------------------------------------------

# The worst programs stand in the page as they are, for readers without scripts.
READABLE_PROGRAMS = 20
READABLE_BYTES = 1024 * 1024
CAPS = Caps(sections=0, rows=60, items=20, text=1000)  # of a program
# The others are packed this many characters at a time: one pack is opened in milliseconds.
PACK_CHARACTERS = 400_000
# Without scripts no button shows the rows that wait.
_PLAIN_STYLE = ".later { display: table-row-group; }"


@dataclass(frozen=True)
class Pack:
    """Sections in a row, by number from 0, as one compressed text."""

    first: int
    count: int
    text: str


@dataclass(frozen=True)
class Sections:
    """The sections that fit: the first as they are, the others packed, the rest left out."""

    readable: tuple[Markup, ...]
    packs: tuple[Pack, ...]
    left_out: int

    @property
    def packed_count(self) -> int:
        """The number of packed sections."""
        return sum(pack.count for pack in self.packs)


def render(campaign: Campaign, limit_bytes: int = LIMIT_BYTES) -> str:
    """Render the campaign as one HTML document of at most about `limit_bytes`.

    It fetches nothing, and its policy allows its own script and style alone. Where programs do not
    fit, the page says how many were left out.
    """
    made = web_page(campaign)
    page = replace(made, environment=capped_table(made.environment, CAPS))
    frame = environment().get_template("report.html")
    script, style = _script(), page_style()
    context = {
        "page": page,
        "title": page.title,
        "pictures": [(each, plots.scatter(each)) for each in page.pictures],
        "sweeps": [(each, plots.sweep(each)) for each in page.sweeps.programs],
        "extra": _packed(_extra(page.table)),
        "script": Markup(script),
        "style": Markup(style),
        "plain_style": Markup(_PLAIN_STYLE),
        "policy": page_policy((style, _PLAIN_STYLE), script),
    }
    alone = frame.render(_with_sections(page, Sections((), (), 0)) | context)
    sections = _sections(page, limit_bytes - len(alone.encode("utf-8")))
    return frame.render(_with_sections(page, sections) | context)


def _with_sections(page: WebPage, sections: Sections) -> dict[str, object]:
    shown = len(page.programs) - sections.left_out
    return {
        "sections": sections.readable,
        "packed": sections.packs,
        "packed_count": sections.packed_count,
        "left_out": sections.left_out,
        "cut_anchors": page.anchors[shown:] if sections.left_out else (),
    }


def _sections(page: WebPage, room: int) -> Sections:
    """Render as many sections as fit into `room` bytes."""
    template = environment().get_template("section.html")
    readable: list[Markup] = []
    packs: list[Pack] = []
    waiting: list[str] = []
    at_first = min(page.worse, READABLE_PROGRAMS)
    used = 0

    def pack() -> bool:
        nonlocal used, waiting
        made = Pack(len(readable) + sum(each.count for each in packs), len(waiting), "")
        text = _packed("".join(waiting))
        waiting = []
        if used + len(text) > room:
            return False
        used += len(text)
        packs.append(Pack(made.first, made.count, text))
        return True

    for index, section in enumerate(map(_capped, page.sections())):
        # The text of a template whose expressions were all escaped.
        text = Markup(template.render(section=section, index=index))
        size = len(text.encode("utf-8"))
        fits = used + size <= min(room, READABLE_BYTES)
        if len(readable) == index < at_first and fits:
            readable.append(text)
            used += size
            continue
        waiting.append(text)
        if sum(map(len, waiting)) >= PACK_CHARACTERS and not pack():
            break
    else:
        if waiting:
            pack()
    shown = len(readable) + sum(each.count for each in packs)
    return Sections(tuple(readable), tuple(packs), len(page.programs) - shown)


def _packed(text: str) -> str:
    """Return `text` as it waits in a page: deflated, and in letters that HTML can hold.

    A browser unpacks it with `DecompressionStream("deflate-raw")`.
    """
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    deflated = compressor.compress(text.encode("utf-8")) + compressor.flush()
    return base64.b64encode(deflated).decode("ascii")


def _capped(section: WebSection) -> WebSection:
    return replace(
        section,
        evidence=capped_parts(section.evidence, CAPS),
        tables=capped_parts(section.tables, CAPS),
    )


def _extra(table: ProgramsTable) -> str:
    """Write the columns on request as JSON, which knows no infinities and no NaN."""
    columns = [(each.key, each.title, each.numeric) for each in table.extra_columns]
    rows = [
        [
            (text, "" if isinstance(sort, float) and not math.isfinite(sort) else sort)
            for text, sort in line
        ]
        for line in table.extra
    ]
    return json.dumps({"columns": columns, "rows": rows}, separators=(",", ":"), allow_nan=False)


@cache
def _script() -> str:
    return (FOLDER / "assets" / "report.js").read_text(encoding="utf-8")
