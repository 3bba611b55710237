"""The reasons of a verdict, each finding once: four pairs of sides may say one thing four times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import get_args

from parity_tests.exception_texts import without_ids
from parity_tests.judge.chance import in_words
from reports.rows import FlipVerdict, Side
from reports.rows.check_names import AS_WRITTEN

_SIDES = get_args(Side)
_METRICS = ("outputs differ: ", "outputs are equal, though not bitwise: ", f"{AS_WRITTEN}: ")
_LINE = re.compile(r" \([^()\s]+:\d+\)$")
# The first figure of a finding: what is before it names the finding, what follows measures it.
_FIGURES = ": max rel "


def told_once(
    reasons: Sequence[str], flip: FlipVerdict | None, *, in_full: bool = False
) -> Iterator[str]:
    """Join the reasons of a verdict that have one finding, and shorten what the flip verdict said.

    A finding is that of its first pair; the others follow with their largest figure. With
    `in_full`, only reasons are joined that are alike to the last figure. Addresses of objects tell
    no two findings apart.

    Example::

        list(told_once(["legacy: it raised", "simplified: it raised"], None)) == [
            "legacy: it raised; likewise simplified"
        ]
    """
    said = without_ids("\n".join(map(in_words, flip.reasons))) if flip else ""
    by_flip = {flip.left, flip.right, f"{flip.left} and {flip.right}"} if flip else set()
    groups: dict[str, list[tuple[str, str]]] = {}
    for reason in reasons:
        sides, text = _of_sides(reason)
        finding = without_ids(text) if in_full else _finding(text)
        groups.setdefault(finding, []).append((sides, text))
    for found in groups.values():
        (sides, text), *others = found
        if _alone(_finding(text)) in said:
            also = [each for each in found if each[0] and each[0] not in by_flip]
            if also:
                yield f"{text.partition(':')[0]}: likewise {_listed(also, text)}"
            continue
        likewise = f"; likewise {_listed(others, text)}" if others else ""
        yield f"{sides}: {text}{likewise}" if sides else text


def _of_sides(reason: str) -> tuple[str, str]:
    """Split a reason into the sides that it is about, "" where it names none, and the rest."""
    sides, colon, rest = reason.partition(": ")
    if colon and all(each in _SIDES for each in sides.split(" and ")):
        return sides, rest
    return "", reason


def _finding(text: str) -> str:
    if text.startswith("printed jaxpr: "):
        return "printed jaxpr"
    return without_ids(text.partition(_FIGURES)[0])


def _alone(finding: str) -> str:
    """Return a finding without its metric and its line, which the flip verdict says elsewhere."""
    finding = _LINE.sub("", finding)
    for beginning in _METRICS:
        finding = finding.removeprefix(beginning)
    return finding


def _listed(found: Sequence[tuple[str, str]], first: str) -> str:
    """Name the sides of reasons, each with its largest figure where it is not that of the first."""
    return ", ".join(
        f"{sides} (max rel {figure})" if (figure := _figure(text)) != _figure(first) else sides
        for sides, text in found
    )


def _figure(text: str) -> str:
    return text.partition(_FIGURES)[2].partition(",")[0]
