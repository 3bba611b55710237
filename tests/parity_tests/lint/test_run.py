"""Lint reads every Python file that it is given, and says of others why it did not."""

import os
import subprocess
import sys

import pytest

from parity_tests.lint.records import Confidence
from parity_tests.lint.rules import CODES
from parity_tests.lint.run import lint, lint_source

BAD = "import jax\nprint(len(jax.make_jaxpr(f)(x).consts))\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path


def linted(*paths):
    result = lint(paths, CODES)
    return [each.file.name for each in result.findings], result


def test_files_and_folders_are_linted_once(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "more.py").write_text(BAD)
    (folder / "note.txt").write_text(BAD)
    files, result = linted(folder, folder / "bad.py", folder / "sub")
    assert files == ["bad.py", "more.py"]
    assert len(result.files) == 2


def test_the_progress_counts_bytes_for_files_differ_in_size(folder):
    (folder / "large.py").write_text(BAD * 9)
    told = []
    files = [folder / name for name in ("large.py", "bad.py", "gone.py")]
    lint(files, CODES, progress=lambda *each: told.append(each))
    size = len(BAD)
    assert [each[3] for each in told] == [(0, 10 * size), (9 * size, 10 * size), (10 * size,) * 2]


def test_a_file_that_is_named_is_linted_whatever_its_name_is(folder):
    (folder / "script").write_text(BAD)
    assert linted(folder / "script")[0] == ["script"]


def test_hidden_folders_and_installed_packages_are_left_out(folder):
    for name in (".venv", "site-packages", "__pycache__"):
        (folder / name).mkdir()
        (folder / name / "other.py").write_text(BAD)
    assert linted(folder)[0] == ["bad.py"]


def test_links_that_lead_in_a_circle_end(folder):
    (folder / "circle").symlink_to(folder, target_is_directory=True)
    (folder / "itself.py").symlink_to(folder / "itself.py")
    files, result = linted(folder)
    assert files == ["bad.py"]
    assert [each.file.name for each in result.unread] == ["itself.py"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("utf16.py", "import jax\njaxpr.consts".encode("utf-16"), "it is UTF-16"),
        ("syntax.py", b"import jax\ndef f(:\n  jaxpr.consts", "it is no Python"),
        ("bytes.py", b"import jax\nx = '\xff'\njaxpr.consts", "encoding"),
        ("codec.py", b"# coding: nonsense\nimport jax\njaxpr.consts", "encoding"),
        ("nul.py", b"import jax\njaxpr.consts\x00", ""),
        ("deep.py", b"import jax\njaxpr.consts\nx = " + b"(" * 5000 + b")" * 5000, "too deeply"),
        ("sum.py", b"import jax\njaxpr.consts\nx = " + b"1+" * 9000 + b"1", "too deeply"),
        ("new.py", b"import jax\njaxpr.consts\nf(: " + b"[" * 9000, "too deeply"),
    ],
)
def test_what_is_no_python_is_said_and_the_rest_is_linted(folder, name, content, reason):
    (folder / name).write_bytes(content)
    files, result = linted(folder)
    assert files == ["bad.py"]
    [unread] = result.unread
    assert unread.file.name == name
    assert reason in unread.reason
    assert unread.is_failure


def test_a_file_that_is_missing_is_said(folder):
    _, result = linted(folder / "gone.py", folder / "bad.py")
    [unread] = result.unread
    assert "No such file" in unread.reason


def test_a_pipe_in_a_folder_is_not_waited_for(folder):
    os.mkfifo(folder / "pipe.py")
    files, result = linted(folder)
    assert files == ["bad.py"]
    assert [(each.file.name, each.reason) for each in result.unread] == [
        ("pipe.py", "it is a pipe")
    ]


def test_notebooks_are_left_out_by_name(folder):
    (folder / "book.ipynb").write_text("{}")
    _, result = linted(folder)
    [unread] = result.unread
    assert unread.file.name == "book.ipynb"
    assert not unread.is_failure


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "cp1252"])
def test_other_encodings_are_read(folder, encoding):
    head = "" if encoding == "utf-8-sig" else f"# -*- coding: {encoding} -*-\n"
    (folder / "bad.py").write_bytes((head + "é = 1\n" + BAD).encode(encoding))
    [finding] = lint([folder], CODES).findings
    assert finding.match.place.line == (3 if not head else 4)


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_lines_end_as_in_python(newline):
    [(_, match)] = lint_source(BAD.replace("\n", newline).encode(), CODES)
    assert (match.place.line, match.place.column) == (2, 11)


def test_columns_count_characters():
    [(_, match)] = lint_source("import jax\n'é𝛼', len(jax.make_jaxpr(f)(x).consts)".encode(), CODES)
    assert match.place.column == 11


def test_less_sure_findings_are_asked_for():
    source = b"import jax\ndef f(jaxpr): return jaxpr.consts"
    assert lint_source(source, CODES) == []
    assert len(lint_source(source, CODES, Confidence.LOW)) == 1
    sure = b"import jax\ndef f(jaxpr): return len(jaxpr.consts)"
    assert len(lint_source(sure, CODES)) == 1
    assert lint_source(sure, CODES, Confidence.HIGH) == []


def test_a_long_sum_is_read():
    source = f"{BAD}x = {'1 + ' * 300}1\n".encode()
    assert len(lint_source(source, CODES)) == 1


def test_a_large_file_is_linted():
    lines = "".join(f"def f{n}(x):\n    return x + {n}\n" for n in range(1500))
    [(_, match)] = lint_source(f"{lines}{BAD}".encode(), CODES)
    assert match.place.line == 3002


def test_nothing_imports_jax_and_nothing_runs(folder):
    (folder / "runs.py").write_text(f"import jax\nopen({str(folder / 'ran')!r}, 'w')\n{BAD}")
    script = (
        "import sys\nfrom parity_tests.cli.app import main\n"
        f"code = main(['lint', {str(folder)!r}, '--report', 'sarif:-'])\n"
        "print(code, sorted({'jax', 'jaxlib', 'numpy', 'engine'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=os.getcwd()
    )
    assert done.stdout.splitlines()[-1] == "1 []"
    assert not (folder / "ran").exists()
