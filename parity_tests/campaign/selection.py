"""Which of the programs that targets name are run: by name, by tag, and by target."""

from __future__ import annotations

import os

from parity_tests.campaign import name_expression
from parity_tests.processes.protocol import Listed, Record


class Selection(Record):
    """What a program must be to be run; without anything, every program is.

    `expression` is that of `-k`. A program has one of the `tags`. `targets` are programs as
    `target_key` writes them; None means all, and an empty tuple none.
    """

    expression: str = ""
    tags: tuple[str, ...] = ()
    targets: tuple[str, ...] | None = None

    def takes(self, program: Listed) -> bool:
        """Say whether a program is run. Raises `NameExpressionError`.

        Example::

            Selection(expression="scan or cond", tags=("slow",)).takes(program)
        """
        return (
            (
                not self.expression.strip()
                or name_expression.parse(self.expression)([program.name, *program.tags])
            )
            and (not self.tags or bool(set(self.tags) & set(program.tags)))
            and (self.targets is None or target_key(program.target) in self.targets)
        )


def target_key(target: str) -> str:
    """Write a target so that two ways to name one file are one text.

    Example::

        target_key("./programs/../model.py:step") == "model.py:step"
    """
    module_part, colon, name = target.rpartition(":")
    is_file = module_part.endswith(".py") or os.sep in module_part
    return f"{os.path.relpath(module_part) if is_file else module_part}{colon}{name}"
