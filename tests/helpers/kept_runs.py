"""Runs of programs made by hand, kept in a store."""

import built_grids as built

from reports.rows import Campaign
from reports.rows.history import Commit, RunBegin
from reports.store import writing


def campaign(*programs):
    """The result of a run of programs."""
    return Campaign(
        created="2026-11-01T10:00:00+00:00",
        environment=built.ENVIRONMENT,
        sides=built.STOCK,
        programs=programs,
    )


def keep(path, *programs, finished=True, machine="here", commit="c0ffee0123456789"):
    """Keep a run of programs in a store; return its result."""
    result = campaign(*programs)
    begin = RunBegin(
        result.created,
        result.environment,
        result.sides,
        machine=machine,
        commit=Commit(commit, "2026-11-01"),
        planned=tuple(row.name for row in programs),
    )
    with writing.begun(path, begin) as writer:
        for place, row in enumerate(programs):
            writer.put(place, row)
        if finished:
            writer.finish(result, {row.name: n for n, row in enumerate(programs)})
    return result
