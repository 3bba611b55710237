"""The columns of a store: what is read off the row of a program when it is stored."""

from __future__ import annotations

import hashlib

from reports.rows import Observation, ProgramRow, metrics
from reports.rows.history import KEY_METRICS, StoredProgram, StoredSide


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
        breaks=tuple(
            dict.fromkeys(
                storable(f"{each.kind} {each.subject}".strip())
                for each in reasons
                if each.outcome == "different"
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
    return StoredSide(outputs=_digest(observation), figures=figures)


def _digest(observation: Observation) -> str:
    """Return a digest of the output bits and their types; "" where there are none."""
    if not observation.outputs:
        return ""
    leaves = [
        (each.path, each.shape, each.dtype, each.weak_type, each.sha256)
        for each in observation.outputs
    ]
    return hashlib.sha256(repr(leaves).encode("utf-8", "backslashreplace")).hexdigest()[:16]


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
