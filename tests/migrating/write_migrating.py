"""Write docs/migrating.md from the programs in docs/migrating/, and what they say on each JAX.

    python tests/migrating/write_migrating.py .venv/bin/python .venv-jax0.12.0.1/bin/python

Each Python runs all programs twice, in a process with JAX's flag off and in one with it on. What
they said is kept in docs/migrating/seen.json, from which the page is made.
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
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, PROGRAMS = DOCS / "migrating.md", DOCS / "migrating"
SEEN = PROGRAMS / "seen.json"
PARTS = ("breaks", "mended")
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
    "lowered_in_avals",
    "runtime_executable",
    "text_of_a_module",
    "pallas_kernel",
)


def sources(name):
    """Return the title, the text, the head and both parts of a program."""
    text = (PROGRAMS / f"{name}.py").read_text()
    title, _, said = ast.get_docstring(ast.parse(text)).partition("\n")
    code = text.split('"""', 2)[2]
    head, _, parts = code.partition("\n# -- breaks\n")
    breaks, _, mended = parts.partition("\n# -- mended\n")
    return title, said.strip(), head.strip(), breaks.strip(), mended.strip()


def heading(name):
    """Return the heading of a program's section."""
    return sources(name)[0].rstrip(".")


def anchor(title):
    """Return the anchor that a heading has on the pages of a forge."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def digest():
    """Return the digest of all programs."""
    text = "".join((PROGRAMS / f"{name}.py").read_text() for name in (*USERS, *AUTHORS))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def said_here(names):
    """Run programs in this process; return what each part of them says."""
    return {name: dict(zip(PARTS, map(_said, (name, name), PARTS), strict=True)) for name in names}


def _said(name, part):
    _, _, head, breaks, mended = sources(name)
    out = io.StringIO()
    try:
        body = breaks if part == "breaks" else mended
        code = compile(f"{head}\n\n{body}", f"{name}.py", "exec")
        with contextlib.redirect_stdout(out):
            exec(code, {"__name__": name})
    except Exception as error:  # noqa: BLE001 - what a program raises is what is shown
        kind = type(error)
        home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        return f"{home}{kind.__qualname__}: {error}"
    return out.getvalue().strip()


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

JAX is about to treat the arrays that a traced function captures otherwise: they stay in the jaxpr
as `Literal`s, and each call of the compiled function passes them ([what
changes](after-the-flag.md)). This page has what people then meet, error by error. Each text was
said by the program below it on stock JAX {releases}; each mend was run with the flag off and on,
and says the same.

<!-- generated: python tests/migrating/write_migrating.py PYTHON... -->

## Help, fix me now

Set the flag in the environment, before Python starts; `jax.config.update` is
[too late](#{too_late}):

```sh
JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=0 python train.py
```

The flag is off by default in every release up to {newest}, and will go one day. For one function,
and after that day, `engine.jit(f, constants="legacy")` is the form of before
([the library](guide-library.md)). To find the line of yours that is to blame, or all of them:

```sh
constparity bisect -- python train.py      # which captured array makes this command fail
constparity sites -- python train.py       # every captured array, with its line and size
constparity lint src                       # lines that read jaxprs as they were before
pytest --constparity=jax-both              # which tests differ
```

## For users of JAX

{users}
## For authors of libraries that read jaxprs, lowered modules or executables

What changed in JAX's classes in the same work (`ClosedJaxpr` and `Jaxpr` are one from 0.11.0 on)
is not about the flag; `constparity lint` names such lines, and mends some
([CP2](lint.md#the-rules)).

{authors}"""


def page(seen):
    """Return the page that shows what was seen."""
    said = PAGE_TEXT.format(
        releases=" and ".join(seen["said"]),
        newest=list(seen["said"])[-1],
        too_late=anchor(heading("flag_set_too_late")),
        users="\n".join(_part(USERS, seen)),
        authors="\n".join(_part(AUTHORS, seen)),
    )
    return said.rstrip() + "\n"


def _part(names, seen):
    yield from ("| what you see | what it is |", "|---|---|")
    for name in names:
        title = heading(name)
        yield f"| {_short(name, seen)} | [{title}](#{anchor(title)}) |"
    yield ""
    for name in names:
        yield from _section(name, seen)


def _short(name, seen):
    """Return what the newest release says with the flag on, in a few words; quietly is no error."""
    said = list(seen["said"].values())[-1]["1"][name]["breaks"].splitlines()[0]
    kind, separator, message = said.partition("Error: ")
    if not separator:
        return "no error"
    kind = kind.rpartition(".")[2]
    return f"`{kind}Error: {textwrap.shorten(message, 60, placeholder=' ...')}`"


def _section(name, seen):
    _, text, head, breaks, mended = sources(name)
    *causes, mend = text.split("\n\n")
    yield from (f"### {heading(name)}", "")
    yield from _seen(name, seen)
    mend = textwrap.fill(f"**Mend.** {mend}", 100, break_on_hyphens=False)
    yield from ("\n\n".join(causes), "", mend, "")
    ends_in_function = head.splitlines()[-1].startswith(" ")
    yield from ("```python", head, "", *[""] * ends_in_function, "# before", breaks, "")
    yield from (*[""] * mended.startswith("def "), "# mended", mended, "```", "")


def _seen(name, seen):
    """Show what the first part says: once, where all releases say the same."""
    by_text = {}
    for jax, flags in seen["said"].items():
        said = tuple(flags[flag][name]["breaks"] for flag in ("0", "1"))
        by_text.setdefault(said, []).append(jax)
    for (off, on), releases in by_text.items():
        if len(by_text) > 1:
            yield from (f"On JAX {' and '.join(releases)}:", "")
        yield from ("```text", f"flag off: {off}", f"flag on:  {on}", "```", "")


def main(pythons):
    """Run the programs and write what they said, and the page."""
    said = {}
    for python in pythons:
        for flag in (0, 1):
            answer = said_by(python, flag, (*USERS, *AUTHORS))
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
