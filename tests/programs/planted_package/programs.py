"""Two programs, and names beside them that are none."""

from parity_tests import program


@program(args=(1,))
def first(x):
    return x


@program
def second():
    return first, (1,)


def factory():
    return first, (2,)


def helper(x):
    return x


number = 3


class Space:
    def inside():
        return first, (3,)
