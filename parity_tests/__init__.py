"""The differential tester: programs, sides, measure -> judge -> report, and the command line.

Importing this package does not import JAX, because the command line must answer `--help` at once
and because a side is chosen in the environment of a process that has not imported JAX yet.

`constparity bisect` imports it before pytest starts, which would warn that it cannot rewrite its
assertions, and fail where warnings are errors, but for this word: PYTEST_DONT_REWRITE.
"""

from parity_tests.program import Program, ProgramError, program

__all__ = ["Program", "ProgramError", "program"]
