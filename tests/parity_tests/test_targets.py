"""Targets: files, modules, folders and names of programs are found."""

import shutil
import sys

import pytest
from program_files import TESTS, line_with

from parity_tests import targets
from parity_tests.marked_programs import programs_in
from parity_tests.targets import MissingModuleError, TargetError, Unavailable

NEEDS = "import a_library_that_is_not_installed\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of three modules in the working directory, forgotten afterwards."""
    folder = tmp_path / "planted_package"
    planted = TESTS / "programs" / "planted_package"
    shutil.copytree(planted, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "broken.py").write_text("raise LookupError('no luck')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if "planted_package" in name or name.startswith("constparity_target"):
            del sys.modules[name]  # JAX, which one of them imports, cannot be imported twice


@pytest.fixture
def folder(package):
    """A directory with programs somewhere below it, one without, and a file beside both."""
    deep = package.parent / "folder" / "deep"
    deep.mkdir(parents=True)
    shutil.copy(package / "programs.py", deep)
    (deep.parent / "script.py").write_text("import parity_tests\nraise SystemExit(3)\n")
    (deep.parent / "no_python.py").write_text("parity_tests (\n")
    for hidden in (".venv", "__pycache__", "site-packages"):
        (deep / hidden).mkdir()
        shutil.copy(package / "programs.py", deep / hidden)
    (package.parent / "empty").mkdir()
    (package.parent / "empty" / "a.py").write_text("program = 3\n")
    (package.parent / "top_level.py").write_text((package / "programs.py").read_text())
    return deep.parent


def names(*targets_):
    return [each.name for each in targets.load(targets_)]


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("a.b:c", ("a.b", "c")),
        ("a/b.py:c", ("a/b.py", "c")),
        ("a.b", ("a.b", None)),
        ("a/b.py", ("a/b.py", None)),
        ("C:/a/b.py", ("C:/a/b.py", None)),
        ("C:/a/b.py:c.d", ("C:/a/b.py", "c.d")),
        ("a/b.py::c", ("a/b.py", "c")),
        ("a/b.py::C::d", ("a/b.py", "C.d")),
        ("a.b::c", ("a.b", "c")),
    ],
)
def test_a_target_splits(target, parts):
    assert targets.split(target) == parts


@pytest.mark.parametrize("where", ["planted_package.programs", "planted_package/programs.py"])
def test_modules_and_files_load_alike(package, where):
    assert names(where) == ["first", "second"]
    assert names(f"{where}:second") == names(f"{where}::second") == ["second"]
    assert names(f"{where}::Space::inside") == ["inside"]
    assert names(f"{where}:factory") == ["factory"]
    assert names(f"{where}:Space.inside") == ["inside"]
    assert targets.load_one(f"{where}:first").target == f"{where}:first"


def test_a_directory_is_the_programs_of_its_files(folder):
    found = targets.load(["folder"])
    assert [each.target for each in found] == [
        "folder/deep/programs.py:first",
        "folder/deep/programs.py:second",
    ]
    assert names("folder/") == names("./folder/deep") == ["first", "second"]


def test_a_directory_is_listed_file_by_file_those_that_do_not_parse_among_them(folder):
    (folder / "broken.py").write_text("from parity_tests import program\n\n@program(\n")
    (folder / "of_python_2.py").write_text("print 'a word on parity_tests'\n")
    parts = ("folder/broken.py", "folder/deep/programs.py", "other:name")
    assert targets.parts(["folder", "other:name", "./folder/deep/..", "folder"]) == (
        *parts,
        "folder/deep/../broken.py",
        "folder/deep/../deep/programs.py",
    )
    with pytest.raises(targets.FailedImportError, match=r"importing folder/broken.py raised Synta"):
        targets.load(["folder"])


def test_what_pythons_library_raises_is_placed_at_the_line_that_called_it(folder):
    (folder / "broken.py").write_text("import json\n\nSETTINGS = json.loads('{x')\n")
    with pytest.raises(targets.FailedImportError, match=r" \(folder/broken.py:3\)$"):
        targets.load(["folder/broken.py"])


def test_a_directory_names_no_one_program(folder):
    with pytest.raises(TargetError, match="'folder' names no program: write folder/deep/progra"):
        targets.load_one("folder")


def test_a_stand_alone_file_is_one_program_of_its_name(folder):
    """As `constparity reduce` writes it, and `pytest --constparity-collect` many of them."""
    text = "SIDES = ()\nSHOWS = {}\n\n\ndef program():\n    return len, ([],)\n"
    for name in ("b", "a"):
        (folder / f"{name}.py").write_text(f"{text}# parity_tests.cli\n")
    assert names("folder") == ["a", "b", "first", "second"]
    assert names("folder/b.py") == names("folder/b.py:program") == ["b"]
    assert targets.load_one("folder/a.py:program").name == "a"


