"""`contents_of`: one walk finds the Literals and the inner bodies of a body."""

from __future__ import annotations

import gc
import sys
import weakref

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from engine import jax_internals
from engine.ir import jaxprs
from engine.ir.jaxprs import contents_of, values_in


@pytest.fixture
def table():
    return np.arange(3.0, dtype=np.float32)


def test_literals_of_outputs_come_first(table):
    other = table + 1
    program = engine.make_jaxpr(lambda x: (x * table + 2.0, other), constants="simplified")
    found = contents_of(program(table))
    assert [np.ravel(literal.val).tolist() for literal in found.literals] == [
        *(other.tolist(), table.tolist(), [2.0])
    ]
    assert found.nested == []


def test_an_equation_with_bodies_comes_with_them_and_not_with_what_they_hold(table):
    def branches(x):
        return jax.lax.cond(jnp.any(x), lambda y: y + table, lambda y: y - table, x)

    program = engine.make_jaxpr(branches, constants="simplified")(table)
    [(eqn, bodies)] = contents_of(program).nested
    assert eqn.primitive.name == "cond"
    assert [body.eqns[0].primitive.name for body in bodies] == ["sub", "add"]
    assert contents_of(program).literals == []
    assert [len(contents_of(body).literals) for body in bodies] == [1, 1]
    assert [value.tolist() for value in values_in(program)] == [table.tolist()] * 2


def test_a_first_call_walks_over_each_traced_body_once(table, monkeypatch):
    walked = []
    stock = jaxprs._walked
    monkeypatch.setattr(jaxprs, "_walked", lambda body: walked.append(body) or stock(body))
    traced = engine.jit(lambda x: jnp.sin(x) + table, constants="legacy").trace(table)
    traced.lower()
    [again] = [body for body in walked if contents_of(traced.jaxpr) is contents_of(body)]
    assert again.eqns is traced.jaxpr.eqns


def test_a_value_that_is_replaced_in_its_literal_is_found(table):
    program = engine.make_jaxpr(lambda x: x + table, constants="simplified")(table)
    [literal] = contents_of(program).literals
    literal.val = table + 7
    assert [value.tolist() for value in values_in(program)] == [[7.0, 8.0, 9.0]]


def test_contents_keep_no_program_alive(table):
    program = engine.make_jaxpr(lambda x: x + table, constants="simplified")(table)
    contents_of(program)
    reference = weakref.ref(program)
    del program
    jax.clear_caches()
    gc.collect()
    assert reference() is None


def test_another_thread_may_import_while_primitives_of_jax_are_looked_for(monkeypatch):
    class Imported(dict):
        def items(self):
            for each in super().items():
                self["imported_meanwhile"] = sys
                yield each

    monkeypatch.setattr(sys, "modules", Imported(sys.modules))
    assert not jax_internals.is_of_jax(jax.extend.core.Primitive("of_a_library"))
