"""A Python as on a fresh CI machine: its packages come from a folder, and no index is reached."""

import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def make_python(folder):
    """Make a virtual environment that finds the packages of this one, but no command of theirs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = folder / "lib" / version / "site-packages"
    (packages / "packages_of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def write_wheel(folder):
    """Write a wheel of this checkout, whose files stay where they are, and return its path.

    Its version is above every other, so that pip installs it beside one that is there.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entries = {"console_scripts": project["scripts"], **project.get("entry-points", {})}
    sections = (
        "\n".join((f"[{group}]", *(f"{name} = {value}" for name, value in each.items())))
        for group, each in entries.items()
    )
    info = "constparity-99.dist-info"
    files = {
        "constparity_checkout.pth": f"{ROOT}\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: constparity\nVersion: 99\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n\n".join(sections) + "\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    wheel = folder / "constparity-99-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel
