"""Run the programs of the scorecard on each release, on stock JAX and on the engine."""

from __future__ import annotations

import doctest
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from packaging.version import Version

from parity_tests.observe.environment import version
from parity_tests.processes.interpreters import FileFailedError, run_file, versions_of
from parity_tests.processes.protocol import Progress
from parity_tests.processes.side_environment import FOLDER, environment_of, is_own, refusal_of
from parity_tests.scorecard.lines import Line, digest
from reports.rows import SIDES, Side
from reports.rows.scorecard import OnRelease, Release, Scorecard, ScoreLine, Seen, State

_ONE_SIDE = FOLDER / "parity_tests" / "scorecard" / "one_side.py"
_SECONDS_EACH = 60.0
# What JAX adds below the message of an exception, which is about tracebacks.
_REMARK = "\n--------------------"


def score(
    lines: Sequence[Line],
    pythons: Sequence[Path],
    *,
    sides: Sequence[Side] = SIDES,
    jobs: int = 2,
    progress: Progress = lambda done, total, text: None,
) -> Scorecard:
    """Run each line in each interpreter on the sides that run there, and return their states.

    `sides` has both of stock JAX, and both of the engine or none. Raises `FileFailedError` where
    the processes of a side do not start.
    """
    by_release = sorted(pythons, key=lambda each: Version(versions_of(each).jax))
    refusals = {each: refusal_of(versions_of(each).jax) or "" for each in by_release}
    orders = [
        (python, side)
        for python in by_release
        for side in sides
        if not (is_own(side) and refusals[python])
    ]
    told: dict[tuple[Path, Side], Any] = {}
    with ThreadPoolExecutor(jobs) as pool:
        answers = pool.map(lambda order: _told(lines, *order), orders)
        for number, (order, answer) in enumerate(zip(orders, answers, strict=True), 1):
            told[order] = answer
            progress(number, len(orders), f"jax {answer['jax']}, {order[1]}")
    releases = tuple(_release(told[each, "jax-legacy"], refusals[each]) for each in by_release)
    return Scorecard(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        constparity=version(),
        inputs=digest(lines),
        releases=releases,
        lines=tuple(
            _line(each, [_seen(told, python, number) for python in by_release], releases)
            for number, each in enumerate(lines)
        ),
    )


def _told(lines: Sequence[Line], python: Path, side: Side) -> Any:
    """Run all programs on one side in one interpreter; each has a process of its own there."""
    try:
        return run_file(
            _ONE_SIDE,
            python,
            arguments=["--", side, *(str(each.file) for each in lines)],
            environment=environment_of(side, _without_settings(os.environ)),
            seconds=_SECONDS_EACH * (len(lines) + 2),
        )
    except FileFailedError as error:
        raise FileFailedError(f"{side} in {python}: {error}") from error


def _without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without settings of JAX and XLA: the programs make those they need."""
    return {
        name: value
        for name, value in environment.items()
        if name == "JAX_PLATFORMS" or not (name == "XLA_FLAGS" or name.startswith("JAX_"))
    }


def _release(told: Mapping[str, str], refusal: str) -> Release:
    return Release(
        jax=told["jax"],
        jaxlib=told["jaxlib"],
        python=told["python"],
        platform=told["platform"],
        engine_refuses=refusal,
    )


def _seen(told: Mapping[tuple[Path, Side], Any], python: Path, number: int) -> dict[Side, Seen]:
    """Return what a program showed on each side that ran in an interpreter."""
    answers = {side: told[python, side]["seen"][number] for side in SIDES if (python, side) in told}
    return {
        side: Seen(
            side=side,
            text="\n".join(filter(None, (each["printed"], each["error"].split(_REMARK)[0]))),
            failed=bool(each["error"]),
        )
        for side, each in answers.items()
    }


def _line(
    line: Line, seen: Sequence[Mapping[Side, Seen]], releases: Sequence[Release]
) -> ScoreLine:
    found: list[OnRelease] = []
    for each, release in zip(seen, releases, strict=True):
        before = found[-1].state if found else None
        own = (each["legacy"], each["simplified"]) if "legacy" in each else None
        found.append(
            OnRelease(
                jax=release.jax,
                state=state_of(line, each["jax-legacy"], each["jax-simplified"], before),
                engine=state_of(line, *own) if own else None,
                seen=tuple(each.values()),
            )
        )
    return ScoreLine(
        name=line.name,
        title=line.title,
        kind=line.kind,
        effect=line.effect,
        who=line.who,
        origin=line.origin,
        way_round=line.way_round,
        fault=line.fault,
        right=line.right,
        by_design=line.by_design,
        code=line.code,
        file=line.file.relative_to(FOLDER).as_posix()
        if line.file.is_relative_to(FOLDER)
        else line.file.name,
        program=line.program,
        releases=tuple(found),
    )


# -- the state of a line: computed from what its program showed, and nothing else ------------------

ABSENT: Literal["not in this release"] = "not in this release"
_THERE = ("open", "new", "changed", "not known")
_NOT_THERE = ("right", "mended", ABSENT)


def state_of(line: Line, off: Seen, on: Seen, before: State | None = None) -> State:
    """Return the state of a line by what flag off and flag on showed.

    `before` is its state on the release before. An error that the program does not state is "not
    known", any other text that it does not state "changed".
    """
    seen = (off, on)
    if all(map(_matches, line.right, seen)):
        return "mended" if before in (*_THERE, "mended") else "right"
    if all(map(_matches, line.fault, seen)):
        return "new" if before in _NOT_THERE else "open"
    if all(each.text == ABSENT and not each.failed for each in seen):
        return ABSENT
    stated = zip(line.fault, line.right, seen, strict=True)
    if any(each.failed and not _is_one_of(pair, each) for *pair, each in stated):
        return "not known"
    return "changed"


def _is_one_of(stated: Iterable[str], seen: Seen) -> bool:
    return any(_matches(text, seen) for text in stated)


def _matches(stated: str, seen: Seen) -> bool:
    """Say whether a text is the stated one, up to spaces; "..." stands for any text."""
    rules = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(f"{stated}\n", f"{seen.text}\n", rules)
