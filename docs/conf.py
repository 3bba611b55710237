"""The documentation site, which `make docs` builds from the pages of this folder."""

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

project = "constparity"
release = metadata.version("constparity")
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinxcontrib.typer"]
exclude_patterns = ["example"]  # reports, which pages link to as files

nb_execution_mode = "off"  # notebooks hold their outputs; a test runs them
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


def quick_start_is_the_readme(app: Sphinx, page: str, source: list[str]) -> None:
    """Show the README in the place of its page, and lead links to it there."""
    if page == "quick_start":
        app.env.note_dependency(str(ROOT / "README.md"))
        readme = (ROOT / "README.md").read_text("utf-8")
        source[0] = readme.replace("](docs/", "](").replace("](LICENSE)", "](../LICENSE)")
    else:
        source[0] = source[0].replace("](../README.md", "](quick_start.md")


def setup(app: Sphinx) -> None:
    """Connect what the settings above cannot say."""
    app.add_lexer("mermaid", TextLexer)
    app.connect("source-read", quick_start_is_the_readme)
