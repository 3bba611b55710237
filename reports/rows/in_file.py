"""The forms that rows take in a file, where nothing is written twice.

Four sides of a program have most of their rows in common, and most comparisons find two equal
values. In memory each row is whole; in a file a pair of sides lists the values that are equal as
`[metric, value]`, and a section of an observation that is the same on a side before it is
`{"same_as": side}`. Reading restores the rows as they were, bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, PlainSerializer, create_model

from reports.rows.comparison import Comparison, ComparisonOutcome, LeafComparison
from reports.rows.observation import Observation
from reports.rows.row import Row, Side

# -- comparisons: grouped by the pair of sides -----------------------------------------------------

Value: TypeAlias = tuple[str, str]  # a metric, and the value that both sides have
# A metric, the values on the left and on the right side, the outcome, and the detail.
Values: TypeAlias = tuple[str, str, str, ComparisonOutcome, str]


class ComparedLeaves(Row):
    """One metric of two sides that compares leaves."""

    metric: str
    outcome: ComparisonOutcome
    left_value: str
    right_value: str
    detail: str = ""
    leaves: tuple[LeafComparison, ...] = ()


Said: TypeAlias = Value | Values | ComparedLeaves


class ComparedPair(Row):
    """All metrics of two sides, in order.

    `like` names a pair before. In `metrics` a number n copies the next n metrics of that pair, and
    -n skips n of them.
    """

    left: Side
    right: Side
    like: tuple[Side, Side] | None = None
    metrics: tuple[int | Said, ...]


def grouped(comparisons: Sequence[Comparison]) -> tuple[ComparedPair, ...]:
    """Group comparisons by neighbours of the same pair of sides.

    Example::

        >>> one = Comparison(metric="const args", left="legacy", right="jax-legacy",
        ...     outcome="equal", left_value="0", right_value="0")
        >>> grouped([one])[0].metrics
        (('const args', '0'),)
    """
    before: dict[tuple[Side, Side], list[str]] = {}
    found = []
    for pair, each in groupby(comparisons, lambda each: (each.left, each.right)):
        said = list(map(_short, each))
        # repr tells -0.0 from 0.0 and takes one NaN for another, which == does not.
        texts = list(map(repr, said))
        like = max(before, key=lambda other: len({*texts} & {*before[other]}), default=None)
        metrics = tuple(_edits(before[like], texts, said)) if like else tuple(said)
        found.append(ComparedPair(left=pair[0], right=pair[1], like=like, metrics=metrics))
        before.setdefault(pair, texts)
    return tuple(found)


def _short(each: Comparison) -> Said:
    if each.leaves:
        rest = {name: getattr(each, name) for name in ComparedLeaves.model_fields}
        return ComparedLeaves.model_construct(**rest)
    if each.outcome == "equal" and each.left_value == each.right_value and not each.detail:
        return each.metric, each.left_value
    return each.metric, each.left_value, each.right_value, each.outcome, each.detail


def _edits(there: Sequence[str], here: Sequence[str], said: Sequence[Said]) -> Iterator[int | Said]:
    """Say what makes the texts `there` those `here`, which stand for what is `said`."""
    for tag, low, high, first, last in SequenceMatcher(None, there, here, False).get_opcodes():
        if tag == "equal":
            yield high - low
            continue
        if high > low:
            yield low - high
        yield from said[first:last]


def _spelled_out(value: Any) -> Any:
    """Return the comparisons of memory as they are, those of a file one by one."""
    if not _is_of_file(value):
        return value
    before: dict[tuple[Side, Side], Sequence[Said]] = {}
    found: list[Comparison] = []
    for each in value:
        pair = ComparedPair.model_validate(each)
        if pair.like is not None and pair.like not in before:
            raise ValueError(f"metrics are as those of {pair.like}, and none of it comes before")
        said = _edited(before[pair.like] if pair.like else (), pair.metrics)
        before.setdefault((pair.left, pair.right), said)
        found += [_whole(pair, one) for one in said]
    return found


def _edited(there: Sequence[Said], metrics: Sequence[int | Said]) -> list[Said]:
    found: list[Said] = []
    at = 0
    for each in metrics:
        if not isinstance(each, int):
            found.append(each)
            continue
        found += there[at : at + each] if each > 0 else ()
        at += abs(each)
    if at != len(there):
        raise ValueError(f"the numbers in metrics count {at} metrics, and there are {len(there)}")
    return found


def _whole(pair: ComparedPair, said: Said) -> Comparison:
    fields: dict[str, Any]
    if isinstance(said, ComparedLeaves):
        fields = {name: getattr(said, name) for name in ComparedLeaves.model_fields}
    elif len(said) == 2:
        metric, value = said
        fields = {"metric": metric, "outcome": "equal", "left_value": value, "right_value": value}
    else:
        names = ("metric", "left_value", "right_value", "outcome", "detail")
        fields = dict(zip(names, said, strict=True))
    # Its fields were validated in the pair, and a large report has a million comparisons.
    return Comparison.model_construct(left=pair.left, right=pair.right, **fields)


def _is_of_file(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


Comparisons = Annotated[
    tuple[Comparison, ...],
    PlainSerializer(grouped, return_type=tuple[ComparedPair, ...]),
    BeforeValidator(_spelled_out, json_schema_input_type=tuple[ComparedPair, ...]),
]

# -- observations: sections of the same content ----------------------------------------------------


class SameAs(Row):
    """A section of an observation that is the same on another side, which is listed before."""

    same_as: Side


_OWN = frozenset({"program", "side", "failure", "times", "host_memory"})  # never the same
SECTIONS = frozenset(Observation.model_fields) - _OWN
_WORTH_A_REFERENCE = 40  # characters of the section

# Observation, with a reference in the place of any section.
StoredObservation: Any = create_model(
    "StoredObservation",
    __base__=Row,
    __doc__="One program on one side; a section may be the same as on a side before.",
    **{
        name: (SameAs | field.annotation if name in SECTIONS else field.annotation, field)
        for name, field in Observation.model_fields.items()
    },  # type: ignore[call-overload]
)


def stored(observations: Sequence[Observation]) -> tuple[Any, ...]:
    """Replace each section that a side before has, too, by a reference to that side."""
    first_with: dict[tuple[str, str], Side] = {}
    sides: set[Side] = set()
    found = []
    for each in observations:
        fields = {name: getattr(each, name) for name in each.model_fields_set}
        for name in fields.keys() & SECTIONS:
            text = repr(fields[name])
            if len(text) < _WORTH_A_REFERENCE:
                continue
            content = name, text
            if content in first_with:
                fields[name] = SameAs(same_as=first_with[content])
            elif each.side not in sides:
                first_with[content] = each.side
        sides.add(each.side)
        found.append(StoredObservation.model_construct(**fields))
    return tuple(found)


def _resolved(value: Any) -> Any:
    """Return observations of memory as they are, those of a file with all of their sections."""
    if not _is_of_file(value):
        return value
    by_side: dict[object, dict[str, Any]] = {}
    found = []
    for each in value:
        whole = {name: _section(name, content, by_side) for name, content in each.items()}
        by_side.setdefault(whole.get("side"), whole)
        found.append(whole)
    return found


def _section(name: str, content: Any, by_side: Mapping[object, Mapping[str, Any]]) -> Any:
    if not isinstance(content, dict) or content.keys() != {"same_as"}:
        return content
    side = content["same_as"]
    if not isinstance(side, str) or name not in by_side.get(side, {}):
        raise ValueError(f"{name} is the same as on {side!r}, and no {name} of it comes before")
    return by_side[side][name]


Observations = Annotated[
    tuple[Observation, ...],
    PlainSerializer(stored, return_type=tuple[StoredObservation, ...]),
    BeforeValidator(_resolved, json_schema_input_type=tuple[StoredObservation, ...]),
]
