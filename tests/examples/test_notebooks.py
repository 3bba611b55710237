"""The notebooks of docs/examples hold the outputs that their cells have today."""

import re

import nbformat
import pytest
import write_notebooks

AGAIN = "its outputs are stale: python tests/examples/write_notebooks.py"


def outputs(notebook):
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", write_notebooks.NOTEBOOKS)
def test_cells_that_are_quick_have_the_outputs_of_today(name, tmp_path):
    is_slow = write_notebooks.is_slow
    kept = nbformat.read(write_notebooks.FOLDER / name, as_version=4)
    kept.cells = [cell for cell in kept.cells if not is_slow(cell)]
    fresh = write_notebooks.executed(name, tmp_path, leave_out=is_slow)
    assert outputs(fresh) == outputs(kept), AGAIN


@pytest.mark.deep
@pytest.mark.parametrize("name", write_notebooks.NOTEBOOKS)
def test_a_notebook_is_what_running_it_writes(name, tmp_path):
    kept = nbformat.read(write_notebooks.FOLDER / name, as_version=4)
    assert write_notebooks.executed(name, tmp_path) == kept, AGAIN


@pytest.mark.parametrize("name", write_notebooks.NOTEBOOKS)
def test_it_says_nothing_of_the_machine(name):
    text = (write_notebooks.FOLDER / name).read_text("utf-8")
    assert not re.search(r"/home|/root|/tmp|/usr|site-packages|ipykernel_|kernelspec|\\u001b", text)
