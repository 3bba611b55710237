"""What processes find of one program, as files and answers hold it; JAX is not imported for it."""

from __future__ import annotations

from pydantic import Field

from reports.rows import Hazard
from reports.rows.row import Row


class HazardsFound(Row):
    """The hazards of one program, or in `not_detected` why nobody knows them.

    `again` says that another process may still detect them. `reads` has what the program read in
    simplified form before its process ended, as `parity_tests.observe.reads.recorder` writes it.
    """

    hazards: tuple[Hazard, ...] = ()
    not_detected: str = ""
    again: bool = False
    reads: str = ""


class SettingsFound(Row):
    """The number of devices, JAX's settings, and the variables that the import has set.

    `raised` says what the import raised; "" where it went well.
    """

    devices: int
    settings: dict[str, str]
    variables: dict[str, str] = Field(default_factory=dict)
    raised: str = ""


class NumberedStep(Row):
    """One operation of a program that was numbered: its number and those of its operands.

    `said` has the texts of its params by name.
    """

    number: str
    name: str
    operands: tuple[str, ...]
    said: dict[str, str]
    file: str
    line: int


class NumberedSteps(Row):
    """The operations of a program in their order, and why there are none where there are none.

    `digest` is the program's, as its observation has it.
    """

    digest: str = ""
    steps: tuple[NumberedStep, ...] = ()
    none: str = ""


class NumberedForms(Row):
    """The operations of each form of a program that was asked for, in this order.

    `types` are those of its arguments and results, as its observation has them.
    """

    forms: tuple[NumberedSteps, ...]
    types: str = ""


class ModuleEvaluated(Row):
    """The inputs on which a module was evaluated; the results on each are in a file.

    `digest` is the number of the module. `why_not` says why there are no more results.
    """

    digest: str = ""
    inputs: tuple[str, ...] = ()
    why_not: str = ""
