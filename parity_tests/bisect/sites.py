"""Sites: the places of a command that can be flipped one by one, and which of them are.

A process of the command and the search read the same files, so this file imports the standard
library alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

VARIABLE = "CONSTPARITY_SITES"  # the folder of a run, in the environment of its processes
STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")  # on Python's path
_FLIPPED, _POLICY, _SEEN = "flipped.txt", "policy.txt", "seen"
_STARTED_IN = "started_in.txt"
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT
_DIGITS = 12


@dataclass(frozen=True)
class Site:
    """One place that can be flipped: the form of a traced program, or hoisting an array of it.

    - `program`: the outermost function that is traced, as in "step at model.py:12".
    - `file`, `line`, `function`: where the array is used first; of a program, where it is defined.
    - `array`: the type of the array, as in "float32[64,64]"; "" of a program.
    - `ordinal`: which one it is of the arrays of this type at this line.
    - `bytes`, `uses`: the size of the array, and how many equations and outputs read it.
    - `code`: the text of the line in the process that met it; "" if not known.
    """

    kind: Literal["program", "array"]
    program: str
    file: str
    line: int
    function: str
    array: str = ""
    ordinal: int = 0
    bytes: int = field(default=0, compare=False)
    uses: int = field(default=0, compare=False)
    code: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        """What a site is, in 12 hexadecimal digits; the same in every process and run."""
        told_by = (self.kind, self.program, self.file, self.line, self.function, self.array)
        text = "\n".join(map(str, (*told_by, self.ordinal)))
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]

    @property
    def words(self) -> str:
        """What a site is, for a user."""
        if self.kind == "program":
            return f"the form of the program {self.program}"
        number = f", the {_ordinal(self.ordinal + 1)} there" if self.ordinal else ""
        place = f"{self.file}:{self.line} ({self.function})"
        return f"{self.array} at {place}{number}, captured by {self.program}"


# IPython names the code of a cell by its content, after the folder of a process or a counter.
_CELL = re.compile(r"(?:.*ipykernel_\d+.|<ipython-input-\d+-)(\w+)(?:\.py|>)")
started_in: list[str] = []  # the working directory of the command, which its processes may leave


def file_of(file: str) -> str:
    """Return how sites name a file: its path below where the command started, or its cell.

    The command may change its directory meanwhile, and a temporary folder has another name in each
    run, so of a file in it the name alone is kept.

    Example::

        file_of("/tmp/ipykernel_71/1234.py") == "cell 1234"
    """
    if cell := _CELL.fullmatch(file):
        return f"cell {cell[1]}"
    here = os.path.abspath(file)
    path = here if file and os.path.exists(here) else file
    for folder in started_in or [os.getcwd()]:
        if path.startswith(os.path.join(folder, "")):
            return os.path.relpath(path, folder)
    is_temporary = path.startswith(os.path.join(tempfile.gettempdir(), ""))
    return f"temporary {os.path.basename(path)}" if is_temporary else path


_ALL = ((0, 16**_DIGITS - 1),)


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


@dataclass(frozen=True)
class Flips:
    """The sites that are flipped: all whose number is in one of the ranges, ends included.

    Sites that no run has met yet have a number, too.

    Example::

        "3f2a00000000" in Flips.of("3f2a00000000,8-9")
    """

    ranges: tuple[tuple[int, int], ...]

    def __contains__(self, site: str) -> bool:
        number = int(site, 16)
        return number in self._single or any(f <= number <= last for f, last in self._others)

    @cached_property
    def _single(self) -> frozenset[int]:
        return frozenset(first for first, last in self.ranges if first == last)

    @cached_property
    def _others(self) -> list[tuple[int, int]]:
        return [each for each in self.ranges if each[0] != each[1]]

    def __str__(self) -> str:
        if self.ranges in ((), _ALL):
            return "all" if self.ranges else "none"
        return ",".join(_text(first, last) for first, last in self.ranges)

    @classmethod
    def of(cls, text: str) -> Self:
        """Read "all", "none", or sites and ranges between commas; shorter numbers are beginnings.

        Raises ValueError.
        """
        if text in ("all", "none"):
            return cls(_ALL if text == "all" else ())
        parts = [part.strip() for part in text.split(",")]
        if not all(re.fullmatch(r"[0-9a-f]{1,12}(-[0-9a-f]{1,12})?", part) for part in parts):
            raise ValueError(
                f"{text!r} names no sites; write all, none, or sites and ranges of them between "
                "commas, as in 3f2a,80-9f"
            )
        return cls(tuple(map(_range, parts)))

    @classmethod
    def only(cls, sites: Iterable[str]) -> Self:
        """Flip these sites and no others."""
        return cls(tuple((int(site, 16),) * 2 for site in sorted(sites)))


def _range(part: str) -> tuple[int, int]:
    first, _, last = part.partition("-")
    return int(first.ljust(_DIGITS, "0"), 16), int((last or first).ljust(_DIGITS, "f"), 16)


def _text(first: int, last: int) -> str:
    digits = [f"{number:0{_DIGITS}x}" for number in (first, last)]
    return digits[0] if first == last else "-".join(digits)


# -- the folder of a run ---------------------------------------------------------------------------


def prepare(folder: Path, flips: Flips, policy: str = "") -> dict[str, str]:
    """Make the folder of a run; return the variables of its processes, to add to others.

    `policy` is the text of a policy table, which decides before the flips; "" for none.
    """
    (folder / _SEEN).mkdir(parents=True)
    (folder / _POLICY).write_text(policy, "utf-8")
    (folder / _FLIPPED).write_text(str(flips), "ascii")
    (folder / _STARTED_IN).write_text(os.getcwd(), "utf-8")
    return {VARIABLE: str(folder)}


def flips_of(folder: Path) -> Flips:
    """Return what is flipped in a run."""
    return Flips.of((folder / _FLIPPED).read_text("ascii"))


def name_files_as_in(folder: Path) -> None:
    """Have `file_of` name files below the directory that the command of a run started in."""
    started_in[:] = [(folder / _STARTED_IN).read_text("utf-8")]


def policy_of(folder: Path) -> str:
    """Return the text of the policy table of a run; "" for none."""
    return (folder / _POLICY).read_text("utf-8")


def tell(folder: Path, what: str, told: Any) -> None:
    """Have this process tell something; it is on the disk when this returns.

    What the disk refuses is not told, and nothing is blamed on it: a process may outlive its run,
    and the command comes first. Its tests may have replaced `open`.
    """
    line = json.dumps({what: told}) + "\n"
    with contextlib.suppress(OSError):
        file = os.open(folder / _SEEN / f"{os.getpid()}.jsonl", _APPEND, 0o666)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def tell_site(folder: Path, site: Site, fixed: str = "") -> None:
    """Have this process tell that it met a site; `fixed` says why it is not flipped by itself."""
    if fixed:
        tell(folder, "fixed", {"site": asdict(site), "why": fixed})
    else:
        tell(folder, "site", asdict(site))


_loaded: set[str] = set()  # the modules that this process has told


def tell_loaded(folder: Path) -> None:
    """Have this process tell the files of the modules that it has loaded since it last did."""
    files = []
    for name, module in sys.modules.copy().items():
        if name in _loaded:
            continue
        _loaded.add(name)
        with contextlib.suppress(AttributeError):  # what has no dictionary has no file
            # Asked in the usual way, a lazy module would be loaded.
            file = object.__getattribute__(module, "__dict__").get("__file__")
            files += [os.path.abspath(file)] if isinstance(file, str) else []
    if files:
        tell(folder, "loaded", files)


@dataclass
class Told:
    """What all processes of a run have told.

    - `sites`: by their numbers; `fixed`: arrays that are not flipped by themselves, and why not.
    - `copies`: of each array, how many constants each program makes of it that is lowered with all
      arrays inlined; `lowered`: how many programs these are.
    - `processes`: of each process that imported JAX, its version, or why nothing can be flipped.
    - `interpreters`: how many Python processes began; `loaded`: the files of their modules.
    - `matched`: keys of the policy that name an array; `unfollowed`: those of them that cannot be
      followed, and why.
    - `together`: programs whose arrays are flipped with their form, and why.
    - `not_reached`: arrays that JAX captures by itself, outside of any program that is switched.
    - `not_switched`: Python processes that have none of this, by the line that started them, and
      whether JAX's own flag reaches them; "" if not.
    """

    sites: dict[str, Site] = field(default_factory=dict)
    fixed: dict[str, tuple[Site, str]] = field(default_factory=dict)
    copies: dict[str, list[int]] = field(default_factory=dict)
    lowered: int = 0
    processes: list[Mapping[str, str]] = field(default_factory=list)
    interpreters: int = 0
    loaded: set[str] = field(default_factory=set)
    together: dict[str, str] = field(default_factory=dict)
    not_reached: dict[str, str] = field(default_factory=dict)
    not_switched: dict[str, str] = field(default_factory=dict)
    matched: dict[str, str] = field(default_factory=dict)
    unfollowed: dict[str, str] = field(default_factory=dict)


# Fields of `Told` that processes tell by their names, each thing with a reason.
NAMED = ("together", "not_reached", "not_switched", "matched", "unfollowed")


def told(folder: Path) -> Told:
    """Read what the processes of a run have told; a line that was cut off is left out."""
    found = Told()
    for what, value in _lines(folder / _SEEN):
        if what == "site":
            site = Site(**value)
            found.sites.setdefault(site.id, site)
        elif what == "fixed":
            site = Site(**value["site"])
            found.fixed.setdefault(site.id, (site, value["why"]))
        elif what == "lowered":
            found.lowered += 1
            for number, copies in value.items():
                found.copies.setdefault(number, []).append(copies)
        elif what == "jax":
            found.processes.append(value)
        elif what == "python":
            found.interpreters += 1
        elif what == "loaded":
            found.loaded.update(value)
        elif what in NAMED:
            getattr(found, what).update(value)
    return found


def _lines(folder: Path) -> Iterator[tuple[str, Any]]:
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield from json.loads(line).items()
