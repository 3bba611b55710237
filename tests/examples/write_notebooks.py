"""Run the notebooks of docs/examples, and write them with their outputs: this file as a script.

What a run adds that is not the same everywhere, versions and times, is left out.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "examples"
NOTEBOOKS = sorted(each.name for each in FOLDER.glob("*.ipynb"))


def is_slow(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell runs a command, which starts several processes, or reads what one wrote."""
    return cell.cell_type == "code" and ("%%bash" in cell.source or '"result.json"' in cell.source)


def executed(
    name: str, folder: Path, leave_out: Callable[[nbformat.NotebookNode], bool] = lambda cell: False
) -> nbformat.NotebookNode:
    """Run a notebook in a folder with what it reads, and return it with its outputs."""
    notebook = nbformat.read(FOLDER / name, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if not leave_out(cell)]
    for each in ("example", "examples"):
        shutil.copytree(FOLDER.parent / each, folder / each)
    client = NotebookClient(
        notebook,
        timeout=300,
        resources={"metadata": {"path": str(folder / "examples")}},
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],  # it warns that what it says here is not encrypted
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    client.execute(env={**os.environ, "PATH": path, "IPYTHONDIR": str(folder / "ipython")})
    notebook.metadata = {"language_info": {"name": "python"}}
    return notebook


def main() -> None:
    """Write each notebook again."""
    for name in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(name, Path(folder)), FOLDER / name)


if __name__ == "__main__":
    main()
