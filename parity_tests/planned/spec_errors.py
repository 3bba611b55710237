"""What is wrong with a spec: each place that a record refuses, in words of TOML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from parity_tests.suggestions import close

# What is written in brackets, where a table of a list is wanted.
_TABLES = ("corpus", "library", "environment")
_KNOWN = '{ tests = ["*::test_name"], why = "..." }'


def said(error: ValidationError, keys: Sequence[str]) -> str:
    """Say where a spec is wrong and how, one part for each place; `keys` are those that it has.

    Example::

        said(error, keys) == "campaign timeout: write a number, without quotes"
    """
    return "; ".join(
        f"{_place(each['loc'])}: {_what(each, keys)}" for each in error.errors(include_url=False)
    )


def _place(where: tuple[int | str, ...]) -> str:
    words = [f"{part + 1}" if isinstance(part, int) else part for part in where]
    return " ".join(words) or "the file"


def _what(error: ErrorDetails, keys: Sequence[str]) -> str:
    kind, given, where = error["type"], error["input"], error["loc"]
    bounds: Mapping[str, Any] = error.get("ctx", {})
    key = next((part for part in reversed(where) if isinstance(part, str)), "")
    unquoted = ", without quotes" if isinstance(given, str) else ""
    match kind:
        case "extra_forbidden":
            return f"there is no such key{close(key, keys)}"
        case "missing":
            return "it is missing"
        case "string_type":
            return "write a text, in quotes" + _as_text(given, '"{}"')
        case "float_type":
            return f"write a number{unquoted}"
        case "int_type":
            return f"write a whole number{unquoted}"
        case "finite_number":
            return "write a finite number"
        case "bool_type":
            return f"write true or false{unquoted}"
        case "literal_error":
            return f"write {bounds['expected']}"
        case "greater_than":
            return f"write a number greater than {bounds['gt']:g}"
        case "greater_than_equal":
            return f"write {bounds['ge']:g} or more"
        case "less_than_equal":
            return f"write {bounds['le']:g} or less"
        case "tuple_type" | "model_type" if key in _TABLES:
            return f"write a table under [[{key}]], in two pairs of brackets"
        case "tuple_type" | "model_type" if key == "known":
            return f"write a list of tables, as [{_KNOWN}]"
        case "tuple_type":
            return "write a list, in brackets" + _as_text(given, '["{}"]')
        case "model_type":
            return f"write a table under [{key}], in one pair of brackets"
    return error["msg"].removeprefix("Value error, ")


def _as_text(given: object, form: str) -> str:
    """Show how a value is written in the right way, where it is one word of TOML.

    A number is no longer as it was written: 0.10 is 0.1 here.
    """
    if isinstance(given, (dict, tuple, float)):
        return ""
    text = str(given).lower() if isinstance(given, bool) else str(given)
    return f", as {form.format(text)}"
