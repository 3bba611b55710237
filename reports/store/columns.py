"""The columns of a store: what is read off the row of a program when it is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from reports.rows import Campaign, Observation, ProgramRow, metrics
from reports.rows.history import KEY_METRICS, StoredProgram, StoredRun, StoredSide


def program_of(row: ProgramRow, *, is_final: bool = True) -> StoredProgram:
    """Return what lists, comparisons and trends need of a row.

    Example::

        program_of(row).sides["legacy"].figures["const args"]
    """
    reasons = row.flip.reasons if row.flip else ()
    return StoredProgram(
        name=storable(row.name),
        source=storable(row.source),
        digest=row.digest,
        verdict=row.verdict,
        flip=row.flip.outcome if row.flip else None,
        reason=storable(reasons[0].what if reasons else next(iter(row.reasons), "")),
        reasons=tuple(
            dict.fromkeys(
                (each.outcome, storable(f"{each.kind} {each.subject}".strip()))
                for each in reasons
                if each.outcome != "safe"
            )
        ),
        sides={each.side: _side(each) for each in row.observations},
        is_final=is_final,
        samples=row.time_samples,
    )


def _side(observation: Observation) -> StoredSide:
    if (failure := observation.failure) is not None:
        return StoredSide(failure=storable(f"{failure.kind} in {failure.stage} ({failure.type})"))
    values = {name: metrics.metric(name).read(observation) for name in KEY_METRICS.values()}
    figures = {name: value for name, value in values.items() if value is not None}
    leaves = observation.outputs
    return StoredSide(
        outputs=_digest([(each.path, each.sha256) for each in leaves]),
        output_types=_digest(
            [(each.path, each.shape, each.dtype, each.weak_type) for each in leaves]
        ),
        figures=figures,
    )


def _digest(leaves: Sequence[object]) -> str:
    """Return a digest of what the leaves are; "" where there are none."""
    text = repr(leaves).encode("utf-8", "backslashreplace")
    return hashlib.sha256(text).hexdigest()[:16] if leaves else ""


def column_of(metric: str) -> str:
    """Return the column that has a key metric.

    Example::

        >>> column_of("StableHLO bytes")
        'stablehlo_bytes'
    """
    return metric.lower().replace(" ", "_")


def storable(text: str) -> str:
    """Return text that is Unicode: halves of characters, as of file names, are spelled out.

    The JSON of the row has them as they are.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def run_of_file(file: str, campaign: Campaign) -> StoredRun:
    """Return the run that a JSON report is of; a report does not name its machine or its commit.

    Example::

        run_of_file("A.json", campaign).label == "A.json"
    """
    return StoredRun(
        id=None,
        started=campaign.created,
        finished=campaign.created,
        schema_version=campaign.schema_version,
        environment=campaign.environment,
        sides=campaign.sides,
        machine="",
        commit=None,
        settings=None,
        programs=len(campaign.programs),
        planned=len(campaign.programs),
        file=file,
    )
