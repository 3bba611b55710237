"""Print the constraints file of the ecosystem list: today's version of all that its libraries need.

    python tests/scripts/ecosystem_constraints.py --jax 0.10.2 --python PYTHON... \\
        > docs/ecosystem-DATE.txt

pip resolves the versions and installs nothing. All libraries are resolved together, so one version
of a package serves all of them; where none does, pip says which requirements disagree. A package
whose version differs between the Pythons has a line with a marker for each.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from packaging.utils import canonicalize_name

from parity_tests.environments.making import NEEDS

ROOT = Path(__file__).parents[2]
LIST = ROOT / "docs" / "ecosystem.toml"
# Each environment names its JAX; constparity is the version that runs the campaign.
LEFT_OUT = {"constparity", "jax", "jaxlib"}


def versions(python: str, requirements: list[str]) -> dict[str, str]:
    """Return the version of each package that pip would install for a Python."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        # pip takes a path; a name is found on PATH.
        pip = [sys.executable, "-m", "pip", "--python", shutil.which(python) or python, "install"]
        options = ["--dry-run", "--ignore-installed", "--report", str(report)]
        # What pip says, as which requirements conflict, is not for the file.
        subprocess.run([*pip, *options, *requirements], check=True, stdout=sys.stderr)
        found = [each["metadata"] for each in json.loads(report.read_text("utf-8"))["install"]]
    return {canonicalize_name(each["name"]): each["version"] for each in found}


def lines(found: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield a line for each package and version, of the versions by package for each Python."""
    for name in sorted({name for each in found.values() for name in each} - LEFT_OUT):
        changes: list[tuple[str, str]] = []
        for python, each in found.items():
            if name in each and (not changes or each[name] != changes[-1][1]):
                changes.append((python, each[name]))
        for place, (first, version) in enumerate(changes):
            bounds = [f'python_version >= "{first}"'] if place else []
            bounds += [f'python_version < "{after}"' for after, _ in changes[place + 1 :][:1]]
            yield f"{name}=={version}" + (f"; {' and '.join(bounds)}" if bounds else "")


def minor(python: str) -> str:
    """Return the version of an interpreter, as in "3.11"."""
    asked = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Print the file."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--jax", required=True)
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    options = parser.parse_args()
    rows = tomllib.loads(LIST.read_text("utf-8"))["library"]
    libraries = [f"{row['name']}=={row['version']}" for row in rows]
    needs = sorted({each for row in rows for each in row.get("with", ())})
    wanted = [f"jax=={options.jax}", *NEEDS, *libraries, *needs, "pytest", str(ROOT)]
    pythons = sorted(options.python, key=lambda python: int(minor(python).partition(".")[2]))
    found = {minor(python): versions(python, wanted) for python in pythons}
    print(f"# Versions of {date.today()}: all that the libraries of {LIST.name} install on JAX")
    print(f"# {options.jax} and Python {', '.join(found)}, but JAX, which each environment names.")
    print(f"# Made by tests/scripts/{Path(__file__).name}; docs/use/guide-campaigns.md says how.")
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
