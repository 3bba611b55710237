"""Writing: a draft as a stand-alone Python file, with an .npz beside it where numbers matter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from parity_tests.reduce import harness
from parity_tests.reduce.draft import Draft, Store, unwritable
from parity_tests.reduce.draft_to_python import ProgramText, in_docstring
from reports.output.files import write_atomically


@dataclass(frozen=True)
class Written:
    """The text of a file, and the bytes of the .npz beside it, if there is one.

    `program` is the part of the text that makes the program.
    """

    text: str
    arrays: bytes | None
    program: str = ""

    def save(self, file: Path) -> None:
        """Write both, each under another name first, so that a file is there whole or not.

        Raises `ReportPathError` where one of them cannot be written; a new file leaves no arrays.
        """
        beside, is_new = file.with_suffix(".npz"), not file.is_file()
        try:
            if self.arrays is not None:
                write_atomically(beside, self.arrays)
            write_atomically(file, self.text)
        except OSError:
            if is_new:
                beside.unlink(missing_ok=True)
            raise


class CannotWriteError(ValueError):
    """A draft has equations without a call of stock JAX; the message names them."""


def write(
    draft: Draft,
    store: Store,
    *,
    header: str,
    sides: tuple[str, str],
    shows: Mapping[str, Any],
    all_beside: bool = False,
    donated: Sequence[int] | None = None,
    aliases: Mapping[int, int] = MappingProxyType({}),
) -> Written:
    """Write a draft as a file that runs it on two sides and exits with 1 where they differ.

    `header` is the docstring of the file, `shows` tells the harness which metric to compare. With
    `all_beside` no array stands in the text. `donated` are the numbers of arguments that the
    program, one jitted function, donates; None says that it is not jitted. `aliases` are numbers
    of arrays that are another array, by its number. Raises `CannotWriteError`.
    """
    if found := unwritable(draft):
        raise CannotWriteError("; ".join(found))
    writer = ProgramText(draft, store, all_beside=all_beside)
    program = writer.program(donated=donated, aliases=aliases)
    return Written(_file(draft, header, program, sides, shows), writer.npz(), program)


def _file(
    draft: Draft,
    header: str,
    program: str,
    sides: tuple[str, str],
    shows: Mapping[str, Any],
) -> str:
    devices = 1 + max((each.device or 0 for each in (*draft.arguments, *draft.captured)), default=0)
    lines = [f'"""{in_docstring(header)}"""', "", *_STANDARD, ""]
    if devices > 1:
        lines += [
            "# On CPU, as many devices as the program has arrays on; before JAX is imported.",
            'if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):',
            '    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (',
            f'        " --xla_force_host_platform_device_count={devices}"',
            "    )",
            "",
        ]
    lines += ["import jax"]
    lines += ["import ml_dtypes"] if _uses(program, "ml_dtypes") else []
    lines += ["import numpy as np"]
    lines += ["from jax import lax"] if _uses(program, "lax") else []
    lines += ["from jax.extend import random"] if _uses(program, "random") else []
    lines += ["from jax.extend.core import primitives"] if _uses(program, "primitives") else []
    lines += ["", f'jax.config.update("jax_enable_x64", {draft.x64})']
    lines += [f"SIDES = {sides!r}", f"SHOWS = {dict(shows)!r}", "", "", program, "", ""]
    copied = Path(harness.__file__).read_text("utf-8").split("# -- the text that is copied ")[1]
    lines += ["# -- what runs it " + "-" * 83, "", "", copied.split("\n", 1)[1].strip(), ""]
    return "\n".join(lines)


_STANDARD = (
    "import json", "import os", "import subprocess", "import sys", "import tempfile",
    "from pathlib import Path", "from typing import Any",
)  # fmt: skip


def _uses(program: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){name}\.", program) is not None
