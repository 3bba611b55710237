"""The records of `constparity prove`: whether both forms of each program are one computation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from reports.rows.claims import ANSWERS, Answer, Claim, Evaluated
from reports.rows.flip import Hazard
from reports.rows.program_row import Environment
from reports.rows.row import Row, Side


class ProgramProof(Row):
    """What is claimed of the forms of one program, and what may still break by its contract.

    One with reservations is proved in part: nothing is known to break.
    """

    answer: Answer
    claims: tuple[Claim, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    folded: tuple[Hazard, ...] = ()  # work on captured arrays alone, which legacy does in XLA
    reservations: tuple[str, ...] = ()  # what else the claims do not cover, each in a sentence
    failure: str = ""

    @property
    def may_break(self) -> bool:
        """Whether the flip may break the program, by its contract or by what is not proved."""
        return bool(self.hazards or self.reservations)

    def merged(self, other: ProgramProof) -> ProgramProof:
        """Return the worse of two proofs of one program, with what may break by either."""
        worse = min(self, other, key=lambda each: ANSWERS.index(each.answer))
        both = {
            name: tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name))))
            for name in ("hazards", "folded", "reservations")
        }
        return worse.model_copy(update=both)


def headline_of(proofs: Sequence[ProgramProof]) -> str:
    """Return the answer on programs in one line.

    For another platform a program is lowered as it is traced here: `prove` has no device of it.

    Example::

        headline_of(proofs) == "proof: 144 of 155 programs proved; 12 of these may still break"
    """
    proved = [each for each in proofs if each.answer == "proved"]
    by_jaxprs = sum(
        any(claim.of == "module" and claim.answer != "proved" for claim in each.claims)
        for each in proved
    )
    doubted = sum(bool(each.hazards) for each in proved)
    in_part = sum(bool(each.reservations) for each in proved)
    folding = sum(bool(each.folded) for each in proved)
    claimed = dict.fromkeys(claim.platform for each in proofs for claim in each.claims)
    platforms = " and ".join(filter(None, claimed))
    where = f" for {platforms}, as traced here" if platforms else ""
    parts = [f"proof: {len(proved):,} of {len(proofs):,} programs proved{where}"]
    if by_jaxprs:
        parts.append(f"{by_jaxprs:,} of these by jaxprs alone")
    if doubted:
        parts.append(f"{doubted:,} of these may still break")
    if in_part:
        parts.append(f"{in_part:,} of these in part")
    if folding:
        parts.append(f"XLA folds constants of {folding:,}, so their bits may differ")
    return "; ".join(parts)


class ProvedProgram(ProgramProof):
    """One program of a target. `captured` counts captured arrays above the embed threshold."""

    name: str
    target: str
    source: str
    captured: int = 0
    traceback: str = ""  # of its failure


class Proofs(Row):
    """Proofs of programs: each form was traced and lowered in a process of its own."""

    kind: Literal["proofs"] = "proofs"
    schema_version: int = 1
    created: str
    environment: Environment
    sides: tuple[Side, Side]  # before the flip, and after it
    programs: tuple[ProvedProgram, ...]

    @property
    def headline(self) -> str:
        """The answer in one line."""
        return headline_of(self.programs)


# The two numberings check each other. Placement stands in a module, and not in a jaxpr.
CONTRADICTION = (
    "its jaxprs are proved and its modules differ: a captured array has a sharding or a memory "
    "kind of its own, or JAX lowers one jaxpr in two ways, or constparity is wrong; report it "
    "where it is not the first"
)


def contradict(claims: Sequence[Claim]) -> bool:
    """Say whether the jaxprs of a program are proved, and its modules are shown to be two.

    Example::

        contradict(row.claims)
    """
    is_proved = any(c.of == "jaxpr" and c.decides and c.answer == "proved" for c in claims)
    return is_proved and any(c.of == "module" and c.answer in ("parted", "refuted") for c in claims)


def reasons_of(program: ProgramProof, told: set[tuple[str, ...]] | None = None) -> Iterator[str]:
    """Yield a sentence for each reason why a program is not proved, or may break all the same.

    `told` has the hazards that stand in full above, and takes those that it yields: programs of one
    module often share one.
    """
    if program.failure:
        yield program.failure
    for claim in program.claims:
        if claim.answer != "proved":
            of = f"{claim.of} for {claim.platform}" if claim.platform else claim.of
            yield f"{of}: {claim.answer}: {reason_of(claim)}"
        if claim.evaluated is not None:
            yield f"{of}: {evaluated_to(claim.evaluated)}"
    if contradict(program.claims):
        yield CONTRADICTION
    for fold in program.folded:
        where = f" ({fold.file}:{fold.line})" if fold.file else ""
        yield f"XLA folds {fold.gist} before the flip alone, so bits may differ{where}"
    alike: dict[tuple[str, str, str], list[str]] = {}
    for hazard in program.hazards:
        where = f"{hazard.file}:{hazard.line}" if hazard.file else ""
        alike.setdefault((hazard.kind, hazard.what, hazard.fix), []).append(where)
    for (kind, what, fix), places in alike.items():
        where = ", ".join(each for each in dict.fromkeys(places) if each)
        is_told = told is not None and (kind, what, fix) in told
        said = "as above" if is_told else f"{what}; {fix}"
        yield f"{kind}: {said}" + (f" ({where})" if where else "")
        if told is not None:
            told.add((kind, what, fix))
    yield from program.reservations


def reason_of(claim: Claim, *, with_line: bool = True) -> str:
    """Say why a claim is not proved, with the place where the forms part and its line."""
    place = claim.place
    if place is None:
        return claim.reason
    where = f"{place.file}:{place.line}: " if place.file and with_line else ""
    before, after = place.before or "nothing in its place", place.after or "nothing in its place"
    return f"{where}{before} before the flip, {after} after it"


def evaluated_to(found: Evaluated) -> str:
    """Say what the reference interpreter made of both modules, or why it made nothing of them."""
    if other := found.other:
        index = f"[{', '.join(map(str, other.index))}] of " if other.index else ""
        more = f", the first of {other.elements:,} that differ" if other.elements > 1 else ""
        return (
            f"the reference interpreter gives other bits on {other.inputs}: {other.before} before "
            f"the flip and {other.after} after it, at {index}result{other.result}{more}"
        )
    said = []
    if found.equal_on:
        s = "" if len(found.equal_on) == 1 else "s"
        inputs = f"{len(found.equal_on):,} input{s} ({', '.join(found.equal_on)})"
        said.append(
            "the reference interpreter gives the same bits, up to NaNs and signs of zeros, on "
            f"{inputs}; this proves nothing of others"
        )
    if found.why_not:
        said.append(f"not evaluated{' on more' if said else ''}: {found.why_not}")
    return "; ".join(said)
