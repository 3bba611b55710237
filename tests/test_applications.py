"""docs/applications.md is of the programs in docs/applications/, and each of them is on it."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

PATH = Path(__file__).parent / "scripts" / "write_applications.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("write_applications", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_was_made_of_the_programs_that_are_there(script):
    text = script.PAGE.read_text()
    assert script.digest() in text, "a program has changed: run tests/scripts/write_applications.py"
    names = {line[4:] for line in text.splitlines() if line.startswith("### ")}
    assert names == {each.stem for each in script.PROGRAMS.glob("*.py")}


def test_all_packages_of_the_list_have_a_version(script):
    spec = tomllib.loads((script.DOCS / "applications.toml").read_text())
    pins = (script.DOCS / spec["campaign"]["constraints"]).read_text().lower().splitlines()
    pinned = {line.partition("==")[0].replace("_", "-") for line in pins}
    [environment] = spec["environment"]
    assert set(environment["with"]) <= pinned
