"""Trends: the values of one metric over the runs of a store.

Points are joined only where one machine measured them with the same settings and versions, unless
the versions of JAX are what is asked for. A sum is over programs that all of its runs have, for a
sum over other programs would move by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from packaging.version import InvalidVersion, Version

from reports.rows import ANSWER_OF, FLIP_ANSWERS, SIDES
from reports.rows.history import KEY_METRICS, StoredRun, Trend, TrendLine, TrendPoint
from reports.rows.metrics import metric as metric_of
from reports.store.columns import column_of
from reports.store.database import opened_for_reading, store_error
from reports.store.reading import list_runs
from reports.views.texts import counted

Over = Literal["commit", "jax"]
FLIP = "flip"
METRICS = (FLIP, *KEY_METRICS)
_VERSIONS = ("jax", "jaxlib", "python", "numpy", "constparity")

# The values of runs: by the number of the run, the name of the line, and the program.
_Values = Mapping[int, Mapping[str, Mapping[str, float]]]


def trend(
    path: Path,
    metric: str = FLIP,
    *,
    program: str = "",
    over: Over = "commit",
    last: int | None = None,
) -> Trend:
    """Return the values of a metric over the last runs: of one program, or summed over programs.

    The metric "flip" counts the programs by what a flip comes to for them. Over "jax" there is a
    point for each version, of the last run on it. Raises `StoreError`.
    """
    every = list_runs(path)
    ended = [run for run in every if run.finished]
    runs = ended[-last:] if last else ended
    notes = []
    if len(every) > len(ended):
        notes.append(f"left out: {counted(len(every) - len(ended), 'run')} without an end")
    values = _values(path, runs, metric, program)
    if program and not any(values.values()):
        what_to_do = "name a program as a report names it"
        raise store_error(path, f"its runs have no {metric} of a program {program!r}", what_to_do)
    lines: list[TrendLine] = []
    for machine, of_machine in _grouped(runs, _machine).items():
        last_of_each = {run.environment.jax: run for run in of_machine}.values()
        chosen = _in_order(last_of_each, over) if over == "jax" else of_machine
        kept, told = (chosen, []) if program else _complete(chosen)
        lines += _lines(kept, values, str(machine), over, is_flip=metric == FLIP)
        notes += told
        if not program:
            notes += (_counts if metric == FLIP else _sums)(kept, values, str(machine))
    title = "programs by what a flip comes to" if metric == FLIP else KEY_METRICS[metric]
    return Trend(
        title=f"{title}, {program or 'all programs'}",
        unit="programs" if metric == FLIP else metric_of(KEY_METRICS[metric]).unit,
        lines=tuple(lines),
        order=tuple(run.id for run in _in_order(runs, over) if run.id is not None),
        notes=tuple(notes),
    )


# -- what the tables have --------------------------------------------------------------------------


def _values(path: Path, runs: Sequence[StoredRun], metric: str, program: str) -> _Values:
    if metric == FLIP:
        query = "SELECT run, flip, name, 1.0 FROM programs WHERE flip IS NOT NULL"
    else:
        column = column_of(KEY_METRICS[metric])
        query = (
            f"SELECT run, side, name, {column} FROM programs JOIN sides USING (run, place) "
            f"WHERE {column} IS NOT NULL"
        )
    query += " AND name = ?" if program else ""
    found: dict[int, dict[str, dict[str, float]]] = {}
    with opened_for_reading(path) as connection:
        for run, of, name, value in connection.execute(query, (program,) if program else ()):
            line = ANSWER_OF[of] if metric == FLIP else of
            found.setdefault(run, {}).setdefault(line, {})[name] = value
    return {run.id: found.get(run.id, {}) for run in runs if run.id is not None}


# -- which runs are joined -------------------------------------------------------------------------


def _machine(run: StoredRun) -> str:
    """Name the machine of a run, with its hardware: two of one name may have been replaced."""
    environment = run.environment
    hardware = [
        environment.cpu or environment.system,
        counted(environment.cpu_count, "core"),
        f"{environment.device_count} x {environment.device_kind} ({environment.backend})",
    ]
    return f"{run.machine or 'a machine that is not recorded'}: {', '.join(hardware)}"


def _settings_apart(runs: Sequence[StoredRun]) -> list[str]:
    """Return the settings that are not the same in all runs, but how many rounds there were."""
    known = [run.settings or {} for run in runs]
    names = dict.fromkeys(name for each in known for name in each if name != "rounds")
    return [name for name in names if len({each.get(name) for each in known}) > 1]


def _flipped(run: StoredRun) -> str:
    """Tell the sides that the flip was judged on, as `judge.sides` chooses them."""
    stock = {"jax-legacy", "jax-simplified"} <= {*run.sides}
    return f"flip of {'stock JAX' if stock else 'the engine'}"


def _measured_with(run: StoredRun, settings: Sequence[str], over: Over, flip: str) -> str:
    """Tell the versions, these settings and the `flip` of a run; over jax, not the versions."""
    versions, told = run.environment.model_dump(), run.settings or {}
    return ", ".join(
        [
            *(f"{name} {versions[name]}" for name in _VERSIONS if over != "jax"),
            *(f"{name} {told.get(name, 'unset')}" for name in settings),
            *filter(None, [flip]),
        ]
    )


def _grouped(
    runs: Iterable[StoredRun], key: Callable[[StoredRun], Hashable]
) -> dict[Hashable, list[StoredRun]]:
    found: dict[Hashable, list[StoredRun]] = defaultdict(list)
    for run in runs:
        found[key(run)].append(run)
    return found


def _in_order(runs: Iterable[StoredRun], over: Over) -> list[StoredRun]:
    return sorted(runs, key=_jax_version) if over == "jax" else list(runs)


def _jax_version(run: StoredRun) -> Version:
    try:
        return Version(run.environment.jax)
    except InvalidVersion:  # of somebody's own build
        return Version("0")


def _complete(runs: Sequence[StoredRun]) -> tuple[list[StoredRun], list[str]]:
    """Leave out runs with fewer than half of the programs of the largest run: of -k, or of -x."""
    most = max((run.programs for run in runs), default=0)
    kept = [run for run in runs if 2 * run.programs >= most]
    short = [run.label for run in runs if run not in kept]
    if not short:
        return kept, []
    return kept, [f"left out: {', '.join(short)} with fewer than half of {most} programs"]


# -- lines -----------------------------------------------------------------------------------------


def _lines(
    runs: Sequence[StoredRun], values: _Values, machine: str, over: Over, *, is_flip: bool
) -> list[TrendLine]:
    names: Sequence[str] = FLIP_ANSWERS if is_flip else SIDES
    apart = _settings_apart(runs)
    told = is_flip and len(set(map(_flipped, runs))) > 1
    groups = _grouped(
        runs, lambda run: _measured_with(run, apart, over, _flipped(run) if told else "")
    )
    found = []
    for name in names:
        common = None if is_flip else _common(runs, values, name)
        for versions, of_versions in groups.items():
            points = [
                TrendPoint(run.id, _label(run, over), value)
                for run in of_versions
                if run.id is not None
                and (value := _value(values[run.id].get(name, {}), common)) is not None
            ]
            if any(point.value for point in points) or (points and not is_flip):
                found.append(TrendLine(name, machine, str(versions), tuple(points)))
    return found


def _value(of_run: Mapping[str, float], common: set[str] | None) -> float | None:
    if common is None:
        return float(len(of_run))
    shared = common & of_run.keys()
    return sum(of_run[name] for name in shared) if shared else None


def _common(runs: Sequence[StoredRun], values: _Values, side: str) -> set[str]:
    """Return the programs that all runs have on a side; a run without the side is no point."""
    sets = [set(each) for run in runs if run.id is not None and (each := values[run.id].get(side))]
    return set.intersection(*sets) if sets else set()


def _sums(runs: Sequence[StoredRun], values: _Values, machine: str) -> list[str]:
    having = {side: [run for run in runs if values[run.id or 0].get(side)] for side in SIDES}
    told = ", ".join(
        f"{side} {len(_common(runs, values, side)):,}"
        + (f" in {len(having[side])} of them" if len(having[side]) < len(runs) else "")
        for side in SIDES
        if having[side]
    )
    if len(runs) < 2 or not told:
        return []
    return [f"sums over the programs that all {len(runs)} runs have ({told}) on {machine}"]


def _counts(runs: Sequence[StoredRun], values: _Values, machine: str) -> list[str]:
    if len(runs) < 2:
        return []
    names = [{name for of in values[run.id or 0].values() for name in of} for run in runs]
    common, every = set.intersection(*names), set.union(*names)
    if common == every:
        return []
    told = f"{len(common):,} of {counted(len(every), 'program')}"
    return [f"counts of all programs of a run: {told} are in all {len(runs)} runs on {machine}"]


def _label(run: StoredRun, over: Over) -> str:
    if over == "jax":
        return run.environment.jax
    return str(run.commit) if run.commit else run.started[:10]
