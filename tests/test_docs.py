"""The README and the pages of docs/ name things that exist, and walks that calls really take.

The site has each page once, and is built without a warning. Three rules of the pages: a relative
link names a file, and its anchor a heading of that file; a path in backticks that begins with a
folder of the repository exists; a test file named in backticks exists somewhere under tests/.
"""

import ast
import contextlib
import io
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import jax.numpy as jnp
import numpy as np
import pytest
from doc_blocks import DOCS, PARTS, all_blocks

import engine
import legacy_closedjaxpr.pipeline  # noqa: F401 - else the call would import it, and enter all of it
import simplified_consts.pipeline  # noqa: F401
from engine.configuration.settings import Config
from parity_tests.cli.options import PROJECT_KEYS
from parity_tests.environments.store import FOLDER_VARIABLE
from parity_tests.lint.rules import CODES
from parity_tests.suites.settings import SETTINGS
from reports import frames
from reports.rows.fail_rules import RULE_NAMES

ROOT = Path(__file__).parent.parent
PLUGIN = ROOT / "parity_tests" / "suites" / "plugin.py"
PAGES = [
    *(ROOT / "README.md", DOCS / "index.md"),
    *sorted(each for part in PARTS for each in (DOCS / part).glob("*.md")),
]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
FOLDERS = (
    "docs",
    "engine",
    "legacy_closedjaxpr",
    "parity_tests",
    "reports",
    "simplified_consts",
    "tests",
)

