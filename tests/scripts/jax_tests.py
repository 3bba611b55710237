"""Run JAX's own tests in both modes, and write docs/trust/jax_tests.md from what they became.

    git clone --depth 1 --branch jax-v0.10.2 https://github.com/jax-ml/jax CHECKOUT
    python tests/scripts/jax_tests.py run CHECKOUT --out RECORDS [--mode MODE] [--most N] FILE...
    python tests/scripts/jax_tests.py page RECORDS

`run` leaves a record for each file in `--out`, and does not repeat a file that has one. Files that
ask for the same number of devices share a process of each side, `--batch` of them at a time. Of a
file with more than `--most` tests those run whose names have the lowest SHA-256. The interpreter
has constparity and jax of the checkout's version, and what build/test-requirements.txt names.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import hashlib
import inspect
import itertools
import json
import os
import platform
import re
import signal
import subprocess
import sys
import textwrap
import tomllib
from collections import Counter
from importlib import metadata
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, REASONS = DOCS / "trust" / "jax_tests.md", DOCS / "jax_tests.toml"
TOLD, MOST = "JAX_TESTS_TOLD", "JAX_TESTS_MOST"  # environment variables of a run
FLAG = "simplified_jaxpr_constants"
ON_CONSTANTS = re.compile(rf"{FLAG}|const_?arg|closed_over|closure|captur|hoist|\bconsts\b")
CASES = 3  # of a test on constants that has many
# The lists of a record of jax-both that name a test, and how the page calls them.
KINDS = {
    "differences": "differs",
    "not_repeatable": "differed once",
    "know_the_flag": "knows the flag",
    "fail_otherwise": "fails otherwise",
    "fail_alike": "fails alike",
    "not_compared": "not compared",
}


# -- a plugin of pytest: which tests run, and what the parent says of them -------------------------


def pytest_configure(config):
    """Keep what the tests become, in the parent alone: its children find no variable."""
    if path := os.environ.pop(TOLD, ""):
        config.pluginmanager.register(Outcomes(Path(path)), TOLD)


def pytest_collection_modifyitems(config, items):
    """Select the tests of each file whose names have the lowest digests, and those on constants."""
    most = int(os.environ[MOST])
    chosen = set()
    by_digest = sorted(items, key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())
    for _, group in itertools.groupby(sorted(by_digest, key=file_of), file_of):
        chosen.update(item.nodeid for item in itertools.islice(group, most))
    on_constants = filter(is_on_constants, by_digest)
    for _, group in itertools.groupby(sorted(on_constants, key=function_of), function_of):
        chosen.update(item.nodeid for item in itertools.islice(group, CASES))
    collected = Counter(map(file_of, items))
    items[:] = [item for item in items if item.nodeid in chosen]
    if outcomes := config.pluginmanager.get_plugin(TOLD):
        outcomes.collected = collected
        outcomes.on_flag = [
            each.nodeid for each in items if each.nodeid in chosen and is_on_flag(each)
        ]
    items[:] = [item for item in items if item.nodeid in chosen]


def file_of(item):
    """Return the file of a test, as its id begins."""
    return item.nodeid.partition("::")[0]


def function_of(item):
    """Return the name that the cases of a test share: its file, and where its function begins."""
    return f"{file_of(item)}::{getattr(code_of(item), 'co_firstlineno', item.name)}"


def code_of(item):
    """Return the code of a test; None for what absl has wrapped."""
    return getattr(inspect.unwrap(item.function), "__code__", None)


def is_on_constants(item):
    """Say whether a test has a word of captured arrays in its name, or among those that it uses."""
    code = code_of(item)
    words = (*code.co_names, *code.co_consts) if code else ()
    return any(ON_CONSTANTS.search(each) for each in (item.name, *words) if isinstance(each, str))


def is_on_flag(item):
    """Say whether a test reads the flag: it expects something of each mode."""
    return f"use_{FLAG}" in getattr(code_of(item), "co_names", ())


class Outcomes:
    """The outcome of each test, written as JSON when the session ends."""

    def __init__(self, path):
        self._path, self.collected, self.on_flag, self._tests = path, {}, [], {}
        self._said, self._seconds = {}, {}

    def pytest_collectreport(self, report):
        """Keep why a file has no tests."""
        if not report.passed and report.nodeid.endswith(".py"):
            lines = str(
                report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            )
            self._said[report.nodeid] = f"{report.outcome}: {lines.strip().splitlines()[-1]}"

    def pytest_runtest_logreport(self, report):
        """Take the outcome of a phase that did not pass, or of the call."""
        seconds = self._seconds.get(report.nodeid, 0.0)
        self._seconds[report.nodeid] = seconds + report.duration
        if report.failed:
            self._tests[report.nodeid] = "failed"
            crash = getattr(report.longrepr, "reprcrash", None)
            self._said[report.nodeid] = (crash.message if crash else report.longreprtext)[:2000]
        elif report.skipped or report.when == "call":
            self._tests.setdefault(report.nodeid, report.outcome)
            if report.skipped and isinstance(report.longrepr, tuple):
                self._said.setdefault(report.nodeid, report.longrepr[2][:300])

    def pytest_sessionfinish(self):
        """Write the file."""
        told = {
            "collected": self.collected,
            "on_flag": self.on_flag,
            "tests": self._tests,
            "said": self._said,
            "seconds": self._seconds,
        }
        self._path.write_text(json.dumps(told))


# -- runs ------------------------------------------------------------------------------------------


def devices_of(path):
    """Return the number of devices that a file asks for when it is imported; 1 for none."""
    asked = re.search(r"^jtu\.request_cpu_devices\((\d+)\)", path.read_text(), re.MULTILINE)
    return int(asked[1]) if asked else 1


def batches(checkout, files, size):
    """Yield files that may share a process."""
    by_devices = {}
    for file in files:
        by_devices.setdefault(devices_of(checkout / "tests" / file), []).append(file)
    for group in by_devices.values():
        for start in range(0, len(group), size):
            yield group[start : start + size]


def record_of(out, mode, file):
    """Return the path of a file's record."""
    return out / f"{mode}-{file.replace('/', '-').removesuffix('.py')}.json"


