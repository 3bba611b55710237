"""Python processes of a command that cannot be switched are told, by the line that starts them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parity_tests.bisect.children import not_switched
from parity_tests.bisect.running import Runner
from parity_tests.bisect.sites import STARTUP, VARIABLE, Flips
from parity_tests.cli.app import main

OURS = {"PATH": "/bin:/usr/bin", "PYTHONPATH": f"/mine:{STARTUP}", VARIABLE: "/tmp/run"}
WITHOUT = "Python in an environment without the variables of this run"


@pytest.mark.parametrize(
    ("command", "environment", "why"),
    [
        (["python", "a.py"], OURS, ""),
        (["python", "a.py"], OURS | {"PYTHONPATH": "/mine"}, WITHOUT),
        ([b"/usr/bin/python3.12", "a.py"], {}, WITHOUT),
        (["sh", "-c", "cd a && python3 a.py"], {}, WITHOUT),
        (
            ["python", "-I", "a.py"],
            OURS,
            "Python with python -I, which keeps it from its environment",
        ),
        (
            ["sh", "-c", "python -E a.py"],
            OURS,
            "Python with python -E, which keeps it from its environment",
        ),
        (["env", "-i", "python"], OURS, "Python with env -i, which keeps it from its environment"),
        (["python", "a.py", "-I"], OURS, ""),
        (
            ["bash", "-lc", "python -S"],
            OURS,
            "Python with python -S, which keeps it from its environment",
        ),
        (["bash", "a.sh"], OURS, ""),
        (["bash", "a.sh"], {}, WITHOUT.replace("Python", "a shell script")),
        (["git", "log"], {}, ""),
        (["sh", "-c", "echo don't"], {}, ""),
        (["/no/such/program"], {}, ""),
    ],
)
def test_why_a_child_is_not_switched(
    command: list[str], environment: dict[str, str], why: str
) -> None:
    assert not_switched(command, environment) == why


def test_a_script_is_started_by_what_its_first_line_names(tmp_path: Path) -> None:
    script = tmp_path / "tool"
    script.write_text("#!/usr/bin/python3 -I\n")
    script.chmod(0o755)
    assert not_switched([str(script)], OURS) == (
        "Python with python3 -I, which keeps it from its environment"
    )


STARTS = """\
import os, subprocess, sys
python, none = sys.executable, {}
subprocess.run([python, "-c", ""])
subprocess.run([python, "-c", ""], env=none)
subprocess.run(f"{python} -c ''", shell=True, env=none)
os.waitpid(os.posix_spawn(python, [python, "-I", "-c", ""], os.environ), 0)
subprocess.run(["true"], env=none)
if not (child := os.fork()):
    os.execve(python, ["a", "-c", ""], none)
os.waitpid(child, 0)
os.system(f"{python} -S -c ''")
try:
    subprocess.run([python, "-c", ""], env={1: 2})
except TypeError as error:
    print("as without us:", error)
"""


def test_lines_that_start_python_out_of_reach_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("starts.py").write_text(STARTS)
    command = [sys.executable, "starts.py"]
    ended = Runner(command).flipped(Flips.of("none"))
    name = Path(sys.executable).name
    shut_out, by_flag = "which keeps it from its environment", "by JAX's flag"
    assert ended.told.not_switched == {
        f"starts.py:4 starts {WITHOUT}": "",
        f"starts.py:5 starts {WITHOUT}": "",
        f"starts.py:6 starts Python with {name} -I, {shut_out}": by_flag,
        f"starts.py:9 starts {WITHOUT}": "",
        f"starts.py:11 starts Python with {name} -S, {shut_out}": by_flag,
        "a child that cannot be read: TypeError('expected str, bytes or os.PathLike object, not "
        "int')": "",
    }
    plain = subprocess.run(command, capture_output=True, text=True)
    assert ended.output == plain.stdout


def test_a_command_whose_only_jax_is_out_of_reach_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("import subprocess, sys\nsubprocess.run([sys.executable, '-S'])\n")
    command = [sys.executable, "a.py"]
    assert [main([each, "-q", "--", *command]) for each in ("bisect", "sites")] == [4, 4]
    said = (
        "constparity: the command (exit status 0) imports no JAX in the processes that can be "
        f"switched, and one cannot: a.py:2 starts Python with {Path(sys.executable).name} -S, "
        "which keeps it from its environment\n"
    )
    assert capsys.readouterr().err == said * 2
