"""The tester's own reading of jaxprs. It shares no code with the engine.

The tester judges the engine: where both read jaxprs with the same code, a fault in that code would
go unnoticed. And stock sides run in processes that must not import the engine at all.

`bodies` is the one table of primitives with bodies, `interpreter` the one evaluation, `rewriting`
the one removal of dead code and the one replacement of captured values. The other files ask
questions: which arrays were captured (`captured`), how many (`counts`), who reads them and what
stock JAX passes as const args (`captured_uses`), where the user's code does so (`source_places`),
and which work depends on nothing else (`work`).
"""
