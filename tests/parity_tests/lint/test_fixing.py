"""Fixes: right in both forms, whole or not at all, and no second time."""

import ast
import stat
import subprocess
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_examples import FOUND, HEAD, SILENT

from parity_tests.lint import fixing
from parity_tests.lint.records import Confidence, Edit, Match, Place
from parity_tests.lint.rules import CODES
from parity_tests.lint.run import UnreadableError, lint, lint_source
from tests.helpers.system_programs import needed

EXAMPLES = [each for many in (*FOUND.values(), *SILENT.values()) for each in many]
FIXABLE = {"CP201", "CP203", "CP204", "CP205", "CP207"}


def fixed(text):
    return fixing.fixed(text, [match for _, match in lint_source(text.encode(), CODES)])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from jax._src.core import ClosedJaxpr\n",
            "from jax.extend.core import ClosedJaxpr\n",
        ),
        (
            "from jax.core import (  # one\n    Literal,\n    Var as V,\n)\n",
            "from jax.extend.core import (  # one\n    Literal,\n    Var as V,\n)\n",
        ),
        (
            "from jax.extend import core\ndef f(j):\n"
            "    while isinstance(j, core.ClosedJaxpr):\n        j = j.jaxpr\n",
            "from jax.extend import core\ndef f(j):\n"
            "    if isinstance(j, core.ClosedJaxpr):\n        j = j.jaxpr\n",
        ),
        (
            "import jax\nn = jax.core.concrete_or_error(int, n)\n",
            "import jax\nimport jax.extend.core\nn = jax.extend.core.concrete_or_error(int, n)\n",
        ),
        (
            "import jax.extend.core\nfrom jax import core\nnone = core.no_effects\n",
            "import jax.extend.core\nfrom jax import core\nnone = jax.extend.core.no_effects\n",
        ),
        (
            "from jax.core import Literal as L, Tracer\n",
            "from jax.core import Tracer\nfrom jax.extend.core import Literal as L\n",
        ),
        (
            "from jax.core import (\n    Literal as L,\n    Tracer,\n)\n",
            "from jax.core import Tracer\nfrom jax.extend.core import Literal as L\n",
        ),
        (
            "import jax\r\nnone = jax.core.no_effects\r\n",
            "import jax\r\nimport jax.extend.core\r\nnone = jax.extend.core.no_effects\r\n",
        ),
    ],
)
def test_fixes(before, after):
    assert fixed(before) == after
    assert not any(match.edits for _, match in lint_source(after.encode(), CODES))


@pytest.mark.parametrize(
    "text",
    [
        "from jax.core import (\n    Literal,  # a comment\n    Tracer,\n)\n",
        "def f():\n    from jax.core import Literal, Tracer\n",
        "from jax.core import CallPrimitive\n",
        "from jax import core\ndef f(jax): return core.no_effects\n",
        "def f(): return core.no_effects\nfrom jax import core",  # no line follows
    ],
)
def test_an_import_that_is_not_sure_is_left_alone(text):
    assert lint_source(text.encode(), ["CP203"])
    assert fixed(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "import jax\ndef f(x):\n    while hasattr(x, 'jaxpr'):\n        x = x.jaxpr\n",
        "import jax\ndef f(eqn, force):\n    return dict(inline=eqn.params['inline'] or force)\n",
    ],
)
def test_what_would_mean_something_else_is_left_alone(text):
    [(_, match)] = lint_source(text.encode(), CODES)
    assert not match.edits


def test_a_fix_that_makes_no_python_is_not_made(tmp_path, monkeypatch):
    file = tmp_path / "model.py"
    file.write_text("from jax.core import Literal\n")
    monkeypatch.setattr(fixing, "fixed", lambda text, matches: "from jax.core (")
    changed = []
    result = lint([file], CODES, change=lambda *each: changed.append(each))
    assert (len(result.findings), result.unread, changed) == (1, [], [])


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", [True, False])
def test_git_applies_a_difference(tmp_path, newline, end):
    lines = ["import jax", "from jax.core import Literal", "x = Literal"]
    before = newline.join(lines) + end * newline
    file = tmp_path / "old.py"
    file.write_text(before, newline="")
    told = fixing.difference(Path("old.py"), before, fixed(before))
    apply = [needed("git"), "apply", "-p0", "--whitespace=nowarn", "-"]
    subprocess.run(apply, cwd=tmp_path, input=told.encode(), check=True)
    assert file.read_bytes() == fixed(before).encode() != before.encode()


