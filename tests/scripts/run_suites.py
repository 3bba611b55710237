"""Run the test-suites of the ecosystem list plainly and on our pipelines, and compare the outcomes.

    python tests/scripts/run_suites.py --python VENV/bin/python --sources DIR --out DIR \\
        [--list FILE] [--only NAME]... [--mode MODE]... [--repeat N] [--cache DIR]

The interpreter has constparity, pytest, and the packages of the list installed; this script
installs nothing. Source distributions that are not unpacked in `--sources` are downloaded there.
Each run leaves its terminal output, its JUnit XML and a JSON record in `--out`, and a run that has
a record is not repeated; one in which pytest ran no test gets none, and ends this script. The table
is printed from all records at the end. With `--cache` all runs share JAX's compilation cache: fast,
but the times then mean nothing. `--list` names another list, as of whole suites.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parity_tests.campaign.spec import KnownFailures, LibrarySpec, read_spec

LIST = Path(__file__).parents[2] / "docs" / "ecosystem.toml"
MODES = ("off", "legacy", "simplified", "both")

COLUMNS = (
    *("library", "tests", "plain", "legacy", "simplified", "both", "programs", "that captured"),
    *("different", "processor time, plain", "both"),
)

# What the summary of shadow mode says.
_PROGRAMS = re.compile(r"^(\d+) programs? of (\d+) tests? ran on both", re.MULTILINE)
_SAME = re.compile(r"^  (\d+) of these captured nothing", re.MULTILINE)
_DIFFERENT = re.compile(r"^  (\d+) different$", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One run of a suite in a mode; times in seconds of processor time of all its processes."""

    name: str
    version: str
    mode: str
    number: int
    seconds: float
    exit_code: int
    outcomes: dict[str, str]
    programs: int = 0
    one_executable: int = 0
    different: int = 0


