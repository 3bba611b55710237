"""Take over what a kept result says of programs that have not changed since it was measured.

A program is unchanged where both numbers of each side, its arguments, its hazards and what it was
measured with are those of the kept result. Times are never taken over: a program whose verdict
rests on one runs again, as does one whose verdict tells lines of a file that has changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import reports
from parity_tests.evidence.records import Recorded
from parity_tests.processes.protocol import Listed
from parity_tests.processes.side_runs import run_sides
from parity_tests.run.collection import Collected, Context
from parity_tests.run.folder import setup_of
from parity_tests.run.late_settings import BY_IMPORT, module_of, modules_maybe_late
from parity_tests.run.options import CampaignOptions, side_with_hazards
from parity_tests.run.provenance import differing, other_settings
from parity_tests.targets import digest_of
from reports.rows import Campaign, Environment, Observation, ProgramRow, Side
from reports.views.texts import counted

_KEPT_BY = "constparity run --report json:"
# Options that a verdict depends on, beside the sides and the variables of the environment.
_OPTIONS = ("steady_calls", "fresh", "reload", "flips", "rounds", "attribute")


def settings_of(options: CampaignOptions) -> dict[str, str]:
    """Return the options and variables that verdicts depend on, by name.

    Example::

        settings_of(CampaignOptions(reload=True))["reload"] == "True"
    """
    given = {name: str(getattr(options, name)) for name in _OPTIONS}
    return {**given, **setup_of(options).variables}


def unchanged_since(kept: Path, context: Context) -> dict[str, ProgramRow]:
    """Return the rows that are taken over from a kept result, by the names of their programs.

    Programs are traced, lowered and numbered for it, and neither compiled nor called. What is taken
    over, or why nothing is, is announced. Raises `ReportReadError`.

    Example::

        unchanged_since(Path("result.json"), context)["step"].verdict
    """
    campaign = reports.load_campaign(kept, written_by=_KEPT_BY)
    options, programs = context.options, context.collected.programs
    other = _measured_otherwise(campaign, context.collected.environment, options)
    if other:
        context.announce(f"nothing is taken over from {kept}: {other}")
        return {}
    before = {row.name: row for row in campaign.programs}
    today = sources_of(campaign.programs)
    moved = {
        file for file, digest in today.items() if not digest or digest != campaign.sources.get(file)
    }
    jobs = [
        job for job in context.collected.jobs
        if job.name in before and may_be_taken_over(before[job.name], programs[job.number], moved)
    ]  # fmt: skip
    detects = side_with_hazards(options)
    how = setup_of(options).model_copy(update={"proves": True, "hazards_on": detects})
    folder = context.files.numbers
    records = run_sides(jobs, options.sides, folder, how, progress=context.progress)
    late = modules_maybe_late(jobs, records)
    set_before = _set_by_imports(
        (row.target, each) for row in before.values() for each in row.observations
    )
    targets = {job.number: job.target for job in jobs}
    set_now = _set_by_imports(
        (targets[number], each.observation) for (number, _), each in records.items()
    )
    taken = {}
    for job in jobs:
        sides = {
            side: records[job.number, side]
            for side in options.sides
            if (job.number, side) in records
        }
        row, program = before[job.name], programs[job.number]
        module = module_of(job.target)
        sets_alike = set_before.get(module) == set_now.get(module)
        if module not in late and sets_alike and _is_unchanged(row, sides, detects):
            since = row.taken_from or campaign.created
            taken[job.name] = _taken_over(row, program, moved, since)
    whole = counted(len(programs), "program")
    context.announce(f"{len(taken):,} of {whole} unchanged since {campaign.created} ({kept})")
    return taken


def _set_by_imports(told: Iterable[tuple[str, Observation]]) -> dict[str, set[tuple[Side, str]]]:
    """Return what the import of each module changed for its process on each side.

    The first program of a module in a process tells it.
    """
    found: dict[str, set[tuple[Side, str]]] = {}
    for target, each in told:
        changes = {(each.side, text) for text in each.changed_process if text.startswith(BY_IMPORT)}
        found.setdefault(module_of(target), set()).update(changes)
    return found


def without(collected: Collected, names: Mapping[str, ProgramRow]) -> Collected:
    """Return what was collected without the programs of these names."""
    left = tuple(each for each in collected.programs if each.name not in names)
    return Collected(collected.listing.model_copy(update={"programs": left}))


def with_rows(campaign: Campaign, taken: Mapping[str, ProgramRow], whole: Collected) -> Campaign:
    """Return a campaign with the rows that were taken over, in the order of the programs."""
    rows = {**{row.name: row for row in campaign.programs}, **taken}
    since = ", ".join(sorted({row.taken_from for row in taken.values()}))
    programs = counted(len(rows), "program")
    said = (
        f"the verdicts of {len(taken):,} of {programs} were taken over: they are unchanged since "
        f"{since}; their times were not measured"
    )
    return campaign.model_copy(
        update={
            "programs": tuple(rows[each.name] for each in whole.programs if each.name in rows),
            "sources": sources_of(tuple(rows.values())),
            "provenance": (*campaign.provenance, said) if taken else campaign.provenance,
        }
    )


def sources_of(rows: Sequence[ProgramRow]) -> dict[str, str]:
    """Return the digests of the files whose lines rows tell; "" where a file is not there.

    Example::

        sources_of(campaign.programs) == {"model.py": "9f86d0..."}
    """
    told = dict.fromkeys(file for row in rows for file in _files_told(row))
    return {file: digest_of(Path(file)) for file in told}


def _files_told(row: ProgramRow) -> Iterator[str]:
    arrays = (array.file for each in row.observations for array in each.ledger)
    yield from filter(None, [*(each.file for each in row.drift), *arrays])


def _measured_otherwise(kept: Campaign, environment: Environment, options: CampaignOptions) -> str:
    """Say what a kept result was measured with that is another now; "" where all is the same."""
    if kept.settings is None:
        return "it does not say how it was measured; run once without --only-changed"
    if kept.sides != options.sides:
        return f"its sides are {', '.join(kept.sides)}"
    apart = [
        *differing(kept.environment, environment).values(),
        *other_settings(kept.settings, settings_of(options)),
    ]
    return f"it was measured otherwise: {'; '.join(apart)}" if apart else ""


def may_be_taken_over(
    row: ProgramRow, program: Listed, moved: Collection[str] = frozenset()
) -> bool:
    """Say whether the verdict of a row may be that of an unchanged program.

    Lines of the files that have `moved` are others now, perhaps.

    A program that failed met perhaps a limit, as did a search that found no cause of its drift, and
    one that does not repeat itself had bad luck. One that calls Python back, or a library, reads
    what no number has: a file, a variable of the environment.

    Example::

        may_be_taken_over(row, program)
    """
    if row.flip is None or row.verdict not in ("parity", "agrees here, not proved", "difference"):
        return False
    if any(each.failure or not _is_numbered(each) for each in row.observations):
        return False
    if row.too_late or row.flip.outcome in ("could not compare", "not repeatable"):
        return False
    if any(each.cause == "not attributed" for each in row.drift):
        return False
    told = [each for each in row.flip.reasons if each.kind != "hazard"]
    if any(each.kind == "time" and each.outcome != "safe" for each in told):
        return False
    has_places = row.drift or any(each.where for each in told)
    is_same = bool(row.digest) and row.digest == program.digest
    return not has_places or (is_same and not any(file in moved for file in _files_told(row)))


def _is_numbered(observation: Observation) -> bool:
    found = observation.numbers
    if found is None or not found.is_one_jit or found.calls_may_differ or "" not in found.modules:
        return False
    if not all(each.sha256 for each in observation.arguments):  # nobody knows what they hold
        return False
    # Nobody knows which files and variables these read, nor what a library has under a name.
    if found.modules[""].callbacks or found.jaxpr.is_native:
        return False
    return not (found.tree_undecided or found.jaxpr.undecided or found.modules[""].undecided)


def _is_unchanged(row: ProgramRow, sides: Mapping[Side, Recorded], detects: Side | None) -> bool:
    found = {side: each.observation for side, each in sides.items()}
    if {each.side for each in row.observations} != set(found):
        return False
    if not all(_is_same(each, found[each.side]) for each in row.observations):
        return False
    if detects is None:
        return not row.hazards
    hazards = sides[detects].hazards()
    return not hazards.not_detected and hazards.hazards == row.hazards


def _is_same(kept: Observation, found: Observation) -> bool:
    one, two = kept.numbers, found.numbers
    if one is None or two is None or not _is_numbered(found):
        return False
    return (
        kept.arguments == found.arguments
        and kept.measured_with == found.measured_with
        and one.types == two.types
        and one.tree == two.tree
        and one.placement == two.placement
        and one.jaxpr.digest == two.jaxpr.digest
        and one.modules[""].digest == two.modules[""].digest
    )


def _taken_over(row: ProgramRow, program: Listed, moved: Collection[str], since: str) -> ProgramRow:
    """Return a row without its times, as the program is found now."""
    assert row.flip is not None
    reasons = tuple(each for each in row.flip.reasons if each.kind not in ("time", "gain"))
    return row.model_copy(
        update={
            "source": program.source,
            "target": program.target,
            "digest": program.digest,
            "summary": program.summary,
            "tags": program.tags,
            "observations": tuple(_untimed(each, moved) for each in row.observations),
            "time_samples": (),
            "times": (),
            "flip": row.flip.model_copy(update={"reasons": reasons}),
            "taken_from": since,
        }
    )


def _untimed(observation: Observation, moved: Collection[str]) -> Observation:
    """Return an observation without times; its lines are not known where a file has changed."""
    unknown = {"file": "", "line": 0, "code": ""}
    ledger = tuple(
        each.model_copy(update=unknown) if each.file in moved else each
        for each in observation.ledger
    )
    return observation.model_copy(update={"times": None, "host_memory": None, "ledger": ledger})
