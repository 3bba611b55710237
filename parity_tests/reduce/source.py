"""A program's source made smaller: statements and expressions are cut from its file.

For what a jaxpr no longer has: how Python, autodiff and vmap build a program under each flag. The
file is otherwise left as it is, so a program may use whatever its file imports.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re
import symtable
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.reduce.search import Found, smallest


def reduced(
    text: str,
    name: str,
    first_alike: Callable[[Sequence[str]], str | None],
    *,
    max_tries: float,
    seconds: float,
    on_round: Callable[[str], object] = lambda text: None,
) -> Found[str] | None:
    """Return the smallest file whose program `name` still shows what that of `text` shows.

    `first_alike` returns the first of some targets that does. None where `text` does not show it
    from another folder. Raises `SyntaxError`.

    Example::

        reduced(file.read_text(), "step", first_alike, max_tries=5000, seconds=600).best
    """
    with temporary_folder("reduce-") as folder:
        search = _Search(folder, name, first_alike)
        whole = _without_docstring(text)
        if (start := search.first_shown([_with_what_is_named(whole, name), whole])) is None:
            return None
        return smallest(
            start, search.candidates, search.first_shown, rounds=MOST_ROUNDS, max_tries=max_tries,
            seconds=seconds, on_round=on_round,
        )  # fmt: skip


MOST_ROUNDS = 1000  # each makes one cut


@dataclass
class _Search:
    """The files of the candidates, and which cuts were in vain: they are tried again last."""

    folder: Path
    name: str
    first_alike: Callable[[Sequence[str]], str | None]
    _best: str = ""
    _files: int = 0
    _in_vain: set[str] = field(default_factory=set)

    def candidates(self, text: str) -> list[str]:
        self._best = text
        return sorted(candidates(text), key=lambda each: _what_is_cut(text, each) in self._in_vain)

    def first_shown(self, tried: Sequence[str]) -> str | None:
        texts = {}
        for each in tried:
            self._files += 1
            file = self.folder / f"candidate_{self._files}.py"
            file.write_text(each, "utf-8")
            texts[f"{file}:{self.name}"] = each
        found = self.first_alike(list(texts))
        shown = None if found is None else texts[found]
        failed = tried if shown is None else tried[: tried.index(shown)]
        self._in_vain |= {_what_is_cut(self._best, each) for each in failed}
        return shown


def candidates(text: str) -> tuple[str, ...]:
    """Return texts with one cut each and no name that nothing defines, the smallest first.

    Example::

        candidates("def step(x):\\n    return x + 1\\n")[0] == "def step(x):\\n    pass\\n"
    """
    tree = ast.parse(text)
    cuts = {ast.unparse(tree) + "\n" for _ in _each_cut(tree)}
    found = [each for each in cuts if len(each) < len(text) and not _undefined(each)]
    return tuple(sorted(found, key=lambda each: (len(each), each)))


def _what_is_cut(text: str, smaller: str) -> str:
    """Return the part of a text that a smaller one has not, or has otherwise."""
    start = _alike(text, smaller)
    end = _alike(text[start:][::-1], smaller[start:][::-1])
    return text[start : len(text) - end]


def _alike(one: str, two: str) -> int:
    """Count the characters that two texts begin with."""
    pairs = zip(one, two, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _each_cut(tree: ast.AST) -> Iterator[None]:
    """Yield once for each cut, with the tree cut; afterwards it is whole again."""
    for node in list(ast.walk(tree)):
        for name, value in list(ast.iter_fields(node)):
            for smaller in _smaller(value):
                setattr(node, name, smaller)
                yield
            setattr(node, name, value)


def _smaller(value: Any) -> Iterator[Any]:
    """Yield what may stand for the value of a field: for a list or an expression, a part of it."""
    if isinstance(value, list):
        for place, each in enumerate(value):
            before, after = value[:place], value[place + 1 :]
            is_only = len(value) == 1 and isinstance(each, ast.stmt)
            yield [ast.Pass()] if is_only else [*before, *after]
            for inner in _smaller(each):
                yield [*before, *(inner if isinstance(inner, list) else [inner]), *after]
    elif isinstance(value, ast.With | ast.If | ast.For | ast.While | ast.Try):
        yield value.body
    elif isinstance(value, ast.expr) and isinstance(getattr(value, "ctx", ast.Load()), ast.Load):
        yield from _operands(value)


def _operands(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.Call):
        return [*value.args, *(each.value for each in value.keywords)]
    if isinstance(value, ast.Lambda | ast.Attribute):  # their parts are of another kind
        return []
    return [each for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr)]


def _undefined(text: str) -> bool:
    """Say whether a text is no Python, or reads a name that nothing in it defines."""
    try:
        module = symtable.symtable(text, "candidate", "exec")
    except SyntaxError:
        return True
    if re.search(r"^from \S+ import \*$", text, re.MULTILINE):
        return False  # what that defines is not known
    defined = {each.get_name() for each in module.get_symbols() if _is_bound(each)}
    return bool(_read_globals(module) - defined - set(dir(builtins)) - {"__file__", "__name__"})


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _read_globals(table: symtable.SymbolTable) -> set[str]:
    is_module = table.get_type() == "module"
    read = {
        each.get_name()
        for each in table.get_symbols()
        if each.is_referenced() and (is_module or each.is_global())
    }
    return read.union(*map(_read_globals, table.get_children()))


def _without_docstring(text: str) -> str:
    """Return a module without its docstring, so that another one may stand before it."""
    tree = ast.parse(text)
    tree.body = tree.body[ast.get_docstring(tree) is not None :]
    return ast.unparse(tree) + "\n"


def _with_what_is_named(text: str, name: str) -> str:
    """Return a module without the definitions that a program does not name, or what it names."""
    tree = ast.parse(text)
    binds = {number: _bound_by(each) for number, each in enumerate(tree.body)}
    kept = {number for number, names in binds.items() if not names}  # these may do something
    wanted = {name} | {each for number in kept for each in _names_in(tree.body[number])}
    while new := {n for n, names in binds.items() if n not in kept and names & wanted}:
        kept |= new
        wanted |= {each for number in new for each in _names_in(tree.body[number])}
    tree.body = [each for number, each in enumerate(tree.body) if number in kept]
    return ast.unparse(tree) + "\n"


def _bound_by(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(each.asname or each.name).partition(".")[0] for each in statement.names}
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return _names_in(statement, ast.Store)
    return set()


def _names_in(statement: ast.stmt, context: type[ast.expr_context] = ast.Load) -> set[str]:
    names = (each for each in ast.walk(statement) if isinstance(each, ast.Name))
    return {each.id for each in names if isinstance(each.ctx, context)}
