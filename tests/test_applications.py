"""docs/trust/applications.md is of the programs in docs/applications/, and says what they show.

In `make deep` five of them run anew, in an environment of the list's own versions: what each
machine has alike is to be as on the page.
"""

import re
import subprocess
import sys
import tomllib

import pytest

from tests.scripts import write_applications as script


def test_the_page_was_made_of_the_programs_that_are_there():
    text = script.PAGE.read_text()
    assert script.digest() in text, "a program has changed: run tests/scripts/write_applications.py"
    named = {line[4:] for line in text.splitlines() if line.startswith("### ")}
    assert named <= {each.stem for each in script.PROGRAMS.glob("*.py")}
    assert set(script.NOTES) <= named


def test_all_packages_of_the_list_have_a_version():
    spec = tomllib.loads((script.DOCS / "applications.toml").read_text())
    pins = (script.DOCS / spec["campaign"]["constraints"]).read_text().lower().splitlines()
    pinned = {line.partition("==")[0].replace("_", "-") for line in pins}
    [environment] = spec["environment"]
    assert set(environment["with"]) <= pinned


FIVE = {
    "diffrax_forcing": "diffrax", "equinox_frozen": "equinox", "flax_frozen": "flax",
    "numpyro_potential": "numpyro", "optax_captured_data": "optax",
}  # fmt: skip


def cells_on_page():
    lines = [line for line in script.PAGE.read_text().splitlines() if line.startswith("| [")]
    rows = [line.strip("| ").split(" | ") for line in lines]
    return {row[0][1:].partition("]")[0]: tuple(row[1:4]) for row in rows}


def test_each_row_of_the_page_has_its_cells():
    cells = cells_on_page()
    assert set(cells) == {each.stem for each in script.PROGRAMS.glob("*.py")}
    for captured, flip, proof in cells.values():
        assert "arrays, " in captured
        assert flip
        assert proof in ("proved", "not proved")


def test_each_program_has_what_it_captures_and_what_the_commands_answer():
    text = script.PAGE.read_text()
    for each in script.PROGRAMS.glob("*.py"):
        assert re.search(rf"^\| {each.stem} \| .+ \| .+ of .+: .+ \| \d+ \|", text, re.MULTILINE)
        for question in ("bisect", "tune"):
            answers = re.findall(rf"^- `{question}` of (.*?): .", text, re.MULTILINE)
            assert sum(bool(re.search(rf"\b{each.stem}\b", names)) for names in answers) == 1


@pytest.mark.deep
def test_a_captured_operand_is_transposed_at_each_call_as_the_finding_says():
    finding = script.DOCS / "findings" / "transposed_operand.py"
    done = subprocess.run([sys.executable, finding], capture_output=True, text=True, check=False)
    before, after = (float(line.split()[-2]) for line in done.stdout.splitlines())
    assert (done.returncode, before < 1, 33 < after < 36) == (1, True, True)


@pytest.mark.deep
def test_five_programs_show_what_the_page_says(tmp_path):
    spec = tomllib.loads((script.DOCS / "applications.toml").read_text())
    pins = script.DOCS / spec["campaign"]["constraints"]
    with_ = [f"--with={each}" for each in (*FIVE.values(), f"-c {pins}")]
    subprocess.run(
        [
            *(sys.executable, "-m", "parity_tests.cli", "run", "-q", "--exit-zero", "--no-times"),
            *(f"{script.PROGRAMS / name}.py:program" for name in FIVE),
            *("--jax", spec["environment"][0]["jax"], *with_, "--timeout", "600"),
            *("--sides", ",".join(script.STOCK), "--store", str(tmp_path / "five.db")),
        ],
        check=True,
    )
    rows, _ = script.rows_of(tmp_path / "five.db")
    page = cells_on_page()
    assert {name: script.exact(row) for name, row in rows.items()} == {
        name: page[name] for name in FIVE
    }
