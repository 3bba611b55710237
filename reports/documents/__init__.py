"""Each kind of result as a document: `reports/rows/NAME.py` has its rows.

A file `NAME.py` in this folder has the function `document` for the rows of that name. A new kind of
result is these two files and a line in `reports/kinds.py`, and every renderer writes it.
"""

from __future__ import annotations

from importlib import import_module

from reports.document import Document
from reports.rows.row import Row


def document(result: Row) -> Document:
    """Return a result as the document that its file in this folder makes of it.

    Example::

        document(load_campaign("result.json")).answer == "flip: no"
    """
    name = type(result).__module__.rpartition(".")[2]
    made: Document = import_module(f"{__name__}.{name}").document(result)
    return made
