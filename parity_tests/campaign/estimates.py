"""How long what comes next will take, in words: by a rule before anything ran, then by what ran.

Before the first run, one thing is known of this machine: the process that listed the programs
imported JAX and their modules, as each process that measures them will. What a program takes is a
rule, which the sentence states, and the first run replaces it by what it took.
"""

from __future__ import annotations

from collections.abc import Callable

from reports.views.texts import counted

# The programs of the built-in corpus take less, and a program that compiles for long takes more.
SECONDS_OF_A_PROGRAM = 1.0

# Called with a sentence for the user, before something long begins.
Announce = Callable[[str], object]


def by_rule(what: str, processes: int, programs: int, start: float) -> str:
    """Say how long processes will take, one after the other, that each run all programs.

    `start` is how many seconds the process that listed the programs took.

    Example::

        by_rule("5 rounds", 40, 12, 3.0)
        # "5 rounds will take about 10 min by a rule: 40 processes, one at a time, start in 3 s
        # each, as the one that listed the programs did, and take 1 s for each of 12 programs"
    """
    seconds = processes * (start + programs * SECONDS_OF_A_PROGRAM)
    return (
        f"{what} will take {spoken(seconds)} by a rule: {processes} processes, one at a time, "
        f"start in {start:.0f} s each, as the one that listed the programs did, and take "
        f"{SECONDS_OF_A_PROGRAM:.0f} s for each of {counted(programs, 'program')}"
    )


def spoken(seconds: float) -> str:
    """Write a time as one would say it.

    Example::

        >>> spoken(3), spoken(200), spoken(4000)
        ('a few seconds', 'about 3 min', 'about 1 h 7 min')
    """
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    parts = [f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes)
    return f"about {' '.join(parts)}"