def test_a_package_without_programs_of_its_own_is_a_directory(package):
    (package / "broken.py").unlink()
    assert names("planted_package")[:3] == ["step", "loss", "squares"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from parity_tests import program\n@program\ndef f(): ...", ["f"]),
        ("import parity_tests as pt\n@pt.program(args=(1,))\ndef f(x): ...", ["f"]),
        ("from parity_tests.program import program as p\ng = p(args=(1,))(len)", ["g"]),
        ("from parity_tests import program\nm = program(args=(1,))\ng = m(len)", ["g"]),
        ("import parity_tests\nclass A:\n  @parity_tests.program\n  def f(): ...", ["A.f"]),
        ("from parity_tests import targets\n@program\ndef f(): ...", []),
        ("def f(): ...  # parity_tests", []),
        ("SIDES = ()\nSHOWS = {}\ndef program(): ...  # parity_tests.cli", ["program"]),
        ("SIDES = ()\ndef program(): ...  # parity_tests.cli", []),
    ],
)
def test_programs_are_found_without_an_import(tmp_path, source, found):
    (tmp_path / "a.py").write_text(source)
    assert programs_in(tmp_path / "a.py") == found


def test_a_program_named_twice_is_loaded_once(package):
    assert names("planted_package.programs:first", "planted_package.programs") == [
        "first",
        "second",
    ]


def test_programs_that_a_module_imported_are_not_its_own(package):
    assert names("planted_package.importer") == []
    assert names("planted_package.importer:first") == ["first"]


def test_programs_belong_to_the_module_that_marks_them(package):
    """Whatever they are made of: functions of other modules, their derivatives, partials."""
    for where in ("planted_package.for_ci", "planted_package/for_ci.py"):
        found = targets.load([where])
        assert [each.target.rpartition(":")[2] for each in found] == [
            "step", "gradient", "squares", "own",
        ]  # fmt: skip
        squares = found[2]
        assert (squares.name, squares.summary) == ("squares", "Squares.")
        line = line_with(package / "model.py", "def loss")
        assert squares.source == f"planted_package/model.py:{line}"


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("planted_packag", r"no module 'planted_packag' on sys.path.*did you mean planted_package"),
        ("planted_package.program", r"no module 'program' in planted_package.*mean programs\?"),
        ("planted_package.programs:frist", r"has no 'frist'; did you mean first\?"),
        ("planted_package.programs:zebra", r"has no 'zebra'; it has the programs first"),
        ("planted_package.programs:number", r"is int, not a function"),
        ("planted_package.programs:helper", r"helper takes arguments: mark it"),
        ("planted_package/programs.py:frist", r"has no 'frist'; did you mean first\?"),
        ("planted_package/program.py", r"no file 'program.py' in .*did you mean programs.py\?"),
        ("nowhere/a.py", r"no folder 'nowhere'"),
        ("planted_package.broken", r"(?s)importing .* raised LookupError: no luck.*broken.py"),
        ("planted_package.programs:", r"nothing after the colon"),
        ("planted_package.programs::", r"nothing after the colon"),
        ("planted_package.broken", r"LookupError: no luck \(planted_package.broken.py:1\)$"),
        ("sceond", r"no module 'sceond'.*; did you mean top_level.py:second\?$"),
        ("grad_of_scn", r"; did you mean parity_tests.corpus.derivatives:grad_of_scan or "),
        ("jsno", r"no module 'jsno' on sys.path or in the working directory [^;]*$"),
        (
            "folder:first",
            r"'folder' is a directory, .*; did you mean folder/deep/programs.py:first",
        ),
        ("planted_package.programs:jxa", r"has no 'jxa'; it has the programs first, second$"),
        (
            "empty",
            r"directory 'empty' has no programs: none of its Python files \(1\) marks a func",
        ),
    ],
)
def test_a_missing_target_names_what_where_and_what_is_close(package, folder, target, complaint):
    with pytest.raises(TargetError, match=complaint):
        targets.load([target])


def test_a_program_in_a_file_that_is_missing_is_told_before_anything_is_imported(package, folder):
    with pytest.raises(TargetError, match=r"no file 'program.py' in .*did you mean programs.py\?"):
        targets.check_names_one("planted_package/program.py:first")


@pytest.mark.parametrize(
    ("target", "module"),
    [
        ("planted_package/needs.py", "a_library_that_is_not_installed"),
        ("planted_package.needs:step", "a_library_that_is_not_installed"),
        ("planted_package", "a_library_that_is_not_installed"),
        ("planted_package.no_such_module", "planted_package.no_such_module"),
        ("a_library_that_is_not_installed.programs", "a_library_that_is_not_installed"),
    ],
)
def test_a_module_that_is_missing_is_told_from_other_errors(package, target, module):
    (package / "needs.py").write_text(NEEDS)
    if target == "planted_package":
        (package / "__init__.py").write_text(NEEDS)
    with pytest.raises(MissingModuleError) as raised:
        targets.load([target])
    assert raised.value.module == module


