"""The documentation site, which `make docs` builds from the pages of this folder."""

import ast
import contextlib
import io
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from parity_tests.cli.app import main
from parity_tests.cli.commands import every_command
from parity_tests.lint.rules import CODES, EXPLANATIONS, TITLES
from parity_tests.suites import plugin
from reports import frames

ROOT = Path(__file__).parent.parent
# `make docs` has npm fetch it; without it the site shows diagrams as text.
MERMAID = Path(sys.prefix) / "mermaid.min.js"
DRAW = """
for (const block of document.querySelectorAll(".highlight-mermaid pre")) {
  block.textContent = block.textContent;
  block.className = "mermaid";
}
mermaid.initialize({startOnLoad: false, theme: "neutral"});
mermaid.run();
"""

# Pages of the site that are files of the repository's root.
OF_THE_ROOT = {"use/quick_start": "README.md", "carry_on/contributing": "CONTRIBUTING.md"}

# The tests of documents of JAX, by the page of each.
SEEDS = {
    "carry_on/constants_note": ("test_constants_note.py",),
    "carry_on/export_points": ("test_export_document.py", "test_export_conventions.py"),
}
PACKAGES = ("engine", "legacy_closedjaxpr", "simplified_consts", "parity_tests", "reports")

project = "constparity"
release = metadata.version("constparity")
extensions = ["myst_nb", "sphinx.ext.autodoc"]
# Reports, which pages link to as files; and pieces of the changelog.
exclude_patterns = ["example", "changelog"]

autodoc_typehints = "none"  # the sources have them; in a signature they hide its names

nb_execution_mode = "off"  # notebooks hold their outputs; a test runs them
myst_heading_anchors = 4  # those of GitHub, where the same pages are read
smartquotes_action = "qe"  # "--" is an option
default_role = "code"  # docstrings have names in single backticks

html_theme = "furo"
html_title = f"constparity {release}"
html_copy_source = False
html_show_copyright = False
if MERMAID.exists():
    html_static_path = [str(MERMAID)]
    html_js_files = [
        (MERMAID.name, {"defer": "defer"}),
        (None, {"body": f'addEventListener("DOMContentLoaded", () => {{{DRAW}}});'}),
    ]


def signature_for_users(
    app: Sphinx, what: str, name: str, found: object, options: object, signature: str, returns: str
) -> tuple[str, str] | None:
    """Leave out what users do not pass: constructors of the engine, parameters of JAX's own."""
    if not signature:
        return None
    if what == "class" and name.startswith("engine."):
        return "", ""
    plain = re.sub(r", _private_\w+(=None)?", "", signature)
    plain = re.sub(r"=\(FailRule\(.*?\)\)", "=DEFAULT_RULES", plain)
    return re.sub(r"=<[^>]*>|=UnspecifiedValue", "=...", plain), returns


class PytestOptions:
    """Stands in the place of pytest's parser, and makes a list of the options that it is told."""

    def __init__(self) -> None:
        self.text = ""

    def getgroup(self, name: str, description: str) -> "PytestOptions":
        """Return itself, for the plugin has one group."""
        return self

    def addoption(self, option: str, help: str, metavar: str = "", **_: object) -> None:
        """Add an option as an item of a list."""
        value = f"={metavar}" if metavar else ""
        self.text += f"- `{option}{value}`: {help.replace('%%', '%')}\n"