def run_batch(checkout, files, given):
    """Run some files, and write the record of each."""
    work = given.out / "last"
    work.mkdir(exist_ok=True)
    told, report = work / "told.json", work / "report.json"
    for each in (told, report):
        each.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "JAX_NUM_GENERATED_CASES": "1",
        # Tests read it to know what to expect; jax-both sets it for each of its processes.
        "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": str(int(given.mode == "simplified")),
        TOLD: str(told),
        MOST: str(given.most),
    }
    command = [
        *(Path(sys.executable).with_name("pytest"), "-q", "-p", "no:cacheprovider"),
        *("-p", Path(__file__).stem, "--tb=short", "--continue-on-collection-errors"),
        f"--constparity={given.mode}",
        *(f"tests/{each}" for each in files),
    ]
    if given.mode == "jax-both":
        command += [f"--constparity-report=json:{report}", f"--constparity-timeout={given.hang}"]
    with open(work / "log", "w") as log:
        process = subprocess.Popen(
            command, cwd=checkout, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            process.wait(given.limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()
    write_records(files, given, told, report)


def write_records(files, given, told, report):
    """Split what a process said into a record for each file."""
    said = json.loads(told.read_text())
    lists = json.loads(report.read_text()) if report.exists() else {}
    for file in files:
        path = f"tests/{file}"
        found = {
            kind: [cut(each) for each in lists.get(name, ()) if of(each["test"], path)]
            for name, kind in KINDS.items()
        }
        tests = {test: word for test, word in said["tests"].items() if of(test, path)}
        record = {
            "file": file,
            "mode": given.mode,
            "jax": metadata.version("jax"),
            "python": platform.python_version(),
            "day": datetime.date.today().isoformat(),
            "sides": lists.get("sides", []),
            "most": given.most,
            "collected": said["collected"].get(path, 0),
            "no_tests": said["said"].get(path, ""),
            "outcomes": dict(Counter(tests.values())),
            "on_flag": [test for test in said["on_flag"] if of(test, path)],
            "tests": tests,
            "said": {test: text for test, text in said["said"].items() if of(test, path)},
            "slowest": sorted(
                ((round(s, 1), t) for t, s in said["seconds"].items() if of(t, path)), reverse=True
            )[:5],
            "seconds": sum(s for t, s in said["seconds"].items() if of(t, path)),
            "found": found,
        }
        record_of(given.out, given.mode, file).write_text(json.dumps(record, indent=1))


def of(test, path):
    """Say whether a test lies in a file."""
    return test == path or test.startswith(f"{path}::")


def cut(comparison):
    """Return a comparison with texts of a length that can be kept."""
    for side in ("legacy", "simplified"):
        comparison[side]["text"] = comparison[side].get("text", "")[-3000:]
    return comparison


def run(given):
    """Run all files that have no record yet."""
    given.out.mkdir(parents=True, exist_ok=True)
    left = [f for f in given.files if not record_of(given.out, given.mode, f).exists()]
    for files in batches(given.checkout, left, given.batch):
        run_batch(given.checkout, files, given)
        for file in files:
            record = json.loads(record_of(given.out, given.mode, file).read_text())
            found = {kind: len(each) for kind, each in record["found"].items() if each}
            print(
                f"{file}: {len(record['tests'])} of {record['collected']}, {record['outcomes']}, "
                f"{found}, {record['seconds']:.0f} s {record['no_tests']}",
                flush=True,
            )


# -- the page --------------------------------------------------------------------------------------

HEAD = """\
# JAX's own tests in both modes

No public job of JAX runs its tests with `jax_use_simplified_jaxpr_constants` on. Here they ran as
`pytest --constparity=jax-both` runs any suite ([test-suites](../use/guide-suites.md)): on stock JAX
with the flag off, then on, compared test by test; what differed ran once more.
`JAX_NUM_GENERATED_CASES=1`, on a CPU, with as many devices as each file asks for.
"""
SELECTION = """\
## Which tests

Where a file has more tests than ran, those ran whose names have the lowest SHA-256, and each test
on captured constants: its name, or a name that its function uses, has a word such as `consts`,
`closure`, `hoist` or that of the flag; of a function with many cases {cases}. A file that ran to a
limit of time has fewer. Not here, for they need several processes or a GPU: JAX's folders
multiprocess and mosaic, and of pallas what begins with gpu, mgpu, mosaic_gpu, triton, and all but
two of tpu.

```sh
git clone --depth 1 --branch jax-v0.10.2 https://github.com/jax-ml/jax checkout
pip install jax==0.10.2 -r checkout/build/test-requirements.txt
# The wheel lacks some of what the tests import.
cp -rn checkout/jax/_src "$(python -c 'import jax; print(jax.__path__[0])')"
python tests/scripts/jax_tests.py run checkout --out records/0.10.2 --most 40 api_test.py
python tests/scripts/jax_tests.py run checkout --out records/0.10.2 --mode legacy aot_test.py
python tests/scripts/jax_tests.py page records/*  # of all records that there are
```
"""
UNKNOWN = (("not run", "passed"), ("not run", "skipped"))  # of the engine alone: says nothing
OUTCOMES = ("passed", "skipped", *KINDS.values())
WORDS = {"xfailed": "skipped", "xpassed": "passed", "passed": "passed", "skipped": "skipped"}


def counts_of(record):
    """Return how many tests of a file ended how: alike ones by their outcome, others by kind."""
    counts = Counter(record["tests"].values())
    for kind, found in record["found"].items():
        counts[kind] += len(found)
        counts.subtract(record["tests"][each["test"]] for each in found)
    return {each: counts[each] for each in OUTCOMES}


def reason_of(reasons, test, jax, mode):
    """Return the number of the reason that names a test, and its pattern; raise without one."""
    for number, each in enumerate(reasons):
        if jax in each.get("jax", [jax]) and mode in each.get("modes", ["jax-both"]):
            for glob in each["tests"]:
                if fnmatch.fnmatchcase(test, f"tests/{glob}"):
                    return number, glob
    raise SystemExit(f"{REASONS.name} has no reason for {test} on {jax}, {mode}")


def rows_of_files(records):
    """Yield how many tests of each file ended how: files alike in both modes in few words."""
    releases = sorted({record["jax"] for record in records})
    unlike, alike = [], {}
    for record in records:
        counts = counts_of(record)
        ran = len(record["tests"])
        if counts["passed"] + counts["skipped"] < ran:
            unlike.append((record["file"], record["jax"], ran, record["collected"], counts))
        else:
            skipped = f"+{counts['skipped']}" if counts["skipped"] else ""
            said = f"{counts['passed']}{skipped}/{record['collected']}"
            notes, of_releases = alike.setdefault(record["file"], (set(), {}))
            notes.add(note_of(record, counts))
            of_releases[record["jax"]] = said
    kinds = [kind for kind in OUTCOMES if any(counts[kind] for *_, counts in unlike)]
    yield from ("Files with a test that is not alike in both modes:", "")
    yield f"| file | jax | tests | of | {' | '.join(kinds)} |"
    yield f"|---|---|---|---|{'---|' * len(kinds)}"
    for file, jax, ran, collected, counts in unlike:
        cells = " | ".join(str(counts[kind] or "") for kind in kinds)
        yield f"| {file} | {jax} | {ran} | {collected} | {cells} |"
    by_note = {}
    for file, (notes, of_releases) in alike.items():
        figures = [of_releases.get(jax, "-") for jax in releases]
        shown = figures[:1] if len(set(figures)) == 1 else figures
        note = notes.pop() if len(notes) == 1 else ""
        by_note.setdefault(note, []).append(f"{file} {', '.join(shown)}")
    of_both = " and ".join(releases)
    yield from (
        "",
        f"The others, passed+skipped/collected; one figure where it is that of {of_both}:",
        "",
    )
    for note, files in sorted(by_note.items()):
        head = f"all skipped, {note}" if note else "alike in both modes"
        line = f"- **{head}:** {'; '.join(files)}"
        yield textwrap.fill(line, 118, subsequent_indent="  ", break_on_hyphens=False)


def note_of(record, counts):
    """Say why no test of a file has an outcome but that it was skipped; "" where one has."""
    if not record["tests"]:
        return one_line(record["no_tests"]) or "no test"
    if counts["skipped"] < len(record["tests"]):
        return ""
    said = Counter(one_line(record["said"].get(test, "")) for test in record["tests"])
    text = (
        said.most_common(1)[0][0].removeprefix("Skipped: ").removeprefix("Running under pytest: ")
    )
    return text.partition(". ")[0].rstrip(".!")


def one_line(text):
    """Return a text that fits a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())[:160]


def by_reason(found, reasons):
    """Yield what was found, each under its reason; `found` has test, JAX, mode and text.

    Tests of one pattern and one outcome share a line, which has the text of the first.
    """
    grouped = {}
    for test, jax, mode, outcome, said in found:
        number, glob = reason_of(reasons, test, jax, mode)
        of_glob = grouped.setdefault(number, {}).setdefault((glob, outcome), ({}, []))
        of_glob[0].setdefault(jax, []).append(test)
        of_glob[1].append(said)
    for number, tests in sorted(grouped.items()):
        reason = reasons[number]
        commit = f" Commit: {reason['commit']}." if "commit" in reason else ""
        yield from (f"**{reason['what']}**: {reason['why']}{commit}", "")
        for (glob, outcome), (of_releases, said) in tests.items():
            counts = ", ".join(f"{len(each)} on {jax}" for jax, each in sorted(of_releases.items()))
            text = "; ".join(filter(None, (outcome, said[0])))
            yield f"- `{glob}`: {counts}: {text}"
        yield ""


def found_in(records, kinds):
    """Yield each test of some kinds, with both outcomes and what it says."""
    for record in records:
        for kind in kinds:
            for each in record["found"][kind]:
                off, on = each["legacy"], each["simplified"]
                why = one_line(on.get("summary") or off.get("summary", ""))
                outcome = f"{off['outcome']} / {on['outcome']}"
                yield each["test"], record["jax"], "jax-both", outcome, why


def on_engine(stock, records):
    """Yield each test of the engine's records that is not as on stock JAX in the same mode."""
    for record in records:
        for test, outcome in record["tests"].items():
            expected = stock_outcome(stock, record, test) or "not run"
            if expected != outcome and (expected, outcome) not in UNKNOWN:
                why = one_line(record["said"].get(test, "").partition("\n")[0])
                both = f"{expected} on stock JAX, {outcome} on the engine's {record['mode']}"
                yield test, record["jax"], record["mode"], both, why


def stock_outcome(stock, record, test):
    """Return what stock JAX made of a test in the mode of an engine's record; None if not known."""
    own = stock.get((record["jax"], record["file"]))
    if own is None or test not in own["tests"]:
        return None
    for found in own["found"].values():
        for each in found:
            if each["test"] == test:
                return WORDS.get(each[record["mode"]]["outcome"], "failed")
    return own["tests"][test]


def rows_of_engine(stock, records):
    """Yield the table of the files that ran on the engine: tests, and those not as on stock JAX."""
    runs = sorted({(record["jax"], record["mode"]) for record in records})
    yield f"| file | {' | '.join(f'{mode}, {jax}' for jax, mode in runs)} |"
    yield f"|---|{'---|' * len(runs)}"
    cells = {}
    for record in records:
        known = [stock_outcome(stock, record, test) for test in record["tests"]]
        otherwise = len(list(on_engine(stock, [record])))
        said = f"{len(known) - known.count(None)}{f', {otherwise} not' if otherwise else ''}"
        cells.setdefault(record["file"], {})[record["jax"], record["mode"]] = said
    for file, of_file in cells.items():
        yield f"| {file} | {' | '.join(of_file.get(run, '') for run in runs)} |"


def totals(records):
    """Yield a sentence for each release."""
    for jax in sorted({each["jax"] for each in records}):
        of_jax = [each for each in records if each["jax"] == jax]
        counts = sum((Counter(counts_of(each)) for each in of_jax), Counter())
        on_flag = sum(len(each["on_flag"]) for each in of_jax)
        kinds = ", ".join(f"{counts[each]} {each}" for each in OUTCOMES if counts[each])
        days = sorted({each["day"] for each in of_jax})
        yield (
            f"**jax {jax}**, Python {of_jax[0]['python']}, {' to '.join({days[0], days[-1]})}: "
            f"{len(of_jax)} files, {counts.total()} tests: {kinds}.\n"
            f"{on_flag} of them read the flag, and expect something of each mode.\n"
        )


def digest():
    """Return the digest of the reasons."""
    return hashlib.sha256(REASONS.read_bytes()).hexdigest()[:16]


def page(given):
    """Write the page from all records of some folders."""
    reasons = tomllib.loads(REASONS.read_text())["reason"]
    files = (file for folder in given.records for file in sorted(folder.glob("*.json")))
    records = sorted(map(json.loads, map(Path.read_text, files)), key=lambda each: each["file"])
    stock = {(r["jax"], r["file"]): r for r in records if r["mode"] == "jax-both"}
    engine = [each for each in records if each["mode"] != "jax-both"]
    differing = ("differs", "fails otherwise", "knows the flag")
    failing = ("fails alike", "differed once", "not compared")
    said_nothing = list(by_reason(found_in(stock.values(), failing), reasons))
    lines = [
        HEAD,
        f"<!-- generated: tests/scripts/jax_tests.py, with reasons {digest()} -->",
        "",
        *totals(stock.values()),
        "## Tests that differ",
        "",
        "Tests, how many, their outcomes with flag off / flag on, and what the first says.",
        "",
        *by_reason(found_in(stock.values(), differing), reasons),
        *(["## Tests that say nothing of the flag", ""] if said_nothing else []),
        *said_nothing,
        "## On the engine",
        "",
        "Tests in `pytest --constparity=legacy` and `--constparity=simplified`, with the engine in",
        "the place of `jax.jit` and JAX's flag set alike, and how many are not as on stock JAX.",
        "",
        *rows_of_engine(stock, engine),
        "",
        *by_reason(on_engine(stock, engine), reasons),
        SELECTION.format(cases=CASES),
        "## Files",
        "",
        *rows_of_files(list(stock.values())),
    ]
    PAGE.write_text("\n".join(lines).rstrip() + "\n")


def main():
    """Parse the arguments."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("checkout", type=Path)
    running.add_argument("files", nargs="+")
    running.add_argument("--out", type=lambda path: Path(path).resolve(), required=True)
    running.add_argument("--mode", default="jax-both")
    running.add_argument("--most", type=int, default=10**6)
    running.add_argument("--batch", type=int, default=1)
    running.add_argument("--limit", type=float, default=600)
    running.add_argument("--hang", type=float, default=400)
    running.set_defaults(do=run)
    writing = commands.add_parser("page")
    writing.add_argument("records", nargs="+", type=Path)
    writing.set_defaults(do=page)
    given = parser.parse_args()
    given.do(given)


if __name__ == "__main__":
    main()
