"""Target strings: how a program is named on a command line and found again in another process.

`package.module:name` and `path/to/file.py:name` name one program, and so does `::` as pytest has
it. `package.module` and `path/to/file.py` name every program in the module, and a directory every
program in its files. The program of a stand-alone file has the file's name. No target at all is the
built-in corpus.
"""

from __future__ import annotations

import contextlib
import dis
import hashlib
import importlib
import importlib.util
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from parity_tests import own_packages, suggestions
from parity_tests.exception_texts import said_by
from parity_tests.marked_programs import (
    STAND_ALONE,
    files_with_programs,
    programs_in,
    python_files,
    unreadable,
)
from parity_tests.program import (
    Program,
    ProgramError,
    each_size,
    mark_of,
    marked_without_a_name,
)

CORPUS = "parity_tests.corpus"
CORPUS_HINT = "install constparity[corpus]"

# The working directory that a module changed to when it was imported, by the module's name.
_moved_to: dict[str, str] = {}


class TargetError(LookupError):
    """A target cannot be found: the message says which part, where, and which names are close."""


class MissingModuleError(TargetError):
    """A target cannot be imported, for `module` is not installed, or has no such part there."""

    def __init__(self, text: str, module: str) -> None:
        super().__init__(text)
        self.module = module


class FailedImportError(TargetError):
    """A module or file of a target raised when it was imported; the message says what and where."""


class MissingImportError(FailedImportError, MissingModuleError):
    """As above, for a module that it imports is not installed."""


@dataclass(frozen=True)
class Unavailable:
    """What cannot run: a corpus module without its library, a file, or a function without a name.

    The file cannot be imported, and the function cannot be found in its module again. `is_missing`
    says whether a module is not installed, which another environment may have.
    """

    name: str
    target: str
    reason: str
    is_missing: bool = False


def load(targets: Sequence[str]) -> tuple[Program | Unavailable, ...]:
    """Load the programs of target strings, or of the built-in corpus where there are none.

    A program that two targets name is loaded once. Raises `TargetError`.

    Example::

        load(["examples/model.py:step", "my_package.programs"])
    """
    if not targets:
        found = [each for module in corpus_modules() for each in _load_corpus_module(module)]
    else:
        with _readable():
            found = [each for target in targets for each in _load_target(target)]
    return tuple({each.target: each for each in found}.values())


def parts(targets: Sequence[str]) -> tuple[str, ...]:
    """Return targets with the files that have programs in the place of directories.

    Raises `TargetError` where a directory has none or cannot be read, and where a file is missing.

    Example::

        parts(["models", "my_package.programs"]) == ("models/a.py", "my_package.programs")
    """
    with _readable():
        found = [part for target in targets for part in _parts_of(target)]
    return tuple(dict.fromkeys(found))


def _parts_of(target: str) -> list[str]:
    module_part, _ = split(target)
    if _is_folder(module_part):
        return list(map(str, _files_in(target)))
    if module_part.endswith(".py"):
        _check_is_there(Path(module_part))
    return [target]


def check_names_one(target: str) -> tuple[str, str]:
    """Return the module and the name of a target of one program; nothing is imported.

    Raises `TargetError` where it names a module, a file or a folder alone, or a file that is not
    there.

    Example::

        check_names_one("my_model.py:step") == ("my_model.py", "step")
    """
    module_part, name = split(target)
    if name is None:
        with _readable():
            below = _targets_below(Path(target)) if _is_folder(target) else []
        example = next(iter(below), f"{target}:NAME")
        raise TargetError(f"{target!r} names no program: write {example}")
    if module_part.endswith(".py"):
        _check_is_there(Path(module_part))
    return module_part, name


def load_one(target: str) -> Program:
    """Load the one program of a `module:name` target string. Raises `TargetError`.

    Where the import of its module changed the working directory, this process changes to it, too.
    """
    module_part, name = check_names_one(target)
    with _readable():
        module = _import(module_part)
    program = _named_program(module, module_part, name)
    os.chdir(_moved_to.get(module.__name__, "."))
    return program


def split(target: str) -> tuple[str, str | None]:
    """Split a target into its module or file, and its name or None.

    Raises `TargetError` where nothing follows the colon.

    Example::

        split("a/b.py:f") == split("a/b.py::f") == ("a/b.py", "f")
    """
    module, double_colon, inside = target.partition("::")
    if double_colon and module and inside:
        return module, inside.replace("::", ".")
    target = target.replace("::", ":")
    module_part, colon, name = target.rpartition(":")
    # A colon may also follow a drive letter; then the rest is a path and no name.
    if not colon or not name.replace(".", "_").isidentifier() or not module_part:
        if colon and not name:
            raise TargetError(f"{target!r} has nothing after the colon: write MODULE:NAME")
        return target, None
    if name == "py" or target.endswith(".py"):
        return target, None
    return module_part, name