def options_of_pytest(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the options of the plugin to the page of commands."""
    if page == "use/cli":
        options = PytestOptions()
        plugin.pytest_addoption(options)
        source[0] += f"\n## pytest\n\n{options.text}"


def columns_of_tables(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the columns of each table to the page of DataFrames."""
    if page != "use/frames":
        return
    for name, columns in (
        ("programs", frames.PROGRAMS),
        ("metrics", frames.METRICS),
        ("captured_arrays", frames.CAPTURED_ARRAYS),
        ("proved_programs", frames.PROVED_PROGRAMS),
        ("claims", frames.CLAIMS),
    ):
        source[0] += f"\n### {name}\n\n| column | dtype and unit | meaning |\n|---|---|---|\n"
        for column in columns:
            kind = ", ".join(filter(None, (column.dtype, column.unit)))
            source[0] += f"| `{column.name}` | {kind} | {column.meaning} |\n"


def explanations_of_lint(app: Sphinx, page: str, source: list[str]) -> None:
    """Add what `constparity lint --explain` says of each code to the page of lint."""
    if page == "use/lint":
        for code in CODES:
            source[0] += f"\n## {code}: {TITLES[code]}\n\n{EXPLANATIONS[code].strip()}\n"


def promises_of_tests(app: Sphinx, page: str, source: list[str]) -> None:
    """Add what each file of tests holds, its docstring's first line, to the page of tests."""
    if page != "carry_on/coverage":
        return
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        source[0] += f"\n- {first_of_docstring(file)} `{file.relative_to(ROOT / 'tests')}`"


def subjects_of_folders(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the subject of each package, its docstring's first line, to the page of architecture."""
    if page != "understand/architecture":
        return
    for name in PACKAGES:
        for file in sorted((ROOT / name).rglob("__init__.py")):
            source[0] += f"\n- `{file.parent.relative_to(ROOT)}/`: {first_of_docstring(file)}"


def statements_of_documents(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the tests of a document of JAX, whose names are its statements, to its page."""
    for name in SEEDS.get(page, ()):
        tree = ast.parse((ROOT / "tests/seeds" / name).read_text("utf-8"))
        for each in tree.body:
            if isinstance(each, ast.FunctionDef) and each.name.startswith("test_"):
                said = each.name.removeprefix("test_").replace("_", " ")
                source[0] += f"\n- {said} `{name}:{each.lineno}`"


def first_of_docstring(file: Path) -> str:
    """Return the first paragraph of a file's docstring in one line."""
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def changes() -> str:
    """Return what is not released yet, and the releases before."""
    towncrier = [sys.executable, "-m", "towncrier", "build", "--draft", "--dir", str(ROOT)]
    draft = [*towncrier, "--version", release, "--date", "not released yet"]
    found = subprocess.run(draft, check=True, capture_output=True, text=True).stdout
    released = ROOT / "CHANGELOG.md"
    return found + (released.read_text("utf-8") if released.exists() else "")


def pages_from_elsewhere(app: Sphinx, page: str, source: list[str]) -> None:
    """Show files of the root and the changelog in the place of their pages; lead links there."""
    if page in OF_THE_ROOT:
        file = ROOT / OF_THE_ROOT[page]
        app.env.note_dependency(str(file))
        text = file.read_text("utf-8").replace("](docs/", "](../")
        text = text.replace("](CONTRIBUTING.md)", "](../carry_on/contributing.md)")
        source[0] = text.replace("](LICENSE)", "](../../LICENSE)")
    elif page == "carry_on/changelog":
        source[0] = f"# Changelog\n\n{changes()}"
    else:
        source[0] = source[0].replace("](../../README.md", "](../use/quick_start.md")


def commands_print_their_help(app: Sphinx, page: str, source: list[str]) -> None:
    """Put what `--help-all` of each command prints behind the page of commands."""
    if page == "use/cli":
        for name in every_command():
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                main([*name.split(), "--help-all"])
            source[0] += f"\n## {name}\n\n```text\n{printed.getvalue()}```\n"


def setup(app: Sphinx) -> None:
    """Connect what the settings above cannot say."""
    app.add_lexer("mermaid", TextLexer)
    app.connect("autodoc-process-signature", signature_for_users)
    app.connect("source-read", commands_print_their_help)
    app.connect("source-read", options_of_pytest)
    app.connect("source-read", columns_of_tables)
    app.connect("source-read", explanations_of_lint)
    app.connect("source-read", promises_of_tests)
    app.connect("source-read", statements_of_documents)
    app.connect("source-read", subjects_of_folders)
    app.connect("source-read", pages_from_elsewhere)