_TOCTREE = re.compile(r"^```\{toctree\}\n(?:^:[^\n]*\n)*(.*?)^```$", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_PATH = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./*-]*)`")
_TEST_FILE = re.compile(r"`(test_\w+\.py)`")


def prose(page):
    return _FENCED.sub("", page.read_text("utf-8"))


def anchor(heading):
    """The anchor that GitHub gives a heading: "What it says, and why" is what-it-says-and-why."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(page):
    return {anchor(heading) for heading in _HEADING.findall(prose(page))}


def relative_links(page):
    links = _LINK.findall(prose(page))
    return [link for link in links if not link.startswith(("http://", "https://"))]


def broken_links(page):
    for link in relative_links(page):
        name, _, fragment = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            yield link


def missing_paths(page, root):
    for path in _PATH.findall(prose(page)):
        if not any(root.glob(path)):
            yield path
    for name in _TEST_FILE.findall(prose(page)):
        if not any((root / "tests").rglob(name)):
            yield name


@pytest.mark.parametrize("page", [*PAGES, CONTRIBUTING], ids=lambda page: page.name)
def test_links_and_paths_lead_somewhere(page):
    assert list(broken_links(page)) == []
    assert list(missing_paths(page, ROOT)) == []


def test_every_page_is_reached_from_the_readme():
    seen, waiting = set(), [PAGES[0]]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        names = [link.partition("#")[0] for link in relative_links(page)]
        waiting += [(page.parent / name).resolve() for name in names if name.endswith(".md")]
    assert set(PAGES) <= seen


def test_a_planted_broken_link_is_found(tmp_path):
    (tmp_path / "there.md").write_text("# A heading, `code` and more\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[fine](there.md#a-heading-code-and-more) [gone](gone.md) [no anchor](there.md#gone) "
        "[elsewhere](https://example.org)\n\n```\n[in a block](gone.md)\n```\n"
    )
    assert list(broken_links(page)) == ["gone.md", "there.md#gone"]


def test_a_planted_path_is_found(tmp_path):
    for file in ("engine/api.py", "tests/engine/test_api.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    page = tmp_path / "page.md"
    page.write_text("`engine/api.py` `engine/*.py` `engine/gone.py` `test_api.py` `test_gone.py`\n")
    assert list(missing_paths(page, tmp_path)) == ["engine/gone.py", "test_gone.py"]


def walk(title):
    """The Python files that a walk of the architecture page names."""
    page = prose(DOCS / "understand" / "architecture.md")
    steps = page.split(f"## Walk: {title}\n")[1].split("\n## ")[0].split("\nUnder a ")[0]
    return {path for path in _PATH.findall(steps) if path.endswith(".py")}


def files_entered(call):
    """The files of the repository in which a Python function is called by `call()`."""
    entered = set()

    def note(frame, event, _):
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(ROOT):
            entered.add(str(file.relative_to(ROOT)))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return entered


@pytest.mark.parametrize(
    ("side", "settings"),
    [
        ("legacy", {}),
        ("simplified", {"precompute_constants": "auto", "deduplicate_constants": True}),
    ],
)
def test_a_first_call_takes_the_walk(side, settings):
    square = np.ones((128, 128), np.float32) / 3

    def worth_a_preamble(x):
        return jnp.dot(square, square) @ x

    first_call = engine.jit(worth_a_preamble, constants=side, **settings)
    x = jnp.ones(128)
    named = walk(f"a captured array, {side}")
    assert len(named) > 8
    assert named - files_entered(lambda: first_call(x)) == set()


def test_each_file_of_tests_says_what_it_holds():
    files = [*(ROOT / "tests").rglob("test_*.py")]
    texts = {file: file.read_text("utf-8") for file in files}
    assert len(files) > 300
    assert [
        file for file, text in texts.items() if ast.get_docstring(ast.parse(text)) is None
    ] == []


def navigation(index):
    """The pages that the parts of the site's index list."""
    entries = [entry for part in _TOCTREE.findall(index) for entry in part.split("\n") if entry]
    return [re.sub(r".*<(.+)>", r"\1", entry) for entry in entries]


def test_the_site_has_each_page_once():
    index = (DOCS / "index.md").read_text("utf-8")
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES[2:]} | {
        "examples/campaign",
        "examples/first_tour",
        "examples/parity_job/README",
    }
    assert Counter(navigation(index)) == Counter(pages)
    twice = index + "```{toctree}\n:maxdepth: 1\n\nAgain <use/lint>\ngone\n```\n"
    assert Counter(navigation(twice)) - Counter(pages) == Counter(["use/lint", "gone"])


def test_captured_arrays_prints_what_the_page_says():
    (_, program), (_, said) = all_blocks(DOCS / "understand" / "captured_arrays.md")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(program, {})
    assert out.getvalue() == said


def build_site(docs, site):
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", docs, site]
    return subprocess.run(build, capture_output=True, text=True, timeout=600)


# What a browser loads by itself: not the links that a reader follows.
_LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"((?:https?:)?//[^\"]+)")
_LOADED_BY_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")


def loaded_from_elsewhere(site):
    for file in site.rglob("*.html"):
        yield from _LOADED.findall(file.read_text("utf-8"))
    for file in site.rglob("*.css"):
        yield from _LOADED_BY_STYLE.findall(file.read_text("utf-8"))


def own_names(module):
    """The public names of a module, without modules, JAX's own classes and `SIDES`, a tuple."""
    names = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return [
        name
        for name, value in names.items()
        if not isinstance(value, (ModuleType, tuple))
        and not getattr(value, "__module__", "").startswith("jax.")
    ]


def declared_tables():
    """The names of all tuples of columns."""
    return [
        name
        for name, value in vars(frames).items()
        if isinstance(value, tuple) and value and isinstance(value[0], frames.Column)
    ]


@pytest.mark.deep
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    built = build_site(DOCS, tmp_path)
    assert (built.returncode, built.stderr) == (0, "")
    assert list(loaded_from_elsewhere(tmp_path)) == []
    assert (tmp_path / "searchindex.js").exists()
    commands = (tmp_path / "use/cli.html").read_text("utf-8")
    assert "--only-changed" in commands
    options = re.findall(r'"(--constparity[\w-]*)",$', PLUGIN.read_text("utf-8"), re.MULTILINE)
    assert len(options) > 8
    assert [option for option in options if f">{option}" not in commands] == []
    tables = (tmp_path / "use/frames.html").read_text("utf-8")
    columns = [each for name in declared_tables() for each in getattr(frames, name)]
    assert len(columns) > 60
    assert [each.name for each in columns if f">{each.name}</span>" not in tables] == []
    rules = (tmp_path / "use/lint.html").read_text("utf-8")
    assert [code for code in CODES if f'id="{code.lower()}-' not in rules] == []
    promises = (tmp_path / "carry_on/coverage.html").read_text("utf-8")
    assert "parity_tests/proof/test_laws.py" in promises
    for page, statement in (
        ("constants_note", "future returned constant is a literal"),
        ("export_points", "callbacks to the host are refused"),
    ):
        assert statement in (tmp_path / f"carry_on/{page}.html").read_text("utf-8")
    folders = (tmp_path / "understand/architecture.html").read_text("utf-8")
    assert '<span class="pre">parity_tests/judge/</span>' in folders
    changelog = (tmp_path / "carry_on/changelog.html").read_text("utf-8")
    fragments = sorted((DOCS / "changelog").glob("+*.md"))
    shown = changelog.count("<li><p>")
    assert shown >= len(fragments), f"{shown} of {len(fragments)} changes are on the page"
    names = (tmp_path / "use/api.html").read_text("utf-8")
    assert [name for name in own_names(engine) if f'id="engine.{name}"' not in names] == []
    (tmp_path / "planted.html").write_text('<script async src="https://example.org/a.js"></script>')
    (tmp_path / "planted.css").write_text('@import "//example.org/a.css";')
    planted = ["https://example.org/a.js", "//example.org/a.css"]
    assert list(loaded_from_elsewhere(tmp_path)) == planted


@pytest.mark.deep
def test_the_site_refuses_a_link_that_leads_nowhere(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "README.md").write_text("# Planted\n")
    shutil.copy(DOCS / "conf.py", docs)
    index = "# Planted\n\n[gone](gone.md)\n\n[no anchor](use/quick_start.md#gone)\n\n"
    (docs / "index.md").write_text(index + "```{toctree}\nuse/quick_start\n```\n")
    (docs / "use").mkdir()
    (docs / "use/quick_start.md").touch()
    refused = build_site(docs, tmp_path / "site")
    assert refused.returncode == 1
    assert "gone.md" in refused.stderr
    assert "'gone'" in refused.stderr


def first_cells(page, heading):
    """The names in backticks that begin the rows of a table, of one part of a page."""
    part = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {cell.split(":")[0] for cell in re.findall(r"^\| `([^`]+)`", part, re.MULTILINE)}


def test_the_settings_are_those_that_can_be_set():
    page = (DOCS / "use" / "settings.md").read_text("utf-8")
    assert first_cells(page, "The engine") == set(dir(engine.config)) - set(dir(Config))
    of_pytest = {f"pytest.{name}" for name in SETTINGS}
    assert first_cells(page, "A project") == {*PROJECT_KEYS, *of_pytest}
    assert first_cells(page, "Rules that fail a job") == set(RULE_NAMES)
    assert FOLDER_VARIABLE in first_cells(page, "Environment")


def source_text():
    """All Python sources of the product, with adjacent strings put together."""
    packages = FOLDERS[1:-1]
    files = [file for name in packages for file in sorted((ROOT / name).rglob("*.py"))]
    text = "\n".join(file.read_text("utf-8") for file in files)
    return re.sub(r'"\s*\n\s*f?"', "", text)


def unknown_messages(page, source):
    """The messages in the first column of the page's tables of which a part is nowhere printed."""
    for message in re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE):
        parts = [part.strip(" :;,'") for part in message.split("…")]
        if not all(part in source for part in parts):
            yield message


def test_each_message_of_the_page_is_one_that_is_printed():
    page = (DOCS / "use" / "troubleshooting.md").read_text("utf-8")
    assert page.count("\n| `") > 30
    source = source_text()
    assert list(unknown_messages(page, source)) == []
    planted = "| `no programs in …` | why | what |\n| `no pragrams in …` | why | what |\n"
    assert list(unknown_messages(planted, source)) == ["no pragrams in …"]
