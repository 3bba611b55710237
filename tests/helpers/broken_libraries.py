"""The libraries that broke, and the page of docs that lists them.

Run this file to write the page anew; with a folder, to write its programs there, each as a target
of `constparity run` and all as tests.
"""

import re
import sys
import textwrap
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
confidence: *then*, with the rules of 2026-11-26, before they were improved on these libraries,
and *now*. *Fix* says whether `--fix` mends the lines. No rule knows a library: each
program in [libraries_that_broke.toml](libraries_that_broke.toml) has the pattern in a few lines of
our own, and a test lints it, runs it on the JAX at hand, which has to break it from the named
version on, and runs it once more after `--fix`.

*Grid* and *plugin* are what two other commands said on 2026-11-27 of the eight programs in that
file, not of the libraries themselves. All eight pass on 0.10.2, in each mode of the plugin
(`simplified`, `both`, `jax-both`): no run on one release names what the next one removes, only lint
does. On 0.12.0.1 the grid calls each a new failure, with the version, the exception and the line;
of the plugin's modes, `jax-both` tells what the flag mends from what it does not.

```sh
python tests/helpers/broken_libraries.py FOLDER
constparity run $(ls FOLDER/pattern_*.py | sed s/$/:program/) \\
  --jax 0.10.2,0.12.0.1 --sides jax-legacy,jax-simplified --report md:grid.md
pytest FOLDER --constparity=jax-both
```

| reported | release | what broke | from JAX | lint then | lint now | fix | grid | plugin | tests |
|---|---|---|---|---|---|---|---|---|---|
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
        row.get("grid", ""),
        row.get("plugin", ""),
        row["tests"],
    ]
    return f"| {' | '.join(cells)} |"


def _address(issue):
    repository, _, number = issue.partition("#")
    return f"https://github.com/{repository}/issues/{number}"


def _lines_of_libraries():
    lines = [f"- {row['release']}: {row['lines']}" for row in sorted(ROWS, key=_order)]
    return "The lines that lint names, or that broke:\n\n" + "\n".join(lines) + "\n"


def write_programs(folder):
    """Write each program as a file whose `program` runs it, and a file of tests that run it."""
    tests = []
    for row in ROWS:
        if "program" in row:
            name = re.sub(r"\W+", "_", row["release"])
            body = textwrap.indent(row["program"].strip(), "    ")
            end = "    return jax.jit(lambda x: x + 1), (1.0,)"
            Path(folder, f"pattern_{name}.py").write_text(f"def program():\n{body}\n{end}\n")
            tests.append(f"def test_{name}():\n{body}\n")
    Path(folder, "test_patterns.py").write_text("\n\n".join(tests))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_programs(sys.argv[1])
    else:
        PAGE.write_text(page())