def test_lines_of_a_difference_end_at_newlines_alone(tmp_path):
    before = "x = 1\x0c\ny = '\u2028'\nz = 3\n"
    told = fixing.difference(tmp_path, before, before.replace("3", "4"))
    assert told.endswith("\n x = 1\x0c\n y = '\u2028'\n-z = 3\n+z = 4\n")


def test_only_rules_that_say_so_have_fixes():
    for many in FOUND.values():
        for example in many:
            for code, match in lint_source((HEAD + example).encode(), CODES):
                assert not match.edits or code in FIXABLE
    found = {
        code
        for code in FIXABLE
        for example in FOUND[code]
        for _, match in lint_source((HEAD + example).encode(), [code])
        if match.edits
    }
    assert found == FIXABLE


@given(st.lists(st.sampled_from(EXAMPLES), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_fixing_twice_is_fixing_once(examples):
    text = HEAD + "\n".join(examples) + "\n"
    once = text
    for _ in range(10):
        once, before = fixed(once), once
        if once == before:
            break
    assert fixed(once) == once
    ast.parse(once)
    assert not any(match.edits for _, match in lint_source(once.encode(), CODES))


STDLIB = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))


def as_if_of_jax(source):
    """A file of the standard library with names that trigger every rule's reading."""
    return b"import jax, numpy\n" + source.replace(b"self.", b"jaxpr.").replace(b"args", b"consts")


# The smaller files: what takes longer is LibCST, and not the rules.
@given(st.sampled_from([file for file in STDLIB if file.stat().st_size < 12_000]))
@settings(max_examples=15, deadline=None)
def test_lint_reads_any_python(file):
    source = file.read_bytes()
    assert lint_source(source, CODES, Confidence.LOW) == []
    for _, match in lint_source(as_if_of_jax(source), CODES, Confidence.LOW):
        assert match.place.line >= 1


@given(st.text(alphabet="jaxpr.consts()[]:=\n 'isinstance,lambda#", max_size=60))
@settings(max_examples=150, deadline=None)
def test_lint_reads_or_refuses_any_text(text):
    source = f"import jax\n{text}\njaxpr.consts".encode()
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        with_error = True
    else:
        with_error = False
    try:
        lint_source(source, CODES, Confidence.LOW)
    except UnreadableError:
        assert with_error


def edit(start, end, text, whole="abcdefgh"):
    return Edit(Place(1, start), Place(1, end), whole[start - 1 : end - 1], text)


def match(*edits):
    return Match(Place(1, 1), "", Confidence.HIGH, edits)


def test_a_fix_is_applied_whole_or_not_at_all():
    first, second = match(edit(1, 4, "A")), match(edit(3, 6, "B"), edit(7, 8, "C"))
    assert fixing.fixed("abcdefgh", [first, second]) == "Adefgh"
    assert fixing.fixed("abcdefgh", [second, first]) == "abBfCh"


def test_two_findings_may_share_an_edit():
    assert fixing.fixed("abc", [match(edit(1, 2, "X")), match(edit(1, 2, "X"))]) == "Xbc"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_stay(newline):
    text = f"x = 1{newline}\x0c{newline}from jax.core import Literal{newline}"
    assert fixed(text) == text.replace("jax.core", "jax.extend.core")


def test_a_fix_whose_place_is_not_sure_is_left_alone():
    text = "x = 1\n\x0cfrom jax.core import Literal\n"
    assert lint_source(text.encode(), ["CP203"])
    assert fixed(text) == text


def test_a_file_keeps_its_encoding_and_its_permissions(tmp_path):
    file = tmp_path / "old.py"
    text = "# -*- coding: latin-1 -*-\nfrom jax.core import Literal  # é\n"
    file.write_bytes(text.encode("latin-1"))
    file.chmod(0o755)
    lint([file], CODES, change=fixing.write_back)
    assert file.read_bytes() == text.replace("jax.core", "jax.extend.core").encode("latin-1")
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert list(tmp_path.iterdir()) == [file]


def test_through_a_link_the_file_is_fixed(tmp_path):
    file, link = tmp_path / "file.py", tmp_path / "link.py"
    file.write_text("from jax.core import Literal\n")
    link.symlink_to(file)
    lint([link], CODES, change=fixing.write_back)
    assert link.is_symlink()
    assert "extend" in file.read_text()


def test_a_file_that_changed_meanwhile_stays(tmp_path):
    file = tmp_path / "file.py"
    file.write_text("other")
    with pytest.raises(OSError, match="changed"):
        fixing.write_back(file, "before", "after")
    assert file.read_text() == "other"
