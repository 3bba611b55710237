"""The rules of `--fail-on`: for which findings the process exits with a failure, and JUnit has one.

A rule is a word, and after a colon its limit or its subject: "different", "slower:20%",
"hazard:donated". The rules read the reasons of the verdicts, and judge nothing themselves. The rule
"version-change" is about a grid: it reads what was judged across its versions.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from reports.rows.campaign import Campaign
from reports.rows.claims import ANSWERS, Answer, answer_of
from reports.rows.flip import FlipReason, HazardKind
from reports.rows.grid import Grid
from reports.rows.grid_row import CellState, GridRow, VersionChange
from reports.rows.headline import agreement_of
from reports.rows.program_row import ProgramRow
from reports.rows.proofs import ProgramProof, Proofs
from reports.rows.row import SIDES

RuleName = Literal[
    "different",
    "placement",
    "new-failure",
    "not-compared",
    "drift",
    "slower",
    "larger",
    "hazard",
    "not-proved",
    "version-change",
]
RULE_NAMES: tuple[RuleName, ...] = get_args(RuleName)
# A rule that says that something could not be judged has an exit status of its own.
Status = Literal["difference", "could not compare"]

# With "placement": a result that is committed may make later code fail, for "incompatible devices".
# Without "version-change": what a release changes in both modes says nothing of the flip. A program
# that it makes fail cannot be compared, and breaks a rule all the same.
DEFAULT = "different,placement,new-failure,not-compared,not-proved:parted,not-proved:undecided"
# With "hazard", placement among them: nothing has shown that a proved program does not break by it.
DEFAULT_OF_PROOFS = "different,new-failure,not-compared,hazard"

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(%|x)")


class FailRuleError(ValueError):
    """A rule is written wrongly; the message names it and says how it is written."""


@dataclass(frozen=True)
class FailRule:
    """One rule: `limit` is the largest ratio that passes.

    `subject` is a word of a hazard's kind, an answer of a proof, or the side that a change of
    version is looked for on.
    """

    text: str
    name: RuleName
    limit: float = 1.0
    subject: str = ""

    @property
    def status(self) -> Status:
        """What the process exits with where the rule is broken."""
        is_unknown = self.name == "not-compared" or self._is_open
        return "could not compare" if is_unknown else "difference"

    @property
    def status_of_proof(self) -> Status:
        """What `constparity prove` exits with: what may break is not known to."""
        is_known = self.name in ("different", "new-failure") or self.subject == "refuted"
        return "difference" if is_known else "could not compare"

    @property
    def _is_open(self) -> bool:
        return self.name == "not-proved" and self.subject != "refuted"

    def is_broken_by(self, row: ProgramRow | ProgramProof) -> bool:
        """Say whether a program breaks the rule. Nothing is measured of one that is proved."""
        if isinstance(row, ProgramProof):
            return self.name in _BROKEN_BY_PROOF and _BROKEN_BY_PROOF[self.name](self, row)
        return _BROKEN[self.name](self, row)


@dataclass(frozen=True)
class Broken:
    """A rule that programs broke, by their names, and what that comes to."""

    rule: FailRule
    programs: tuple[str, ...]
    status: Status


def parse(text: str) -> tuple[FailRule, ...]:
    """Read rules that commas separate. Raises `FailRuleError`.

    Example::

        parse("different,slower:20%")[1].limit == 1.2
    """
    return tuple(_rule(each.strip()) for each in text.split(",") if each.strip())


def broken(result: Campaign | Proofs, rules: Sequence[FailRule]) -> list[Broken]:
    """Return the rules that programs of a result break, in their order."""
    of_proofs = isinstance(result, Proofs)
    found = [
        Broken(
            rule,
            tuple(row.name for row in result.programs if rule.is_broken_by(row)),
            rule.status_of_proof if of_proofs else rule.status,
        )
        for rule in rules
    ]
    return [each for each in found if each.programs]


def of_proofs(rules: Sequence[FailRule]) -> tuple[FailRule, ...]:
    """Return the rules that proofs can break; others are about what a run measures."""
    return tuple(each for each in rules if each.name in _BROKEN_BY_PROOF)


def check_of_proofs(rules: Sequence[FailRule]) -> None:
    """Make sure that proofs can break each rule. Raises `FailRuleError` for one on measurements."""
    for each in rules:
        if each not in of_proofs(rules):
            raise FailRuleError(
                f"{each.text!r} is about what a run measures, and nothing is run; the rules of "
                f"proofs are {', '.join(_BROKEN_BY_PROOF)}"
            )


def _rule(text: str) -> FailRule:
    name, colon, rest = text.partition(":")
    known = next((each for each in RULE_NAMES if each == name), None)
    if known is None:
        close = difflib.get_close_matches(name, RULE_NAMES, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise FailRuleError(f"no rule {name!r}{hint}; the rules are {', '.join(RULE_NAMES)}")
    if colon and known in ("slower", "larger"):
        return FailRule(text, known, limit=_limit(text, rest))
    if colon and known == "hazard":
        return FailRule(text, known, subject=_subject(text, rest))
    if colon and known == "not-proved":
        answers = [each for each in ANSWERS if each != "proved"]
        return FailRule(text, known, subject=_named(text, rest, "answer", answers))
    if colon and known == "version-change":
        return FailRule(text, known, subject=_named(text, rest, "side", SIDES))
    if colon:
        raise FailRuleError(f"the rule {known!r} takes nothing after a colon, got {text!r}")
    return FailRule(text, known)


def _limit(text: str, rest: str) -> float:
    number = _NUMBER.fullmatch(rest)
    if number is None:
        raise FailRuleError(
            f"{text!r} has no limit that can be read: write slower:20% or larger:2x"
        )
    value, unit = float(number[1]), number[2]
    limit = 1 + value / 100 if unit == "%" else value
    if limit < 1:
        raise FailRuleError(f"{text!r} has a limit below 1x, which every program exceeds")
    return limit


def _subject(text: str, rest: str) -> str:
    kinds = get_args(HazardKind)
    if not rest or not any(rest.lower() in kind.lower() for kind in kinds):
        raise FailRuleError(f"{text!r} names no hazard; the hazards are {', '.join(kinds)}")
    return rest.lower()


def _named(text: str, rest: str, what: str, names: Sequence[str]) -> str:
    if rest not in names:
        raise FailRuleError(f"{text!r} names no {what}; the {what}s are {', '.join(names)}")
    return rest


# -- what breaks each rule -------------------------------------------------------------------------


def _reasons(row: ProgramRow) -> tuple[FlipReason, ...]:
    return row.flip.reasons if row.flip else ()


def _differs(rule: FailRule, row: ProgramRow) -> bool:
    # Where a flip was judged it says what a difference across it comes to: it may be a price.
    differs = row.flip is None and row.verdict == "difference"
    reasons = (each.outcome == "different" and each.kind != "failure" for each in _reasons(row))
    return agreement_of(row) == "differ" or differs or any(reasons)


def _is_not_compared(rule: FailRule, row: ProgramRow) -> bool:
    if row.proved_only:  # as the campaign asks
        return False
    unknown = ("could not compare", "not repeatable")
    # A program that a flip breaks is judged, though it left no outputs to compare.
    judged = row.flip is not None and row.flip.outcome == "different"
    of_flip = row.flip is not None and row.flip.outcome in unknown
    return of_flip or (row.verdict in unknown and not judged)


def _is_larger(rule: FailRule, row: ProgramRow) -> bool:
    # What was nothing before has no ratio, and is larger than any limit.
    return any(
        each.kind == "size" and (each.ratio is None or each.ratio > rule.limit)
        for each in _reasons(row)
    )


def _is_not_proved(rule: FailRule, row: ProgramRow) -> bool:
    claims = row.flip.claims if row.flip else ()
    return _is_answer(rule, answer_of(claims) if claims else "failed")


def _is_answer(rule: FailRule, answer: Answer) -> bool:
    return answer == rule.subject if rule.subject else answer != "proved"


_BROKEN: dict[RuleName, Callable[[FailRule, ProgramRow], bool]] = {
    "different": _differs,
    "placement": lambda rule, row: any(
        each.outcome == "placed otherwise" for each in _reasons(row)
    ),
    "new-failure": lambda rule, row: any(
        each.outcome == "different" and each.kind == "failure" for each in _reasons(row)
    ),
    "not-compared": _is_not_compared,
    "drift": lambda rule, row: any(
        each.outcome == "numerics drift, explained" for each in _reasons(row)
    ),
    "slower": lambda rule, row: any(
        each.kind == "time" and (each.ratio or 0) > rule.limit for each in _reasons(row)
    ),
    "larger": _is_larger,
    "hazard": lambda rule, row: any(rule.subject in each.kind.lower() for each in row.hazards),
    "not-proved": _is_not_proved,
    "version-change": lambda rule, row: False,  # a campaign has one version
}


# -- what breaks each rule, of proofs --------------------------------------------------------------


def _may_break(rule: FailRule, proof: ProgramProof) -> bool:
    # What XLA folds breaks nothing, so it has to be named.
    hazards = (*proof.hazards, *proof.folded) if rule.subject else proof.hazards
    return any(rule.subject in each.kind.lower() for each in hazards)


_BROKEN_BY_PROOF: dict[RuleName, Callable[[FailRule, ProgramProof], bool]] = {
    "different": lambda rule, proof: proof.answer == "refuted" and not proof.failure,
    "placement": lambda rule, proof: any(
        each.kind == "placement of outputs" for each in proof.hazards
    ),
    "new-failure": lambda rule, proof: proof.answer == "refuted" and bool(proof.failure),
    "not-compared": lambda rule, proof: (
        proof.answer not in ("proved", "refuted") or bool(proof.reservations)
    ),
    "hazard": _may_break,
    "not-proved": lambda rule, proof: _is_answer(rule, proof.answer),
}


DEFAULT_RULES, DEFAULT_RULES_OF_PROOFS = parse(DEFAULT), parse(DEFAULT_OF_PROOFS)


# -- the rule on versions -------------------------------------------------------------------------

# What a user of the side would see who goes from one version to the other. A failure that is gone
# and outputs that are equal within the tolerance are none.
_CHANGED = ("different", "new failure", "another failure", "slower")
_RAN: tuple[CellState, ...] = ("judged", "not asked")


def of_versions(rules: Sequence[FailRule]) -> tuple[FailRule, ...]:
    """Return the rules that a grid breaks as a whole, and none of its campaigns."""
    return tuple(rule for rule in rules if rule.name == "version-change")


def broken_across(grid: Grid, rules: Sequence[FailRule]) -> list[Broken]:
    """Return the rules that programs break from version to version.

    A program that could not be compared there comes to "could not compare", also where it is not
    there on a version, or cannot be loaded, and ran on one before.

    Example::

        [each.programs for each in broken_across(grid, parse("version-change"))] == [("step",)]
    """
    return [
        Broken(rule, names, status)
        for rule in of_versions(rules)
        for status, names in _by_status(grid, rule)
        if names
    ]


def compares_nothing(grid: Grid, rule: FailRule) -> bool:
    """Say whether no program was compared across versions, so that nothing can break the rule."""
    return not _changes(grid, rule)


def changes_that_break(grid: Grid, rule: FailRule, program: str) -> list[VersionChange]:
    """Return what changed for a program that breaks a rule, or could not be compared."""
    return [
        each
        for each in _changes(grid, rule)
        if each.program == program and each.news in (*_CHANGED, "not compared")
    ]


def _by_status(grid: Grid, rule: FailRule) -> Iterator[tuple[Status, tuple[str, ...]]]:
    found = _changes(grid, rule)
    changed = [each.program for each in found if each.news in _CHANGED]
    unknown = [each.program for each in found if each.outcome == "not compared"]
    lost = [row.name for row in grid.programs if _is_lost(row)]
    yield "difference", tuple(dict.fromkeys(changed))
    yield "could not compare", tuple(dict.fromkeys([*unknown, *lost]))


def _changes(grid: Grid, rule: FailRule) -> list[VersionChange]:
    return [each for each in grid.changes if rule.subject in ("", each.side)]


def _is_lost(row: GridRow) -> bool:
    """Say whether a program is not there on a version, or not loaded, and ran on one before it."""
    states = [cell.state for cell in row.cells]
    return any(
        state in ("not there", "not loaded") and any(before in _RAN for before in states[:number])
        for number, state in enumerate(states)
    )
