"""The code blocks of the docs, and whether a command printed what one of them shows."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# For pytest: without those that have nothing to do with ours, and take a second to import.
FEW_PLUGINS = "-pno:hypothesispytest -pno:jaxtyping"
PARTS = ("use", "understand", "trust", "carry_on")
PAGES = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *sorted(DOCS.glob("*.md")),
    *sorted(each for part in PARTS for each in (DOCS / part).glob("*.md")),
    *sorted(DOCS.glob("examples/**/*.md")),
]
# Commands of shell that take seconds, by how they begin (test_long_blocks.py), and those of them
# that `make deep` alone types: they take longer, or an index of packages.
LONG = (
    r"constparity (environments|scorecard|run corpus|run \$\(ls)",
    r"constparity (bisect|sites) -- |constparity .*--(jax|python|scheduler)[ =]",
    r"dask |\w+=0 python |python (corpus|train|tests/helpers)",
    r"pytest (FOLDER )?--constparity",
    r"python tests/scripts/ecosystem_constraints",
    r"\.venv/bin/python -m pytest",
    r"git clone|pip install|cp -rn|python tests/scripts/jax_tests",
)
DEEP = (
    r"constparity (scorecard --jax|run .*--(jax|python)|campaign .*--scheduler)[ =]|dask ",
    r"pytest .*(--constparity-python=|-n )",
    r"git clone|pip install|cp -rn|python tests/scripts/jax_tests",
    r"python tests/scripts/ecosystem_constraints|\.venv/bin/python -m pytest",
)
# Commands that no test types, and why.
LEFT_OUT = {
    r"make ": "`.ci/run` or `make deep` does",
    r"\.venv/bin/pre-commit install": "it writes into the checkout",
    r"constparity init": "it asks on a terminal, and test_init.py answers",
}
# What may be another text: lines left out, a text left out, a figure that is said so, a time, and
# a version.
VARIES = {
    r"^…\n": r"(?:.*\n)*?",
    r"…": r".*",
    r"about [\d.,]*\d": r"about [\d.,]*\d",
    r"\b\d\d:\d\d:\d\d\b": r"\d\d:\d\d:\d\d",
    r"\b\d[\d.,]* ?(?:seconds|s|ms|µs)\b": r"\d[\d.,]* ?(?:seconds|s|ms|µs)",
    r"\b\d+\.\d+\.\d[\d.]*\b": r"\d+\.\d+\.\d[\d.]*",
}


def all_blocks(page):
    """Each block of a page, as its language and its text."""
    text = page.read_text("utf-8")
    found = re.findall(r"^```([^\n`]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    fences = re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)
    assert len(fences) == 2 * len(found), f"{page}: a fence that is indented, or no fence of ours"
    return found


def page_named(page):
    """The file of a page, named as from docs/ or from the part that it is in."""
    [found] = {file for part in ("", *PARTS) if (file := DOCS / part / page).exists()}
    return found


def blocks(page, language):
    """The blocks of a page of docs/, or of a part of it, in one language."""
    return [text for each, text in all_blocks(page_named(page)) if each == language]


def excerpt(page, begins):
    """The one block of a page that begins with a text."""
    [found] = [text for _, text in all_blocks(page_named(page)) if text.startswith(begins)]
    return found


def commands_in(block):
    """The commands of a console block, each with what it prints and its exit status.

    It is 0 unless `$?` is printed.
    """
    told = re.sub(r"^\$ echo \$\?\n", "status ", block, flags=re.MULTILINE)
    found = []
    for each in re.split(r"^\$ ", told, flags=re.MULTILINE)[1:]:
        command, _, said = each.partition("\n")
        ending = re.search(r"^status (\d+)\n\Z", said, re.MULTILINE)
        said = said[: ending.start()] if ending else said
        found.append((command, said, int(ending[1]) if ending else 0))
    return found


def lines_of(block):
    """The lines of a block of shell, without comments; a line that goes on is one."""
    lines = block.replace("\\\n", " ").splitlines()
    return [found for each in lines if (found := re.sub(r"\s+#.*|^#.*", "", each))]


def commands_of(block):
    """The commands of a block of shell, without what they are piped to."""
    return [re.sub(r"\s+\| .*", "", each) for each in lines_of(block)]


def is_long(command):
    return any(re.match(begins, command) for begins in LONG)


def is_deep(command):
    return any(re.match(begins, command) for begins in DEEP)


def is_left_out(command):
    return any(re.match(begins, command) for begins in LEFT_OUT)


def is_quick(command):
    return not is_long(command) and not is_left_out(command)


def runs_in_part(block):
    """Whether a test types a command of a block of shell, in `make test`."""
    return any(map(is_quick, commands_of(block)))


def plain(printed):
    """What was printed, without spaces at the ends of lines."""
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines())


def says(said, printed):
    """Whether a command printed what a page says."""
    pattern, at = "", 0
    for found in re.finditer("|".join(f"({each})" for each in VARIES), said, re.MULTILINE):
        pattern += re.escape(said[at : found.start()]) + [*VARIES.values()][found.lastindex - 1]
        at = found.end()
    return re.fullmatch(pattern + re.escape(said[at:]), plain(printed)) is not None
