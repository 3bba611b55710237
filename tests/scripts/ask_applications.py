"""Ask `constparity bisect` and `constparity tune` of each program in docs/applications/.

    python tests/scripts/ask_applications.py ask ANSWERS [NAME...]
    python tests/scripts/ask_applications.py call NAME

`ask` makes an environment of constparity and the packages in ANSWERS, and leaves there what both
commands say, a file for each; nothing is asked twice. write_applications.py reads the files. `call`
is the command that is bisected: it calls a program once and prints a sum of its outputs.
"""

import argparse
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
LIST = REPOSITORY / "docs" / "applications.toml"
PROGRAMS = LIST.with_suffix("")
MOST_BYTES = 600_000_000  # the largest array of a program has 500 MB
CONSTPARITY = ("-m", "parity_tests.cli")
LIMIT = 900  # seconds of a search


def call(name):
    """Call a program once and print the sum of its outputs, weighted so that order counts."""
    import jax
    import numpy as np

    spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    jitted, args = module.program()
    total = 0.0
    for leaf in map(np.asarray, jax.tree.leaves(jitted(*args))):
        flat = np.abs(leaf.astype(np.complex128)).ravel()
        total += float(flat @ np.linspace(1, 2, flat.size))
    print(f"sum={total!r}")


def environment(folder):
    """Return the Python of an environment with constparity and the packages; make it once."""
    from parity_tests.environments.find_python import find
    from parity_tests.environments.installers import install, make

    told = tomllib.loads(LIST.read_text())
    [packages] = told["environment"]
    python = folder / "bin" / "python"
    if not python.with_name("constparity").exists():
        make(find(packages["jax"]).path, folder)
        constraints = LIST.with_name(told["campaign"]["constraints"])
        jax = f"jax=={packages['jax']}"
        wanted = ["-c", str(constraints), "--editable", str(REPOSITORY), jax, *packages["with"]]
        install(folder, wanted)
    return str(python)


def bisect(python, name):
    """Return the command that finds the lines whose arrays change the sum by more than 1e-5."""
    command = [python, __file__, "call", name]
    until = r"value:sum=(\S+) 1e-5"
    return [python, *CONSTPARITY, "bisect", "-q", "--no-color", "--until", until, "--", *command]


def tune(python, name):
    """Return the command that times a program's arrays hoisted, inlined and behind a preamble."""
    question = ["--samples", "1", "--most-arrays", "1"]  # the largest, and all of them
    question += ["--most-bytes", str(MOST_BYTES), "--timeout", str(LIMIT)]
    program = f"{PROGRAMS / name}.py:program"
    return [python, *CONSTPARITY, "tune", "-q", "--no-color", *question, program]


def ask(answers, names):
    """Ask both of each program, and keep what they print and their status."""
    there = sorted(each.stem for each in PROGRAMS.glob("*.py"))
    if unknown := sorted({*names} - {*there}):
        raise SystemExit(f"no program in {PROGRAMS}: {', '.join(unknown)}")
    answers.mkdir(parents=True, exist_ok=True)
    python = environment(answers / "environment")
    for name in names or there:
        for question in (bisect, tune):
            answer = answers / f"{name}.{question.__name__}"
            if answer.exists():
                continue
            ended = subprocess.run(
                question(python, name), capture_output=True, text=True, check=False
            )
            answer.write_text(f"{ended.returncode}\n{ended.stdout}{ended.stderr}")
            print(f"{answer.name}: {ended.returncode}, {ended.stdout.partition(chr(10))[0]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    asking = commands.add_parser("ask")
    asking.add_argument("answers", type=Path)
    asking.add_argument("names", nargs="*")
    commands.add_parser("call").add_argument("name")
    given = parser.parse_args()
    if given.command == "ask":
        ask(given.answers, given.names)
    else:
        call(given.name)
