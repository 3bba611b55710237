"""Texts of exceptions, whatever their own `__str__` does, and names of signals."""

from __future__ import annotations

import re
import signal
import traceback

# Of an object: in hexadecimal digits, or as `id` has it on a machine of 64 bits.
_ADDRESS = re.compile(r"(?: at )?\b0x[0-9a-fA-F]{6,}\b|\b\d{14,15}\b")


def are_alike(one: str, other: str) -> bool:
    """Say whether two texts are one but for the addresses and ids of objects in them.

    Example::

        are_alike("no <A at 0x7f3a10>", "no <A at 0x7fb2c8>")
    """
    return without_ids(one) == without_ids(other)


def without_ids(text: str) -> str:
    """Return a text without the addresses and ids of objects, which are others in each process.

    Example::

        without_ids("no <A at 0x7f3a10>") == "no <A>"
    """
    return _ADDRESS.sub("", text)


def first_line(text: str) -> str:
    """Return the first line of what an exception says; "" where it says nothing.

    Where the first line of a message of JAX ends with a colon, the next says what matters.

    Example::

        first_line("Cannot lower:\\n  no types\\n  at f") == "Cannot lower: no types"
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    return " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])


def said_by(error: BaseException) -> str:
    """Return the text of an exception, or why it has none.

    Example::

        said_by(ValueError("no")) == "no"
    """
    # A user's exception may do anything at all when its text is asked for.
    try:
        return str(error)
    except Exception as other:  # noqa: BLE001
        return f"its text could not be read: __str__ raised {type(other).__name__}"


def named(error: BaseException) -> str:
    """Return the type and the first line of an exception.

    Example::

        named(ValueError("no")) == "ValueError: no"
    """
    said = first_line(said_by(error))
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def formatted(error: BaseException) -> str:
    """Return the traceback of an exception as text, or what can be said of it.

    Example::

        formatted(error).startswith("Traceback")
    """
    # As above: Python asks a syntax error for its line, and any exception for its notes.
    try:
        return "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001
        return "".join(traceback.format_tb(error.__traceback__))


def signal_name(number: int) -> str:
    """Return the name of a signal, as a shell does for those of real time.

    Example::

        (signal_name(9), signal_name(40)) == ("SIGKILL", "SIGRTMIN+6")
    """
    named = {int(each): each.name for each in signal.Signals}
    return named.get(number) or f"SIGRTMIN{number - signal.SIGRTMIN:+}"
