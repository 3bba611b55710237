"""A program whose equations follow the order of a set of strings."""

from parity_tests import program


@program(args=(1.0,))
def walks(x):
    for name in {*"abcdefgh"}:
        x = 2 * x + ord(name)
    return x
