"""Write docs/use/migrating.md from the programs in docs/migrating/, and what they say on each JAX.

    python tests/migrating/write_migrating.py .venv/bin/python .venv-jax0.12.0.1/bin/python

The oldest JAX is named first. Each Python runs all programs twice, in a process with JAX's flag off
and in one with it on. What they said is kept in docs/migrating/seen.json, from which the page is
made.
"""

import ast
import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, PROGRAMS = DOCS / "use" / "migrating.md", DOCS / "migrating"
SEEN = PROGRAMS / "seen.json"
_LENGTH = 60  # of an error in a table
_HOME = re.compile(r"^(\w+\.)+(?=\w+: )")
_ERROR = re.compile(r"[\w.]*Error: ")
PARTS = ("breaks", "fixed")
USERS = (
    "captured_and_donated",
    "captured_and_deleted",
    "captured_on_other_devices",
    "placed_by_a_captured_array",
    "transfer_guard",
    "serialized_executable",
    "numpy_array_overwritten",
    "last_bits",
    "flag_set_too_late",
)
AUTHORS = (
    "consts_by_number",
    "literals_as_outputs",
    "literals_as_scalars",
    "hashed_literals",
    "other_consts",
    "closure_convert",
    "custom_vjp_operands",
    "lowered_in_avals",
    "runtime_executable",
    "text_of_a_module",
    "pallas_kernel",
)
# These change with the release of JAX, and the flag does not matter.
RELEASES = (
    "scan_counts",
    "removed_names",
    "jaxpr_keyword",
    "unwrapped_forever",
    "visited_twice",
    "open_constvars",
    "private_tracing",
    "renamed_primitives",
    "bind_params",
    "inline_is_true",
)
IN_WORDS = {"flag_set_too_late"}  # whose fix is no line of the program
WHOLE = "interpreter"  # has nothing that breaks
NAMES = (*USERS, *AUTHORS, *RELEASES, WHOLE)


def sources(name):
    """Return the title, the text, the head and both parts of a program.

    The first part may have several pieces, each after a line `# -- or`, that run by themselves.
    """
    text = (PROGRAMS / f"{name}.py").read_text()
    title, _, said = ast.get_docstring(ast.parse(text)).partition("\n")
    code = text.split('"""', 2)[2]
    before, _, fixed = code.partition("\n# -- fixed\n")
    head, _, breaks = before.partition("\n# -- breaks\n")
    return title, said.strip(), head.strip(), breaks.strip(), fixed.strip()


def heading(name):
    """Return the heading of a program's section."""
    return sources(name)[0].rstrip(".")