def corpus_modules() -> tuple[str, ...]:
    """Return the names of the modules of the built-in corpus."""
    return tuple(importlib.import_module(CORPUS).MODULES)


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a source file in hexadecimal digits, or "" where there is no file.

    A campaign that is resumed compares it: a program whose source changed is another program.
    """
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


# -- finding programs in a module ------------------------------------------------------------------


def _load_corpus_module(module: str) -> list[Program | Unavailable]:
    try:
        return list(_programs_in(importlib.import_module(module), module))
    except ModuleNotFoundError as missing:
        root = (missing.name or "").partition(".")[0]
        if root in ("", "engine", "parity_tests", "reports"):
            raise  # a fault of this project, and no library that is not installed
        short = module.rpartition(".")[2]
        reason = f"{root} is not installed: {CORPUS_HINT}"
        return [Unavailable(short, module, reason, is_missing=True)]


def _load_target(target: str) -> Sequence[Program | Unavailable]:
    module_part, name = split(target)
    folder = Path(module_part)
    if _is_folder(module_part):
        return _load_files(_files_in(target))
    module = _import(module_part)
    if name is not None:
        return _named_programs(module, module_part, name)
    found = _programs_in(module, module_part)
    if folder.is_dir() and not found:
        return _load_files(_files_in(str(folder)))
    return [*found, *_without_a_name(module, module_part)]


def _is_folder(module_part: str) -> bool:
    """Say whether a target is a directory, and not a package that can be imported by its name."""
    folder = Path(module_part)
    is_package = module_part.isidentifier() and (folder / "__init__.py").is_file()
    return folder.is_dir() and not is_package


def _load_files(files: Sequence[Path]) -> list[Program | Unavailable]:
    return [each for file in files for each in _load_target(str(file))]


def _files_in(target: str) -> list[Path]:
    """Return the files with programs below the directory of a target."""
    module_part, name = split(target)
    folder = Path(module_part)
    if name is not None:
        raise TargetError(
            f"{str(folder)!r} is a directory, and {name!r} is looked for in a file or module"
            + suggestions.did_you_mean(
                each for each in _targets_below(folder) if each.endswith(f":{name}")
            )
        )
    if error := unreadable(folder):
        raise error
    files = files_with_programs(folder)
    if not files:
        searched = len(python_files(folder))
        raise TargetError(
            f"the directory {str(folder)!r} has no programs: none of its Python files ({searched}) "
            "marks a function with @parity_tests.program"
        )
    return files


def _programs_in(module: ModuleType, module_part: str) -> list[Program]:
    if _is_stand_alone(module):
        return [_named_program(module, module_part, "program")]
    return [
        program
        for name, value in vars(module).items()
        if _belongs_to(module, value)
        for program in each_size(value, f"{module_part}:{name}")
    ]


def _without_a_name(module: ModuleType, module_part: str) -> list[Unavailable]:
    return [
        Unavailable(
            name,
            f"{where}:{name}",
            f"it is marked{f' {many} times' if many > 1 else ''}, and "
            "its module has it under no name: it is in a list or a class, or another one took its "
            "name, as in a loop; give each a name of its own in the module, as with "
            "globals()[name] = ...",
        )
        for (name, where), many in marked_without_a_name(module).items()
    ]


def _is_stand_alone(module: ModuleType) -> bool:
    """Say whether a module is a file of `constparity reduce`, or of a suite that was collected."""
    return vars(module).keys() >= STAND_ALONE and callable(vars(module)["program"])


def _belongs_to(module: ModuleType, value: object) -> bool:
    """Say whether a value is a program that was marked or defined in a module.

    A program that was only imported belongs to the module that it came from.
    """
    mark = mark_of(value)
    return mark is not None and module.__name__ in (mark.module, getattr(value, "__module__", None))


def _named_program(module: ModuleType, module_part: str, name: str) -> Program:
    found = _named_programs(module, module_part, name)
    if len(found) > 1:
        raise TargetError(f"{module_part}:{name} has sizes: name one, as {found[0].target}")
    return found[0]


def _named_programs(module: ModuleType, module_part: str, name: str) -> list[Program]:
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise TargetError(
                f"{module_part} has no {name!r}"
                + (suggestions.close(name, _names_of_programs(module)) or _programs_named(module))
            )
        found = getattr(found, part)
    if not callable(found):
        raise TargetError(f"{module_part}:{name} is {type(found).__name__}, not a function")
    try:
        made = each_size(found, f"{module_part}:{name}")
    except ProgramError as error:
        raise TargetError(str(error)) from error
    if name == "program" and _is_stand_alone(module):
        return [replace(made[0], name=Path(str(module.__file__)).stem)]
    return made


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """Say of a file or directory of a target that cannot be read which it is, and why."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise TargetError(
            f"cannot read {os.path.relpath(error.filename)!r}: {error.strerror}"
        ) from error


