"""Flip hazards: what could change for a program when JAX's default flips, before anything does.

Each kind of hazard has a function of its name, which finds it. Its docstring explains the hazard
and its look-alike, a program that looks the same and is safe. A hazard is possible, not certain: no
jaxpr tells whether a NumPy array is written to later.

docs/use/how_to.md has what a new kind needs. Rules of lint are a subject of their own.
"""

from parity_tests.observe.hazards.detection import BuiltOnce as BuiltOnce
from parity_tests.observe.hazards.detection import MeasuredTraces as MeasuredTraces
from parity_tests.observe.hazards.detection import changing_reads as changing_reads
from parity_tests.observe.hazards.detection import detect as detect
from parity_tests.observe.hazards.detection import reads_before_its_end as reads_before_its_end
from parity_tests.observe.hazards.detection import reads_of_calls as reads_of_calls
