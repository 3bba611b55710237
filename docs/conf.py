"""The documentation site, which `make docs` builds from the pages of this folder."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

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
OF_THE_ROOT = {"quick_start": "README.md", "contributing": "CONTRIBUTING.md"}

project = "constparity"
release = metadata.version("constparity")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinxcontrib.typer"]
# Reports, which pages link to as files; and pieces of the changelog.
exclude_patterns = ["example", "changelog"]

myst_heading_anchors = 4  # those of GitHub, where the same pages are read
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
        text = file.read_text("utf-8").replace("](docs/", "](")
        text = text.replace("](CONTRIBUTING.md)", "](contributing.md)")
        source[0] = text.replace("](LICENSE)", "](../LICENSE)")
    elif page == "changelog":
        source[0] = f"# Changelog\n\n{changes()}"
    else:
        source[0] = source[0].replace("](../README.md", "](quick_start.md")


def setup(app: Sphinx) -> None:
    """Connect what the settings above cannot say."""
    app.add_lexer("mermaid", TextLexer)
    app.connect("source-read", pages_from_elsewhere)
