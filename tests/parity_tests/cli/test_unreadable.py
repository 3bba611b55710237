"""Files and folders that may not be read: one sentence names them, and there is no traceback."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program_files import program_file

SETPRIV = shutil.which("setpriv")
CAPABILITIES = "--bounding-set=-dac_override,-dac_read_search"
# The superuser reads everything, unless these capabilities are taken from it.
WITHOUT_PRIVILEGES = [SETPRIV, CAPABILITIES] if os.geteuid() == 0 else []
NOT_EARLY = ["--jobs", "2"]  # so no side is started before it is known what there is to run
pytestmark = pytest.mark.skipif(
    bool(WITHOUT_PRIVILEGES) and SETPRIV is None, reason="the superuser reads everything"
)


@pytest.fixture
def folder(tmp_path):
    """Copies of one file: one that can be read, one that cannot, one in a folder that cannot."""
    shutil.copy(program_file("good_programs"), tmp_path / "good.py")
    (tmp_path / "closed").mkdir()
    for copy in ("unreadable.py", "closed/good.py"):
        shutil.copy(program_file("good_programs"), tmp_path / copy)
    closed = (tmp_path / "unreadable.py", tmp_path / "closed")
    for each in closed:
        each.chmod(0)
    yield tmp_path
    for each in closed:
        each.chmod(0o700)


def said_by(folder, *arguments):
    command = [*WITHOUT_PRIVILEGES, sys.executable, "-m", "parity_tests.cli", *arguments]
    paths = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["run", "unreadable.py"], "unreadable.py"),
        (["culprit", "unreadable.py::good"], "unreadable.py"),
        (["run", "closed/good.py", *NOT_EARLY], "closed/good.py"),
        (["run", ".", *NOT_EARLY], "unreadable.py"),
    ],
)
def test_a_target_that_cannot_be_read_is_named(folder, arguments, name):
    assert said_by(folder, *arguments) == f"constparity: cannot read {name!r}: Permission denied"


def test_a_folder_to_resume_that_cannot_be_read_is_named(folder):
    kept = folder / "kept"
    kept.mkdir()
    (kept / "campaign.json").touch(0)
    said = said_by(folder, "run", "good.py", "--resume", "kept")
    assert said == (
        f"constparity: cannot read {str(kept / 'campaign.json')!r}: Permission denied; make it "
        "readable, or name another folder"
    )
    said = said_by(folder, "run", "good.py", "--resume", "closed")
    assert said.startswith("constparity: cannot keep a campaign in 'closed': Permission denied")


def test_saved_arrays_that_cannot_be_read_are_named(folder, faults):
    for name in ("a.json", "b.json"):
        Path(folder, name).write_text(faults.model_dump_json())
        Path(folder, f"{name}.arrays").touch(0)
    said = said_by(folder, "compare", "a.json", "b.json")
    assert "'a.json.arrays' cannot be opened (Permission denied)" in said