@pytest.mark.parametrize(
    "target", ["no_such_file.py", "planted_package.broken", "planted_package.programs:no_such_name"]
)
def test_what_is_wrong_otherwise_is_no_missing_module(package, target):
    with pytest.raises(TargetError) as raised:
        targets.load([target])
    assert not isinstance(raised.value, MissingModuleError)


def test_one_program_needs_a_name(package):
    with pytest.raises(TargetError, match="names no program: write planted_package:NAME"):
        targets.load_one("planted_package")


@pytest.fixture
def corpus(package, monkeypatch):
    """A corpus of one module that loads and one whose library is missing."""
    (package / "needs.py").write_text(NEEDS)
    modules = ("planted_package.programs", "planted_package.needs")
    monkeypatch.setattr(targets, "corpus_modules", lambda: modules)


def test_no_target_is_the_corpus_and_a_missing_library_a_reason(corpus):
    *programs, missing = targets.load([])
    assert [each.name for each in programs] == ["first", "second"]
    assert missing == Unavailable(
        "needs",
        "planted_package.needs",
        "a_library_that_is_not_installed is not installed: install constparity[corpus]",
        is_missing=True,
    )


def test_a_missing_library_of_the_users_is_an_error(corpus):
    with pytest.raises(TargetError, match="a_library_that_is_not_installed"):
        targets.load(["planted_package.needs"])


def test_the_lock_of_an_editor_hides_no_folder(tmp_path):
    """Emacs leaves a link that leads nowhere beside a file that is being edited."""
    (tmp_path / ".#model.py").symlink_to("me@here.4711:1764000000")
    (tmp_path / "model.py").write_text(
        "from parity_tests import program\nstep = program(args=(1.0,))(lambda x: x)\n"
    )
    [found] = targets.load([str(tmp_path)])
    assert found.target.endswith("model.py:step")


MARKS = """
import functools
from parity_tests import program

def function(number):
    return lambda x: x + number

mark = program(args=(1.0,))
first = mark(function(1))
first = program(args=(2.0,))(first)  # once more, and it has its name
again = functools.wraps(first)(function(1))
def inside_a_list(x):
    return x
table = [mark(inside_a_list)]
del inside_a_list

class Inside:
    @mark
    def method(x):
        return x

@mark
def twice(x):
    return x

@mark
def twice(x):
    return -x
"""


def test_functions_that_are_marked_and_have_no_name_are_said(tmp_path):
    file = tmp_path / "marks.py"
    file.write_text(MARKS)
    for target in (file, tmp_path):
        found = targets.load([str(target)])
        lost = [each for each in found if isinstance(each, Unavailable)]
        assert [each.target.rpartition("/")[2] for each in lost] == [
            "marks.py:12:inside_a_list", "marks.py:18:method", "marks.py:22:twice",
        ]  # fmt: skip
        assert all("name of its own in the module" in each.reason for each in lost)
        names = [each.target.rpartition(":")[2] for each in found if each not in lost]
        assert names == ["first", "again", "twice"]


def test_each_function_that_a_loop_marks_is_said(tmp_path):
    file = tmp_path / "loop.py"
    file.write_text(
        "from parity_tests import program\nfor n in range(3):\n"
        "    @program(name=f'step{n}', args=(1.0,))\n    def step(x):\n        return x\n"
        "for n in range(3):\n    @program(args=(1.0,))\n    def other(x):\n        return x\n"
    )
    lost = [each for each in targets.load([str(file)]) if isinstance(each, Unavailable)]
    assert [each.name for each in lost] == ["step0", "step1", "other"]
    assert [each.reason.partition(",")[0] for each in lost] == [
        "it is marked", "it is marked", "it is marked 2 times",
    ]  # fmt: skip


def test_sizes_of_a_program_are_targets(tmp_path):
    file = tmp_path / "sized.py"
    file.write_text(
        "import parity_tests\n@parity_tests.program(sizes=(10, 40))\n"
        "def loop(n):\n    return abs, (n,)\n"
    )
    both = [f"{file}:loop.n10", f"{file}:loop.n40"]
    assert [each.target for each in targets.load([str(file)])] == both
    assert [each.target for each in targets.load([f"{file}:loop"])] == both
    assert targets.load_one(both[1]).build() == (abs, (40,), {})
    with pytest.raises(TargetError, match=r"sized.py:loop has sizes: name one, as .*loop.n10"):
        targets.load_one(f"{file}:loop")


@pytest.mark.usefixtures("interruptible")
def test_a_key_that_a_user_presses_is_told_from_an_exception_that_a_module_raises(package):
    raises, pressed = package.parent / "raises.py", package.parent / "pressed.py"
    raises.write_text("raise KeyboardInterrupt('no')\n")
    pressed.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nx = [0] * 9\n")
    with pytest.raises(targets.FailedImportError, match="raised KeyboardInterrupt: no"):
        names(str(raises))
    with pytest.raises(KeyboardInterrupt):
        names(str(pressed))
