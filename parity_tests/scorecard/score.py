"""The scorecard: its lines, each a file in `programs/`, run on stock JAX and on the engine."""

from __future__ import annotations

import ast
import doctest
import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from packaging.version import Version

from parity_tests.observe.environment import version
from parity_tests.processes.interpreters import FileFailedError, run_file, versions_of
from parity_tests.processes.protocol import Progress
from parity_tests.processes.side_environment import FOLDER, environment_of, refusal_of
from reports.rows import SIDES, Side, is_ours, now
from reports.rows.scorecard import (
    EFFECTS,
    KINDS,
    Effect,
    OnRelease,
    Release,
    Scorecard,
    ScoreLine,
    Seen,
    State,
    StatedLine,
)

PROGRAMS = Path(__file__).parent / "programs"
_NEEDED = ("kind", "off", "on", "who", "from", "way round")
_FIELDS = (*_NEEDED, "right off", "right on", "by design", "code")
_FIELD = re.compile(r"^([a-z ]+): (.+(?:\n    .+)*)$", re.MULTILINE)


class LineError(ValueError):
    """A program does not state its line as it has to: the message has the file, and what lacks."""


class Line(StatedLine):
    """What a program states of its line, and the file that has it."""

    path: Path

    @property
    def effect(self) -> Effect:
        """What the flip does to the fault."""
        if self.fault[1] == self.right[1]:
            return "fixed by the flip"
        if self.fault[0] == self.fault[1] or self.fault[0] != self.right[0]:
            return "in both modes"
        return "by design" if self.by_design else "against the flip"

    @property
    def program(self) -> str:
        """The program without its docstring."""
        text = self.path.read_text("utf-8")
        first = ast.parse(text).body[0]
        assert first.end_lineno is not None
        return "\n".join(text.splitlines()[first.end_lineno :]).strip()


def lines(folder: Path = PROGRAMS) -> list[Line]:
    """Read the lines of a folder, by effect, kind and name. Raises `LineError`."""
    found = map(read, folder.glob("*.py"))
    return sorted(
        found, key=lambda each: (EFFECTS.index(each.effect), KINDS.index(each.kind), each.name)
    )


def read(file: Path) -> Line:
    """Read the line that a program states in its docstring. Raises `LineError`.

    The first sentence is its title. "off" and "on" are what it shows while the fault is there,
    "right off" and "right on" what it shows without: by default what flag off shows today. "by
    design" is why it is on purpose, "code" the place in JAX.
    """
    stated = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    title, _, rest = stated.partition("\n\n")
    found = {name: " ".join(text.split()) for name, text in _FIELD.findall(rest)}
    missing = [each for each in _NEEDED if each not in found]
    unknown = [each for each in found if each not in _FIELDS]
    if missing or unknown:
        raise LineError(f"{file}: missing {missing}, unknown {unknown}")
    kind = next((each for each in KINDS if each == found["kind"]), None)
    if kind is None:
        raise LineError(f"{file}: kind {found['kind']!r}, not one of {', '.join(KINDS)}")
    fault = (found["off"], found["on"])
    right_off = found.get("right off", fault[0])
    right = (right_off, found.get("right on", right_off))
    if right == fault:
        raise LineError(f"{file}: what is right is the fault")
    return Line(
        name=file.stem,
        title=" ".join(title.split()),
        kind=kind,
        who=found["who"],
        origin=found["from"],
        way_round=found["way round"],
        fault=fault,
        right=right,
        by_design=found.get("by design", ""),
        code=found.get("code", ""),
        path=file,
    )


def digest(found: Iterable[Line]) -> str:
    """Return a digest of the programs and what they state."""
    hashed = hashlib.sha256()
    for each in found:
        hashed.update(each.name.encode() + b"\0" + each.path.read_bytes() + b"\0")
    return hashed.hexdigest()[:16]


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
        if not (is_ours(side) and refusals[python])
    ]
    told: dict[tuple[Path, Side], Any] = {}
    with ThreadPoolExecutor(jobs) as pool:
        answers = pool.map(lambda order: _told(lines, *order), orders)
        for number, (order, answer) in enumerate(zip(orders, answers, strict=True), 1):
            told[order] = answer
            progress(number, len(orders), f"jax {answer['jax']}, {order[1]}")
    releases = tuple(_release(told[each, "jax-legacy"], refusals[each]) for each in by_release)
    return Scorecard(
        created=now(),
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
            arguments=["--", side, *(str(each.path) for each in lines)],
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
        before = [earlier.state for earlier in found]
        own = (each["legacy"], each["simplified"]) if "legacy" in each else None
        found.append(
            OnRelease(
                jax=release.jax,
                state=state_of(line, each["jax-legacy"], each["jax-simplified"], before),
                engine=state_of(line, *own) if own else None,
                seen=tuple(each.values()),
            )
        )
    is_ours = line.path.is_relative_to(FOLDER)
    return ScoreLine(
        **line.model_dump(exclude={"path"}),
        effect=line.effect,
        file=line.path.relative_to(FOLDER).as_posix() if is_ours else line.path.name,
        program=line.program,
        releases=tuple(found),
    )


# -- the state of a line: computed from what its program showed, and nothing else ------------------

ABSENT: Literal["not in this release"] = "not in this release"
_NOT_THERE = ("right", "fixed", ABSENT)


def state_of(line: Line, off: Seen, on: Seen, before: Sequence[State] = ()) -> State:
    """Return the state of a line by what flag off and flag on showed.

    `before` are its states on earlier releases. An error that the program does not state is "not
    known", any other text that it does not state "changed".
    """
    seen = (off, on)
    if all(map(_matches, line.right, seen)):
        return "fixed" if {"open", "new", "fixed"} & {*before} else "right"
    if all(map(_matches, line.fault, seen)):
        return "new" if before and before[-1] in _NOT_THERE else "open"
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
