"""Where the programs and scripts of the tests are, and which line of a file has some text."""

from pathlib import Path

TESTS = Path(__file__).parent.parent


def program_file(name):
    """A file of tests/programs/, which a campaign runs."""
    return TESTS / "programs" / f"{name}.py"


def script_file(name):
    """A file of tests/scripts/, which a test runs in a process of its own."""
    return TESTS / "scripts" / f"{name}.py"


def line_with(file, text):
    """The number of the first line that has the text."""
    return next(n for n, line in enumerate(file.read_text().splitlines(), 1) if text in line)
