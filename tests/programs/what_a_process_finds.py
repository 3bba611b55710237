"""Programs that raise where their process can import some modules."""

from importlib.util import find_spec

from parity_tests import program


def raises_where_found(*names):
    def looks(x):
        if found := [name for name in names if find_spec(name)]:
            raise ImportError(f"found {found}")
        return x

    return looks, (1.0,)


@program
def the_engine():
    return raises_where_found("engine", "legacy_closedjaxpr", "simplified_consts")


@program
def installed_beside_the_parent():
    return raises_where_found("rich", "pytest", "psutil")


@program
def installed_there():
    return raises_where_found("pydantic")


@program
def on_the_users_path():
    return raises_where_found("only_on_the_users_path")