# -- importing a module or a file ------------------------------------------------------------------


def _import(module_part: str) -> ModuleType:
    is_file = module_part.endswith(".py") or os.sep in module_part
    here = os.getcwd()
    # A user's module may raise any exception when it is imported: each is reported, with its
    # traceback, as a target that cannot be loaded.
    try:
        module = _import_file(module_part) if is_file else _import_module(module_part)
        if os.getcwd() != here:
            _moved_to[module.__name__] = os.getcwd()
        return module
    except TargetError:
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) and not _is_of_a_statement(error):
            raise  # from the keyboard
        if isinstance(error, OSError) and _is_of_target(error, module_part):
            raise
        text = f"importing {module_part} raised {type(error).__name__}: {said_by(error)}"
        text += _raised_at(error)
        if "no known parent package" in str(error):
            text += "; name the file as the module of its package, as in my_package.programs"
        if isinstance(error, ModuleNotFoundError) and error.name:
            raise MissingImportError(text, error.name) from error
        raise FailedImportError(text) from error
    finally:
        os.chdir(here)  # the other targets are relative to it


def _is_of_a_statement(error: BaseException) -> bool:
    """Say whether a `raise` statement has raised it, which a signal never runs at."""
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return tb is not None and (
        tb.tb_frame.f_code.co_code[tb.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    )


def _is_of_target(error: OSError, module_part: str) -> bool:
    """Say whether the file or directory of a target cannot be read, and not one that it opens."""
    return error.filename is not None and os.path.realpath(error.filename) == os.path.realpath(
        module_part
    )


def _import_module(module: str) -> ModuleType:
    parent = ""
    said = own_packages.collision_of(module.partition(".")[0])
    if said is not None:
        raise TargetError(said)
    own_packages.guard_imports()
    for part in module.split("."):
        name = f"{parent}.{part}" if parent else part
        try:
            spec = importlib.util.find_spec(name)
        except ValueError:  # a module without a spec, such as __main__, is imported already
            spec = None
            if name not in sys.modules:
                raise
        if spec is None and name not in sys.modules:
            where = f"in {parent}" if parent else "on sys.path or in the working directory"
            raise MissingModuleError(
                f"no module {part!r} {where} (from the target {module!r})"
                + (
                    suggestions.programs_here(part)
                    if not parent
                    else suggestions.close(part, suggestions.modules_below(parent))
                ),
                name,
            )
        parent = name
    return importlib.import_module(module)


def _check_is_there(file: Path) -> None:
    if file.is_file():
        return
    folder = file.parent
    if not folder.is_dir():
        raise TargetError(f"no folder {str(folder)!r} (from the target {str(file)!r})")
    raise TargetError(
        f"no file {file.name!r} in {str(folder.resolve())!r}"
        + suggestions.close(file.name, [each.name for each in folder.glob("*.py")])
    )


def _import_file(path_text: str) -> ModuleType:
    path = Path(path_text)
    _check_is_there(path)
    path = path.resolve()
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    # Not the bare stem, or `random.py` would replace the module of the standard library.
    name = f"constparity_target_{path.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path_text!r} is not a Python file")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # as `python file.py` does
    own_packages.guard_imports()
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


# -- what an error message suggests ----------------------------------------------------------------


def _programs_named(module: ModuleType) -> str:
    names = _names_of_programs(module)[:10]
    return f"; it has the programs {', '.join(names)}" if names else "; it has no programs"


def _names_of_programs(module: ModuleType) -> list[str]:
    return [each.target.rpartition(":")[2] for each in _programs_in(module, "")]


def _raised_at(error: BaseException) -> str:
    """Return the line that raised, or that called Python's library; of no Python, its line."""
    if isinstance(error, SyntaxError) and error.filename and os.path.isfile(error.filename):
        return f" ({os.path.relpath(error.filename)}:{error.lineno})"
    frames = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith("<frozen")
        and frame.f_code.co_filename not in (__file__, importlib.__file__)
    ]
    # Without an environment, packages are installed below the library.
    library, installed = (f"{sysconfig.get_path(each)}{os.sep}" for each in ("stdlib", "purelib"))
    ours = [each for each in frames if not each.startswith(library) or each.startswith(installed)]
    return f" ({os.path.relpath((ours or frames)[-1])})" if frames else ""


def _targets_below(folder: Path) -> list[str]:
    return [f"{file}:{name}" for file in files_with_programs(folder) for name in programs_in(file)]
