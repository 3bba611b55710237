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
PAGE = DOCS / "understand" / "libraries_that_broke.md"
ROWS = tomllib.loads((DOCS / "libraries_that_broke.toml").read_text())["row"]

_HEAD = """\
# Libraries that broke, and what lint says of them

Breakages of libraries by JAX's work on constants, with the flag off: the class of jaxprs that was
merged in 0.11.0, and constants that moved from `constvars` to `invars` in 0.11.1. The flip itself
breaks catalyst and fixes numpyro. In the last three rows nothing of the library reads constants.
The errors and their fixes: [migrating](../use/migrating.md#jax-011-and-newer-whatever-the-flag).

Each row is the last release before its fix, read with `constparity lint`; *fix* says whether
`--fix` rewrites the lines. [libraries_that_broke.toml](../libraries_that_broke.toml) has these
lines, what the library's tests said before and after the fix, and its pattern in a few lines of
ours, which a test lints, runs on the JAX at hand, and runs again after `--fix`.

A run on one release does not name what the next one removes: the eight patterns pass on 0.10.2 in
each mode of pytest. On 0.12.0.1 a grid calls each a new failure, with exception and line
(2026-11-27):

```sh
python tests/helpers/broken_libraries.py FOLDER
constparity run $(ls FOLDER/pattern_*.py | sed s/$/:program/) \\
  --jax 0.10.2,0.12.0.1 --sides jax-legacy,jax-simplified --report md:grid.md
pytest FOLDER --constparity=jax-both
```

| reported | release | what broke | from JAX | lint | fix |
|---|---|---|---|---|---|
"""


def page():
    """Return the page."""
    return _HEAD + "\n".join(map(_line, sorted(ROWS, key=_order))) + "\n"


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
        ", ".join(row["now"]) or "nothing",
        row["fix"],
    ]
    return f"| {' | '.join(cells)} |"


def _address(issue):
    repository, _, number = issue.partition("#")
    return f"https://github.com/{repository}/issues/{number}"


def write_programs(folder):
    """Write each program as a file whose `program` runs it, and a file of tests that run it."""
    Path(folder).mkdir(parents=True, exist_ok=True)
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
