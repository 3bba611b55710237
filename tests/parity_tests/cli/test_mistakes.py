"""Mistakes of users: each is told what is wrong, where, and what to do, and has its exit status."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys

import pytest

from parity_tests.cli import app, terminal
from parity_tests.cli.commands import command_named, every_command

FILES = {
    "empty.py": "x = 1\n",
    "broken.py": "def f(:\n",
    "raises.py": "def load():\n    raise RuntimeError('no data')\n\n\nload()\n",
    "presses.py": "raise KeyboardInterrupt('^C')\n",
    "needs.py": "import a_module_that_nobody_has\n",
    "in_package.py": "from . import other\n",
    "bad.toml": "name = = 1\n",
    "misspelt.toml": "[campaign]\nnam = 'x'\n",
    "small.toml": "[[corpus]]\nname = 'a'\ntargets = ['empty.py']\n",
    "text.db": "no database\n",
    "other.json": '{"a": 1}',
    "cut.json": '{"schema_version": ',
}
# The words, what they exit with, and what is said: what is wrong and where, and what to do.
MISTAKES = [
    ("run missing.py", 4, "no file 'missing.py' in ", "did you mean"),
    ("run broken.py", 4, "importing broken.py raised SyntaxError", "(broken.py:1)"),
    ("run broken", 4, "importing broken raised SyntaxError", "(broken.py:1)"),
    ("run raises.py", 4, "importing raises.py raised RuntimeError: no data", "raises.py:2"),
    ("run needs.py", 4, "No module named 'a_module_that_nobody_has'", "needs.py:1"),
    ("run in_package.py", 4, "no known parent package (in_package.py:1)", "of its package"),
    ("run nowhere.programs", 4, "no module 'nowhere'", "sys.path or in the working directory"),
    ("run empty.py:f", 4, "empty.py has no 'f'", ""),
    ("run empty.py --sides legcy,simplified", 4, "no side 'legcy'", "did you mean legacy"),
    ("run empty.py --fail-on diferent", 4, "no rule 'diferent'", "did you mean different?"),
    ("run empty.py --report htm:x", 4, "illegal report 'htm:x'", "html:report.html"),
    ("run empty.py --report html:/proc/x/y.html", 4, "'/proc/x/y.html'", "in another folder"),
    ("run empty.py --store /proc/x.db", 4, "'/proc/x.db'", "check the path"),
    ("run empty.py --resume empty.py", 4, "cannot keep a campaign in 'empty.py'", "name another"),
    (
        "run empty.py --jobs two",
        4,
        "'--jobs N': it should be a whole number",
        "`constparity run --help`",
    ),
    ("run empty.py --jobs 0", 4, "'--jobs N': it should be at least 1", "`constparity run --help`"),
    ("run empty.py --timeout abc", 4, "'--timeout SECONDS': it should be a number", "`con"),
    ("run presses.py", 4, "raised KeyboardInterrupt: ^C", "presses.py:1"),
    ("run empty.py --json --report json:-", 4, "two reports to standard output", "give each"),
    ("run empty.py -q -v", 4, "-q and -v contradict each other", "give one"),
    ("run empty.py --python nowhere/python", 4, "'nowhere/python' does not exist", "by its path"),
    ("prove empty.py --platforms vulcan", 4, "no platform 'vulcan'", "cpu, cuda, rocm, tpu"),
    ("explain", 4, "missing argument 'TARGET", "`constparity explain --help`"),
    ("aa --side jax", 4, "no side 'jax'", "jax-legacy"),
    ("campaign missing.toml", 4, "cannot read 'missing.toml'", "check the path"),
    ("campaign bad.toml", 4, "'bad.toml' is no TOML", "line 1"),
    ("campaign misspelt.toml", 4, "there is no such key", "did you mean name?"),
    ("campaign small.toml --retry gone", 4, "no state 'gone'", "the states are not run, lost"),
    ("campaign small.toml --shard 9/8", 4, "'9/8' is no shard", "write 3/8"),
    ("campaign small.toml --status", 4, "there is no such file", "run the same command without"),
    ("history", 4, "name the database of runs", "--store runs.db"),
    ("history --store text.db", 4, "it is no SQLite database", "name another file"),
    ("history --store foreign.db", 4, "'foreign.db'", "name another file"),
    ("history --json show last", 4, "--report and --json stand behind", "show"),
    ("compare other.json cut.json", 4, "not a constparity report", "name a file that"),
    ("report cut.json --report md:-", 4, "it is not JSON", "name a file that --report json:FILE"),
    ("report empty.py --report md:-", 4, "it is not JSON", "name a file that --report json:FILE"),
    ("merge text.db --into all.db", 4, "it is no SQLite database", "name another file"),
    ("merge text.db", 4, "missing option '--into'", "`constparity merge --help`"),
    ("bisect -- no-such-command", 4, "'no-such-command' cannot be started", ""),
    ("reduce empty.py", 4, "'empty.py' names no program", "--list` lists the names"),
    ("sweep empty.py:f --thresholds a,b", 4, "--thresholds must be numbers of bytes", "'a,b'"),
    ("culprit empty.py:f --metric speed", 4, "--metric speed", "outputs, compile, memory or call"),
    ("culprit empty.py", 4, "'empty.py' names no program", "write empty.py:NAME"),
    ("sweep empty.py", 4, "'empty.py' names no program", "write empty.py:NAME"),
    ("tune empty.py", 4, "'empty.py' names no program", "write empty.py:NAME"),
    ("compare last~1 last", 4, "last~1 is a run of a database", "--store runs.db"),
    ("lint", 4, "name files or folders to lint", "constparity lint src"),
    ("lint empty.py --select CP999", 4, "there is no rule 'CP999'", "the rules are CP001"),
    ("lint nowhere", 4, "nowhere: no such file or folder", "check the path"),
    ("environments remove jax-9", 4, "no environment 'jax-9'", ""),
    ("export inspect empty.py", 4, "cannot read empty.py", "export again"),
    ("schema campain", 4, "no kind 'campain'", "the kinds are campaign"),
    ("scorecard hoisting", 4, "no line 'hoisting'", "; the lines are "),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with contextlib.closing(sqlite3.connect(tmp_path / "foreign.db")) as database:
        database.execute("create table a (b)")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("words", "code", "what", "to_do"), MISTAKES)
def test_a_mistake_is_told_with_what_to_do_and_no_traceback(
    words, code, what, to_do, folder, capsys
):
    assert app.main(words.split()) == code
    printed = capsys.readouterr()
    assert "constparity: " in printed.err
    assert what in printed.err
    assert to_do in printed.err
    assert "Traceback" not in printed.err
    assert printed.out in ("", "0 findings in 0 files\n")


@pytest.mark.parametrize(
    ("words", "raised"),
    [
        ("report cut.json --report md:-", "ReportReadError"),
        ("run cut.toml", "MissingModuleError"),
    ],
)
def test_debug_prints_the_traceback_below_before_or_behind_the_command(
    words, raised, folder, capsys, monkeypatch
):
    monkeypatch.setattr(terminal, "SOON", 60.0)  # no progress before it on a busy machine
    for asked in (f"--debug {words}", f"{words} --debug"):
        assert app.main(asked.split()) == 4
        printed = capsys.readouterr().err
        message, _, traceback = printed.partition('  File "')
        assert message.startswith("constparity: ")
        assert raised in traceback
    assert app.main(words.split()) == 4  # the next one is not asked
    assert "File" not in capsys.readouterr().err


@pytest.mark.parametrize("words", ["run empty.py --jobs two", "lint", "run --gone"])
def test_a_wrong_use_has_no_traceback(words, folder, capsys):
    assert app.main([*words.split(), "--debug"]) == 4
    assert "Traceback" not in (printed := capsys.readouterr().err)
    assert printed.startswith("constparity: ")


def test_where_there_are_no_programs_no_process_is_said_to_start(folder, capsys):
    assert app.main(["run", "empty.py"]) == 5
    told = capsys.readouterr().err
    assert "no programs in empty.py: mark functions with @program" in told
    assert "starting the processes" not in told


def test_debug_prints_where_the_users_own_module_raises(folder, capsys):
    assert app.main(["run", "raises.py", "--debug"]) == 4
    assert 'raises.py", line 2, in load\n' in capsys.readouterr().err


# -- --json ----------------------------------------------------------------------------------------

_WITHOUT_RESULT = {
    "watch", "init", "schema", "export", "environments make", "environments remove",
}  # fmt: skip


@pytest.mark.parametrize("name", every_command())
def test_a_command_with_results_prints_them_as_json(name):
    command, *inner = name.split()
    found = command_named(command)
    for word in inner:
        found = found.commands[word]
    options = {option for each in found.params for option in each.opts}
    assert ("--json" in options) == ("--report" in options) == (name not in _WITHOUT_RESULT)


@pytest.mark.parametrize("words", ["environments", "lint broken.py", "lint empty.py"])
def test_json_has_standard_output_for_itself(words, folder, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("CONSTPARITY_ENVIRONMENTS", str(tmp_path / "none"))
    app.main([*words.split(), "--json"])
    printed = capsys.readouterr()
    assert json.loads(printed.out)
    assert printed.err


# As where JAX was removed: nothing finds it.
WITHOUT_JAX = """\
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "jax" else found(name, *more)
"""


@pytest.mark.parametrize(
    "program",
    [
        "from parity_tests.cli import app; sys.exit(app.main(['run', 'empty.py']))",
        "from parity_tests.cli import app; sys.exit(app.main(['prove', 'empty.py']))",
        "import pytest; sys.exit(pytest.main(['-p', 'parity_tests.suites.plugin',"
        " '--constparity=both']))",
    ],
    ids=["run", "prove", "pytest"],
)
def test_an_environment_without_jax_is_told_so(program, folder):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_JAX + program],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 4
    assert f"{sys.executable} has no JAX: install it there, as pip install jax" in done.stderr
    assert "Traceback" not in done.stderr