def sources(suite: LibrarySpec, folder: Path, python: str) -> Path:
    """Return the root of an unpacked source distribution, downloaded if it is not there."""
    root = folder / f"{suite.name.replace('-', '_')}-{suite.version}"
    if not root.exists():
        what = f"{suite.name}=={suite.version}"
        pip = [python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*pip, "-d", str(folder), what], check=True)
        with tarfile.open(f"{root}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return root


def environment(cache: Path | None) -> dict[str, str]:
    """Return the variables of a run; with a cache, those that have JAX keep all it compiles."""
    if cache is None:
        return dict(os.environ)
    return {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": str(cache.absolute()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def run(suite: LibrarySpec, mode: str, number: int, root: Path, options: argparse.Namespace) -> Run:
    """Run a suite's selection in a mode."""
    python, out, env = options.python, options.out.absolute(), environment(options.cache)
    stem = out / f"{suite.name}-{mode}-{number}"
    report = stem.with_name(stem.name + ".xml")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "-rfE"]
    command += ["--tb=short", "-p", "no:xdist", f"--constparity={mode}", f"--junitxml={report}"]
    command += [f"--deselect={each}" for each in suite.deselect]
    text_file = stem.with_name(stem.name + ".txt")
    with text_file.open("w") as text:
        process = subprocess.Popen(
            [*command, *suite.tests], cwd=root, env=env, stdout=text, stderr=text
        )
        seconds, code = _waited(process)
    said = text_file.read_text("utf-8", "replace")
    return Run(
        suite.name,
        suite.version,
        mode,
        number,
        seconds,
        code,
        outcomes(report) if report.exists() else {},
        _number(_PROGRAMS, said),
        _number(_SAME, said),
        _number(_DIFFERENT, said),
    )


def _waited(process: subprocess.Popen[bytes]) -> tuple[float, int]:
    """Wait for a process; return its processor time, with its children, and its exit code."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, process.returncode


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found[1]) if found else 0


def outcomes(report: Path) -> dict[str, str]:
    """Read the outcome of each test from JUnit XML; the worst where a test has several phases."""
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = {child.tag for child in case}
        for kind in ("error", "failure", "skipped"):
            if kind in kinds and found.get(name) not in ("error", "failure"):
                found[name] = kind
        found.setdefault(name, "passed")
    return found


def table(runs: list[Run], timed: bool = True) -> Iterator[str]:
    """Yield the table in Markdown, and after it the tests whose outcome differs from plain."""
    shown = len(COLUMNS) if timed else len(COLUMNS) - 2
    yield f"| {' | '.join(COLUMNS[:shown])} |"
    yield "|---" * shown + "|"
    for name in dict.fromkeys(each.name for each in runs):
        cells = _row([each for each in runs if each.name == name])
        yield f"| {' | '.join(map(str, cells[:shown]))} |"
    yield ""
    for each in runs:
        plain = next((r for r in runs if r.name == each.name and r.mode == "off"), None)
        if plain is not None:
            yield from _changed(plain, each)


def failures(runs: list[Run], known: dict[str, tuple[KnownFailures, ...]]) -> Iterator[str]:
    """Yield the tests that fail plainly, each with what the list says, and what no longer fails."""
    for each in (run for run in runs if run.mode == "off" and run.number == 0):
        of_suite = known.get(each.name, ())
        failing = [test for test, became in each.outcomes.items() if became in ("failure", "error")]
        for test in failing:
            why = next((entry.why for entry in of_suite if _has(entry, test)), "NOT ON THE LIST")
            yield f"- {each.name}, plain: {test}: {why}"
        for entry in of_suite:
            if not any(_has(entry, test) for test in failing):
                yield f"- {each.name}, plain: no test fails of {', '.join(entry.tests)}"


def _has(known: KnownFailures, test: str) -> bool:
    return any(fnmatch.fnmatchcase(test, each) for each in known.tests)


def _row(runs: list[Run]) -> list[Any]:
    by_mode: dict[str, list[Run]] = {m: [r for r in runs if r.mode == m] for m in MODES}
    first = {mode: found[0] for mode, found in by_mode.items() if found}
    both, plain = first.get("both"), first.get("off")
    cells: list[Any] = [f"{runs[0].name} {runs[0].version}", len(plain.outcomes) if plain else "?"]
    cells += [_counts(first[mode]) if mode in first else "not run" for mode in MODES]
    if both:
        cells += [both.programs, both.programs - both.one_executable, both.different]
    else:
        cells += ["", "", ""]
    cpu = {m: sum(r.seconds for r in found) / len(found) for m, found in by_mode.items() if found}
    cells += [f"{cpu['off']:.0f} s" if "off" in cpu else "", ""]
    if {"off", "both"} <= set(cpu):
        cells[-1] = f"{cpu['both'] / cpu['off']:.2f} x"
    return cells


def _counts(run: Run) -> str:
    counts = Counter(run.outcomes.values())
    said = [f"{counts[kind]} {kind}" for kind in ("passed", "failure", "error", "skipped")]
    return ", ".join(each for each in said if not each.startswith("0 ")) or f"exit {run.exit_code}"


def _changed(plain: Run, run: Run) -> Iterator[str]:
    for test in sorted(plain.outcomes.keys() | run.outcomes.keys()):
        before, after = plain.outcomes.get(test, "not run"), run.outcomes.get(test, "not run")
        if before != after:
            yield f"- {run.name}, {run.mode} {run.number}: {test}: {before}, now {after}"


def main() -> None:
    """Run what has no record yet, and print the table of all records."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--list", type=Path, default=LIST)
    parser.add_argument("--only", action="append")
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    listed = read_spec(options.list).library
    runs = [each for suite in listed for each in _runs(suite, options)]
    print("\n".join(table(runs, timed=options.cache is None)))
    print("\n".join(failures(runs, {suite.name: suite.known for suite in listed})))


def _runs(suite: LibrarySpec, options: argparse.Namespace) -> Iterator[Run]:
    # The modes take turns, so that a machine that grows slower slows all of them.
    for number in range(options.repeat):
        for mode in MODES:
            record = options.out / f"{suite.name}-{mode}-{number}.json"
            asked = (not options.only or suite.name in options.only) and (
                not options.mode or mode in options.mode
            )
            if record.exists():
                yield Run(**json.loads(record.read_text("utf-8")))
            elif asked:
                root = sources(suite, options.sources, options.python)
                began = time.monotonic()
                done = run(suite, mode, number, root, options)
                if not done.outcomes:
                    text = record.with_suffix(".txt")
                    sys.exit(
                        f"{suite.name} {mode}: no test ran (exit {done.exit_code}); see {text}"
                    )
                record.with_suffix(".new").write_text(json.dumps(asdict(done)), "utf-8")
                shutil.move(record.with_suffix(".new"), record)
                took = time.monotonic() - began
                said = f"{suite.name} {mode}: {_counts(done)}, {done.seconds:.0f} s of processor"
                print(f"{said} in {took:.0f} s", file=sys.stderr, flush=True)
                yield done


if __name__ == "__main__":
    main()
