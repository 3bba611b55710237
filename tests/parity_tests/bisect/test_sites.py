"""`constparity sites`: what a command captured, held against the modules that stock JAX lowers."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from program_files import program_file
from rich.console import Console

from parity_tests.bisect import sites
from parity_tests.bisect.listing import listed
from parity_tests.bisect.running import EndedHere, run_here
from parity_tests.bisect.sites import Flips, Site, Told, file_of
from parity_tests.cli.app import main
from parity_tests.cli.sites import print_sites
from reports.rows.sites import Captured, Sites

PROGRAM = program_file("sites/captures")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The JSON of two processes of one command, of which the second fails."""
    report = tmp_path_factory.mktemp("sites") / "sites.json"
    python = f"{sys.executable} {PROGRAM.name}"
    before = os.getcwd()
    os.chdir(PROGRAM.parent)
    try:
        command = ["sh", "-c", f"{python}; {python} again"]
        code = main(["sites", "-q", "--report", f"json:{report}", "--", *command])
    finally:
        os.chdir(before)
    return {**json.loads(report.read_text()), "code": code}


def test_each_captured_array_is_listed_where_it_is_captured(seen: dict[str, Any]) -> None:
    assert [
        (each["code"], each["array"], each["arrays"], *_names_and_counts(each), each["fixed"])
        for each in seen["captured"]
    ] == [
        ("return x @ SHARED", "float32[33,33]", 1, "layers step", 3, 3, 3, ""),
        ("x = x @ layer", "float32[17,17]", 3, "layers", 3, 1, 3, ""),
        (
            "return apply_p.bind(x, body=jax.make_jaxpr(lambda y: y + HELD)(x))",
            *("float32[61]", 1, "held", 1, 1, 1, "it is flipped with the form of its program"),
        ),
        ("return x + AGAIN", "float32[59]", 1, "again", 1, 2, 2, ""),
        ("return x + EXPORTED", "float32[47]", 1, "exported", 1, 1, 1, "it is exported"),
        (
            "add = jax.shard_map(lambda y: y + SHARDED, mesh=MESH, in_specs=EVERYWHERE, "
            "out_specs=EVERYWHERE)",
            *("float32[43]", 1, "sharded", 1, 1, 1, ""),
        ),
        ("return x * INNER", "float32[41]", 1, "outer", 2, 1, 2, ""),
    ]


def _names_and_counts(found: dict[str, Any]) -> tuple[str, int, int, int]:
    names = " ".join(each.partition(" at ")[0] for each in found["programs"])
    return names, found["uses"], found["lowered"], found["copies"]


def test_the_copies_are_those_that_stock_jax_inlines(seen: dict[str, Any], tmp_path: Path) -> None:
    environment = {**os.environ, "JAX_DUMP_IR_TO": str(tmp_path)}
    subprocess.run([sys.executable, PROGRAM], env=environment, check=True)
    modules = "".join(each.read_text() for each in tmp_path.glob("*.mlir"))
    inlined = Counter(re.findall(r"stablehlo\.constant .*tensor<(\d[\dx]*)xf32>", modules))
    copies = {each["array"]: each["copies"] for each in seen["captured"]}
    copies["float32[59]"] -= 1  # of the second process
    del copies["float32[47]"]  # an export is not compiled
    assert copies == {f"float32[{dims.replace('x', ',')}]": n for dims, n in inlined.items()}


def test_what_a_command_captured_is_listed_although_it_failed(seen: dict[str, Any]) -> None:
    assert (seen["code"], seen["status"], seen["ended"]) == (2, 3, "exit status 3")
    assert (len(seen["processes"]), seen["lowered"], seen["not_read"]) == (2, 9, [])
    line = PROGRAM.read_text().splitlines().index("    return carry + EAGER, None") + 1
    assert seen["not_reached"] == [f"float32[53] at captures.py:{line}"]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["no-such-command"], 4, "'no-such-command' cannot be started: No such file or directory"),
        ([sys.executable, "-I", "a.py"], 4, "-I keeps Python from its environment"),
        ([sys.executable, "-c", ""], 5, "(exit status 0) imports no JAX, in any of its processes"),
        (["true"], 5, "the command (exit status 0) starts no Python process that reads"),
        (["false"], 2, "(exit status 1) had started no Python process yet that reads our"),
        ([sys.executable, "-c", "gone"], 2, "(exit status 1) had not imported JAX yet, in any of"),
    ],
)
def test_a_command_that_captures_nothing_is_answered_in_a_sentence(
    command: list[str], code: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["sites", "--", *command]) == code
    assert said in capfd.readouterr().err


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_command_is_waited_for() -> None:
    ended = run_here(
        ["sh", "-c", "sleep 0.3; kill -INT $PPID; sleep 0.6; exit 9"], Flips.of("none")
    )
    assert (ended.word, ended.exit_status) == ("interrupted", 9)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_terminal_cuts_off_the_place(width):
    captured = Captured(
        file="accidental_captures.py", line=24, function="logits", array="float32[3000,784]",
        arrays=1, bytes=9_408_000, programs=("train at accidental_captures.py:30",), uses=2,
        lowered=1, copies=1, sites=("0a",),
    )  # fmt: skip
    found = Sites(
        created="2026-01-01T00:00:00+00:00", constparity="0.1.0", command=("python", "a.py"),
        status=0, ended="exit status 0", seconds=1.0, captured=(captured,), lowered=1,
        processes=("0.10.2",),
    )  # fmt: skip
    console = Console(file=io.StringIO(), width=width)
    print_sites(console, found)
    printed = console.file.getvalue()
    rows = [line.strip("│").split("│") for line in printed.splitlines() if line[0] == "│"]
    columns = ["".join(cell.strip() for cell in column) for column in zip(*rows, strict=True)]
    assert columns[0].replace(" ", "") == "accidental_captures.py:24(logits)"
    assert columns[1:4] == ["float32[3000,784]", "9.0 MiB", "train"]


def test_small_arrays_are_only_counted() -> None:
    place = ("step at a.py:1", "a.py", 2, "step")
    told = Told(processes=[{"version": "0.10.2", "error": ""}])
    for ordinal, (array, size) in enumerate([("float32[9]", 36), ("float32[99]", 396)]):
        site = Site("array", *place, array, ordinal, size, 1)
        told.sites[site.id], told.copies[site.id] = site, [1]
    found = listed(["a"], EndedHere(0, 1.0, told), min_bytes=100)
    assert ([each.array for each in found.captured], found.smaller) == (["float32[99]"], 1)


def test_a_file_is_named_alike_in_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, temporary = tmp_path / "project", tmp_path / "tmp"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert file_of(str(project / "a" / "model.py")) == "a/model.py"
    assert file_of(str(tmp_path / "other" / "model.py")) == str(tmp_path / "other" / "model.py")
    assert file_of(str(temporary / "pytest-12" / "model.py")) == "temporary model.py"
    monkeypatch.setattr(sites, "started_in", [str(project)])
    (project / "model.py").touch()
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    assert file_of("../model.py") == file_of(str(project / "model.py")) == "model.py"
    assert file_of("/tmp/ipykernel_71/1234.py") == "cell 1234"
    assert file_of("<ipython-input-3-8d1f>") == "cell 8d1f"
