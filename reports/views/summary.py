"""A campaign in few words: what breaks, what costs, and everything else as counts.

Comments and step summaries begin with it. It is made to a size: `Caps` says how many groups and
programs are named, and what is not named is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reports.rows import Campaign, Environment, answer_of
from reports.views.causes import QUIET, Cause, Standing, listed, of_pipelines, standings
from reports.views.cells import Tone
from reports.views.program import MARKS
from reports.views.terms import Term, terms_of
from reports.views.texts import cut

_FACTS_LENGTH = 300
_MOST_LINES = 5


@dataclass(frozen=True)
class Caps:
    """How many groups of a state, and programs of a group, are named; and how long a text is."""

    groups: int
    members: int
    text: int


@dataclass(frozen=True)
class Group:
    """Programs of one cause: their number, where, what was seen, and what helps."""

    count: str
    where: str
    symptom: str
    action: str
    members: tuple[tuple[str, str, str], ...]  # name, source and finding of each that is named
    more: str  # counts the others; "" where there are none


@dataclass(frozen=True)
class Block:
    """All programs of one state that need attention, the largest group first."""

    title: str
    tone: Tone
    groups: tuple[Group, ...]
    more: str


@dataclass(frozen=True)
class Summary:
    """What a reader decides from; `unnamed` is how many programs of `blocks` have no name here."""

    title: str
    lines: tuple[str, ...]  # the headline
    measured: str
    blocks: tuple[Block, ...]
    rest: tuple[str, ...]  # one line for each count
    terms: tuple[Term, ...]  # words of the blocks, with their meanings
    unnamed: int


def summary(campaign: Campaign, caps: Caps) -> Summary:
    """Sum a campaign up, within `caps`.

    Example::

        summary(campaign, Caps(groups=5, members=3, text=200)).title == "flip: no"
    """
    total = len(campaign.programs)
    found = standings(campaign)
    blocks = [
        _block(f"{each.title} {each.count:,} of {_programs(total)}", each.tone, each.causes, caps)
        for each in found
        if each.causes
    ]
    if ours := of_pipelines(campaign):
        count = sum(len(each.members) for each in ours)
        title = f"constparity's own pipelines differ from stock JAX in {_programs(count)}"
        blocks.append(_block(f"{title}, counted above as well", "bad", ours, caps))
    named = sum(len(group.members) for block in blocks for group in block.groups)
    members = sum(len(each.members) for one in found for each in one.causes)
    members += sum(len(each.members) for each in ours)
    headline = campaign.headline
    return Summary(
        title=_title(campaign),
        lines=tuple(
            cut(line, 2 * caps.text)
            for line in (headline.question, headline.agreement, *campaign.provenance[:_MOST_LINES])
        ),
        measured=f"{_with(campaign.environment)}; {campaign.created}",
        blocks=tuple(blocks),
        rest=_rest(campaign, found),
        terms=terms_of(
            what for block in blocks for group in block.groups for _, _, what in group.members
        ),
        unnamed=members - named,
    )


def _title(campaign: Campaign) -> str:
    if campaign.headline.flip is not None:
        return f"flip: {campaign.headline.flip}"
    return f"{MARKS[campaign.verdict][0]} {campaign.verdict}"


def _with(environment: Environment) -> str:
    e = environment
    return cut(
        f"constparity {e.constparity} on jax {e.jax}, jaxlib {e.jaxlib}, Python {e.python}; "
        f"{e.device_count} x {e.device_kind} ({e.backend}), {e.system}",
        _FACTS_LENGTH,
    )


def _block(title: str, tone: Tone, causes: Sequence[Cause], caps: Caps) -> Block:
    shown = causes[: caps.groups]
    left = causes[caps.groups :]
    members = sum(len(each.members) for each in left)
    more = f"and {members:,} more, in {len(left):,} smaller groups" if left else ""
    return Block(title, tone, tuple(_group(each, caps) for each in shown), more)


def _group(cause: Cause, caps: Caps) -> Group:
    shown = cause.members[: caps.members]
    more = len(cause.members) - len(shown)
    return Group(
        count=_programs(len(cause.members)),
        where=cut(listed(cause.places, 2, "lines"), caps.text),
        symptom=cut(listed(cause.symptoms, 2, "findings"), caps.text),
        action=cut(cause.action, caps.text),
        members=tuple(
            (cut(each.name, caps.text), cut(each.source, caps.text), cut(each.what, caps.text))
            for each in shown
        ),
        more=f"and {more:,} more" if more else "",
    )


def _rest(campaign: Campaign, found: Sequence[Standing]) -> tuple[str, ...]:
    """Count the programs that need no attention, and those that were not run."""
    total = len(campaign.programs)
    lines = [
        f"{each.title} {each.count:,} of {_programs(total)}"
        for each in found
        if each.state in QUIET
    ]
    # A verdict may find something that a flip does not touch, as between stock JAX and ours.
    others = Counter(
        row.verdict
        for row in campaign.programs
        if answer_of(row.flip) == "yes" and row.verdict != "parity"
    )
    lines += [f"Of these, {count:,} have the verdict: {each}" for each, count in others.items()]
    if not total:
        lines.append("No program was run")
    if campaign.not_run:
        lines.append(
            f"Not run, for the campaign stopped at its first finding: "
            f"{_programs(len(campaign.not_run))}"
        )
    return tuple(lines)


def _programs(count: int) -> str:
    return f"{count:,} program{'' if count == 1 else 's'}"
