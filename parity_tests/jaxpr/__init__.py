"""The tester's own reading of jaxprs. It shares no code with the engine.

The tester judges the engine: where both read jaxprs with the same code, a fault in that code would
go unnoticed. And stock sides run in processes that must not import the engine at all.

`bodies` is the one table of primitives with bodies, `interpreter` the one evaluation, `live_part`
the one removal of dead code, `replace_captured` the one rewriting. The other files ask questions:
which arrays were captured (`captured`), how many (`counts`), who reads them (`captured_uses`),
where the user's code does so (`source_places`), which work depends on nothing else
(`constant_work`), and what stock JAX passes as const args (`stock_const_args`).
"""