def anchor(title):
    """Return the anchor that a heading has on the pages of a forge."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def digest():
    """Return the digest of all programs."""
    text = "".join((PROGRAMS / f"{name}.py").read_text() for name in NAMES)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def said_here(names):
    """Run programs in this process; return what each part of them says."""
    return {name: dict(zip(PARTS, map(_said, (name, name), PARTS), strict=True)) for name in names}


def _said(name, part):
    _, _, head, breaks, fixed = sources(name)
    pieces = breaks.split("\n# -- or\n") if part == "breaks" else [fixed]
    return "\n".join(_said_by_piece(name, f"{head}\n\n{each.strip()}") for each in pieces)


def _said_by_piece(name, text):
    out = io.StringIO()
    try:
        code = compile(text, f"{name}.py", "exec")
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, {"__name__": name})
    except Exception as error:  # noqa: BLE001 - what a program raises is what is shown
        kind = type(error)
        home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        message = _ADDRESS.sub("Var(id=...)", _INSTALLED.sub("", str(error)))
        return f"{home}{kind.__qualname__}: {message}"
    return out.getvalue().strip()


# They are others on each machine, or in each process.
_INSTALLED = re.compile(r" \(/[^)]*\)")
_ADDRESS = re.compile(r"Var\(id=\d+\)")


def said_by(python, flag, names):
    """Run programs in a process of a Python with JAX's flag; return its JAX and what they say."""
    environment = {
        **os.environ,
        "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": str(flag),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    done = subprocess.run(
        [python, __file__, "--here", *names],
        env=environment,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return json.loads(done.stdout)


PAGE_TEXT = """\
# Migrating to constants as arguments

What people meet when the arrays that a traced function captures become `Literal`s of the jaxpr and
arguments of the compiled function, error by error. Each text was said on stock JAX {releases};
each fix was run there with the flag off and on, and says the same. A fix links its whole program,
with what broke.

<!-- generated: python tests/migrating/write_migrating.py PYTHON... -->

## Which of two things hit you?

Run the command again with the flag off: `JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=0 python train.py`.

- **It works then.** You met *the flip*. See the errors [of users](#{users_anchor}), or [of authors
  of libraries](#{authors_anchor}).
- **It fails as before, and worked on JAX 0.10.** You met what changed in the same work whatever the
  flag: [JAX 0.11 and newer](#{releases_anchor}). It hits who reads jaxprs, and
  [broke these libraries](../understand/libraries_that_broke.md).

Authors of libraries, in this order; the tables have the code of [lint](lint.md#the-rules) that
names the line:

```sh
constparity lint src --select CP2
constparity lint src --select CP1
pytest --constparity=jax-both
pytest --constparity=jax-both --constparity-python=ENVIRONMENT
```

The first finds lines that break from JAX 0.11 on (`--fix` rewrites some), the second lines that
read captured arrays as they were, the others tests that differ, on your JAX and on another one.

## Help, fix me now

Set the flag in the environment, before Python starts; `jax.config.update` is
[too late](#{too_late}):

```sh
JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=0 python train.py
```

The flag will [go one day](../understand/after-the-flag.md). For one function, and after that day,
`engine.jit(f, constants="legacy")` is the form of before ([the library](guide-library.md)). Against
what JAX 0.11 changed, `jax<0.11` helps for a while, and holds back all who install your library. To
find the line of yours that is to blame, or all captured arrays:

```sh
constparity bisect -- python train.py
constparity sites -- python train.py
```

## For users of JAX

{users}
## For authors of libraries that read jaxprs, lowered modules or executables

These are of the flip. In the texts "flag on" is after it.

{authors}
## JAX 0.11 and newer, whatever the flag

{of_releases}
## One interpreter of jaxprs

{whole}
## Questions

**When?** No release and no date is known. The help of the flag, in JAX's own `jax/_src/config.py`,
says no more than that it is for a short transition and not to be relied on.

**I support JAX below 0.10.2.** Install constparity in an environment of its own: `lint` reads any
source, and `jax-both` takes yours as `--constparity-python`.

**I export models.** `jax.export` keeps captured arrays in the file, in both forms. An array that
several functions capture is in it once for each, and the flip fixes that
([scorecard](../understand/scorecard.md#open-export_copies)).
"""


def page(seen):
    """Return the page that shows what was seen."""
    titles = [line[3:] for line in PAGE_TEXT.splitlines() if line.startswith("## ")]
    users, authors, releases = (anchor(each) for each in titles[2:5])
    said = PAGE_TEXT.format(
        releases=_listed(seen["said"]),
        users_anchor=users,
        authors_anchor=authors,
        releases_anchor=releases,
        too_late=anchor(heading("flag_set_too_late")),
        users="\n".join(_part(USERS, seen)),
        authors="\n".join(_part(AUTHORS, seen)),
        of_releases="\n".join(_part(RELEASES, seen)),
        whole="\n".join(_whole(seen)),
    )
    return said.rstrip() + "\n"


def _part(names, seen):
    yield from ("| what you see | what it is | lint |", "|---|---|---|")
    errors = {name: _errors(name, seen) for name in names}
    for name in names:
        title = heading(name)
        others = {each for other in names if other != name for each in errors[other]}
        short = ", ".join(_short(each, others) for each in errors[name])
        codes = ", ".join(sorted(set().union(*linted(name)[:-1])))
        yield f"| {short or 'no error'} | [{title}](#{anchor(title)}) | {codes} |"
    yield ""
    for name in names:
        yield from _section(name, seen)


def linted(name):
    """Return the codes of what lint finds in each piece of a program, the fixed one last."""
    from parity_tests.lint.rules import CODES
    from parity_tests.lint.run import lint_source

    _, _, head, breaks, fixed = sources(name)
    pieces = [*breaks.split("\n# -- or\n"), fixed]
    return [
        {code for code, _ in lint_source(f"{head}\n\n{piece}\n".encode(), CODES)}
        for piece in pieces
    ]


def _errors(name, seen):
    """Return the errors that all but the oldest release say, after the flip where it is of that."""
    flags = "01" if name in RELEASES else "1"
    newer = list(seen["said"].values())[1:]
    lines = [line for said in newer for each in flags for line in _lines(said[each][name])]
    return list(dict.fromkeys(_HOME.sub("", line) for line in lines if _ERROR.match(line)))


def _lines(said):
    return said["breaks"].splitlines()


def _short(error, others):
    """Return an error in a few words: the first ones, and the last if another begins alike."""
    kind, _, message = error.partition(": ")
    short = textwrap.shorten(message, _LENGTH, placeholder=" ...")
    is_alike = any(each != error and each[:_LENGTH] == error[:_LENGTH] for each in others)
    if short != message and is_alike:
        short += " " + message[-_LENGTH:].partition(" ")[2]
    return f"`{kind}: {short}`"


def _section(name, seen):
    _, text, _, _, fixed = sources(name)
    *causes, fix = text.split("\n\n")
    yield from (f"### {heading(name)}", "")
    yield from _seen(name, seen)
    program = f"[Whole program](../migrating/{name}.py)."
    fix = textwrap.fill(f"**Fix.** {fix} {program}", 100, break_on_hyphens=False)
    yield from ("\n\n".join(causes), "", fix, "")
    if name not in IN_WORDS:
        yield from ("```python", fixed, "```", "")


def _whole(seen):
    _, text, *_ = sources(WHOLE)
    [said] = {flags[flag][WHOLE]["fixed"] for flags in seen["said"].values() for flag in "01"}
    program = f"[{WHOLE}.py](../migrating/{WHOLE}.py)"
    yield from (f"{heading(WHOLE)}. Copy it, without its model:", f"{program}.", "", text)
    yield from ("", "It compares itself with a model of its own. On all of these it says:", "")
    yield from ("```text", said, "```", "")


def _seen(name, seen):
    """Show what the first part says: once, where all releases or both forms say the same."""
    by_text = {}
    for jax, flags in seen["said"].items():
        said = tuple(flags[flag][name]["breaks"] for flag in ("0", "1"))
        by_text.setdefault(said, []).append(jax)
    oldest = list(seen["said"])[:1]
    for (off, on), releases in by_text.items():
        if name in RELEASES and releases == oldest and _errors(name, seen):
            continue  # what it printed before it broke
        if len(by_text) > 1:
            yield from (f"On JAX {_listed(releases)}:", "")
        if off == on:
            yield from ("```text", off, "```", "")
        else:
            yield from (
                "```text",
                f"flag off: {_aligned(off)}",
                f"flag on:  {_aligned(on)}",
                "```",
                "",
            )


def _listed(releases):
    *first, last = releases
    return f"{', '.join(first)} and {last}" if first else last


def _aligned(text):
    return text.replace("\n", "\n          ")


def main(pythons):
    """Run the programs and write what they said, and the page."""
    said = {}
    for python in pythons:
        for flag in (0, 1):
            answer = said_by(python, flag, NAMES)
            said.setdefault(answer["jax"], {})[str(flag)] = answer["said"]
    seen = {"digest": digest(), "said": said}
    SEEN.write_text(json.dumps(seen, indent=1) + "\n")
    PAGE.write_text(page(seen))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        from importlib.metadata import version

        print(json.dumps({"jax": version("jax"), "said": said_here(sys.argv[2:])}))
    else:
        main(sys.argv[1:])
