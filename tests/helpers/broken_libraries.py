"""The libraries that broke, and the page of docs that lists them.

Run this file to write the page anew.
"""

import tomllib
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "libraries_that_broke.md"
ROWS = tomllib.loads((DOCS / "libraries_that_broke.toml").read_text())["row"]

_HEAD = """\
# Libraries that broke, and what lint says of them

Breakages of libraries by JAX's work on constants: the class of jaxprs that was merged in 0.11.0,
constants that moved from `constvars` to `invars` in 0.11.1, and what went with them. They break
with the flag off. Of the flip itself are two rows: it breaks catalyst, and mends numpyro. In the
last three rows nothing of the library reads constants. The errors and their mends, one by one:
[migrating](migrating.md#jax-011-and-newer-whatever-the-flag).

Each row is the last release before its fix, read with `constparity lint` at the default
confidence: once with the rules as they were on 2026-11-26, before they were improved on these
libraries, and *now*. *Fix* says whether `--fix` mends the lines. No rule knows a library: each
program in [libraries_that_broke.toml](libraries_that_broke.toml) has the pattern in a few lines of
our own, and a test lints it, runs it on the JAX at hand, which has to break it from the named
version on, and runs it once more after `--fix`.

| reported | release | what broke | from JAX | lint, 2026-11-26 | lint, now | fix | its own tests |
|---|---|---|---|---|---|---|---|
"""


def page():
    """Return the page."""
    return _HEAD + "\n".join(map(_line, sorted(ROWS, key=_order))) + "\n\n" + _lines_of_libraries()


def _order(row):
    """By the release of JAX that breaks it; last what is not about constants."""
    return (row["before"] == row["now"] == [], row.get("from", "9"))


def _line(row):
    issues = ", ".join(f"[{each}]({_address(each)})" for each in row["issue"])
    cells = [
        issues,
        row["release"],
        row["what"],
        row.get("from", ""),
        ", ".join(row["before"]) or "nothing",
        ", ".join(row["now"]) or "nothing",
        row["fix"],
        row["tests"],
    ]
    return f"| {' | '.join(cells)} |"


def _address(issue):
    repository, _, number = issue.partition("#")
    return f"https://github.com/{repository}/issues/{number}"


def _lines_of_libraries():
    lines = [f"- {row['release']}: {row['lines']}" for row in sorted(ROWS, key=_order)]
    return "The lines that lint names, or that broke:\n\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
