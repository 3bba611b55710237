"""Programs that each rule finds, and programs that look alike and are right in both forms.

In the first, the lines that are found end in `# <-`.
"""

HEAD = """\
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.extend import core as jex
"""

FOUND = {
    "CP101": [
        "closed = jax.make_jaxpr(f)(x)\nmatch closed.consts:  # <-\n    case []: print()",
        "closed = jax.make_jaxpr(f)(x)\nfirst, *others = closed.consts  # <-",
        "def size(j: 'core.ClosedJaxpr | None'): return j.consts[0] if j else None  # <-",
        "closed = jax.make_jaxpr(f)(x)\nprint(len(closed.consts))  # <-",
        "def test(jaxpr):\n    assert len(jaxpr.consts) == 1  # <-",
        "closed = jax.make_jaxpr(f)(x)\nprint(sum(c.nbytes for c in closed.consts))  # <-",
        "def total(closed_jaxpr):\n    for c in closed_jaxpr.literals:  # <-\n        print(c)",
        "traced = jax.jit(f).trace(x)\nif not traced.jaxpr.consts: print()  # <-",
        "def size(j: core.ClosedJaxpr):\n    values = j.consts  # <-\n    return values[0]",
        "jaxpr, values = (closed := jax.make_jaxpr(f)(x)).jaxpr, closed.consts  # <-\nlen(values)",
        "@jax.jit\ndef g(x): return x\ng.trace(x).jaxpr.consts.pop()  # <-",
        "from jax import make_jaxpr as mk\ndef made(): return mk(f)(x)\nlen(made().consts)  # <-",
        # An interpreter reads Literals, and this count is no part of that.
        "def run(jaxpr, args):\n    env = dict(zip(jaxpr.constvars, jaxpr.consts))\n"
        "    print(len(jaxpr.consts))  # <-\n    for eqn in jaxpr.eqns:\n"
        "        values = [v.val if isinstance(v, core.Literal) else env[v] for v in eqn.invars]",
        # Literals are looked at for another purpose.
        "def g(jaxpr, eqn):\n    total = sum(c.nbytes for c in jaxpr.consts)  # <-\n"
        "    scalars = [v.val for v in eqn.invars if isinstance(v, core.Literal)]",
    ],
    "CP102": [
        "from jax.core import eval_jaxpr as run\nc = jax.make_jaxpr(f)(x)\n"
        "run(c.jaxpr, [a], x)  # <-",
        "closed = jax.make_jaxpr(f)(x)\njax.core.eval_jaxpr(closed.jaxpr, [a, b], x)  # <-",
        "closed = jax.make_jaxpr(f)(x)\n"
        "jex.ClosedJaxpr(closed.jaxpr, [2 * c for c in closed.consts])  # <-",
        "def g(jaxpr: core.Jaxpr): return jaxpr.replace(consts=(a,))  # <-",
    ],
    "CP103": [
        "def captures(jaxpr): return bool(jaxpr.constvars)  # <-",
        "j = jax.make_jaxpr(f)(x).jaxpr\nprint(len(j.constvars))  # <-",
        "j = jax.make_jaxpr(f)(x).jaxpr\nprint(v in j.constvars)  # <-",
        "def first(jaxpr): return jaxpr.constvars[0]  # <-",
    ],
    "CP104": [
        "def is_two(a):\n    return isinstance(a, core.Literal) and (v := a.val) == 2 and v  # <-",
        "for eqn in jax.make_jaxpr(f)(x).eqns:\n    for v in eqn.invars:\n"
        "        if isinstance(v, core.Literal): print(float(v.val))  # <-",
        "def zero(v: jex.Literal): return v.val == 0  # <-",
        "def key(atom):\n    if isinstance(atom, core.Literal):\n"
        "        return hash(atom.val)  # <-",
        "def number(v: core.Literal): return v.val.item()  # <-",
        "def number(v): return float(v.val) if type(v) is core.Literal else None  # <-",
        "def number(v):\n    if type(v) != core.Literal: return None\n"
        "    return float(v.val)  # <-",
        "def values(eqn): return {v.val for v in eqn.invars if type(v) is core.Literal}  # <-",
        "def names(eqn):\n"
        "    return {v.val: v for v in eqn.invars if isinstance(v, core.Literal)}  # <-",
        "cache = {}\ndef keep(v: core.Literal): cache[v.val] = v  # <-",
        "cache = {}\ndef kept(v: core.Literal): return cache.get(v.val)  # <-",
        "cache = {}\ndef kept(v: core.Literal): return cache.setdefault(v.val, v)  # <-",
        "def key(v: core.Literal): return hash((str(v.aval), v.val))  # <-",
        "def sign(v: core.Literal): return 1 if v.val else 0  # <-",
        # as in oryx: an expression of its own for a number
        "class Number:\n    value: Any\n    @property\n    def shape(self):\n"
        "        return ()\ndef expression(v: core.Literal): return Number(v.val)  # <-",
        "class Number:\n    name: str\n    value: float\n"
        "def expression(v: core.Literal): return Number(str(v), v.val)  # <-",
        "def scaled(by: float, x): return by * x\n"
        "def call(x, v: core.Literal): return scaled(x=x, by=v.val)  # <-",
        "def key(eqn): return hash(tuple(\n"
        "    v.val if type(v) is core.Literal else v for v in eqn.invars))  # <-",
        "def number(v: core.Literal):\n    value = v.val\n    return float(value)  # <-",
        # what is no number is refused, or not converted
        "def number(v: core.Literal):\n    value = v.val\n"
        "    if isinstance(value, float) or isinstance(value, np.ndarray):  # <-\n"
        "        return np.asarray(value)\n    else: raise TypeError(value)",
        "def number(v: core.Literal):\n    if isinstance(v.val, (int, float)):  # <-\n"
        "        return str(v.val)\n    elif isinstance(v.val, np.bool_):\n        return 'b'\n"
        "    raise TypeError(v)",
        "def number(v: core.Literal):\n    if not isinstance(v.val, np.ndarray):  # <-\n"
        "        raise TypeError(v)\n    return v.val.size",
        "def run(jaxpr, consts):\n    env = {}\n"
        "    for v, c in zip(jaxpr.constvars, consts): env[v] = np.asarray(c)\n"
        "    return lambda v: v.val if isinstance(v, core.Literal) else env[v]  # <-",
        "def run(jaxpr, consts, eqn):\n    env = {}\n"
        "    for v, c in zip(jaxpr.constvars, consts): env[v] = np.asarray(c)\n"
        "    return [v.val if isinstance(v, core.Literal) else env[v] for v in eqn.invars]  # <-",
    ],
    "CP105": [
        "from jax.extend.core import Literal as L\n"
        "def folds(eqn): return all(isinstance(v, L) for v in eqn.invars)  # <-",
        "def folds(eqn): return all(isinstance(v, core.Literal) for v in eqn.invars)  # <-",
        "def side(eqn):\n    return tuple(map(type, eqn.invars)) == (core.Var, core.Literal)  # <-",
    ],
    "CP106": [
        "def run(jaxpr):\n    env = {}\n    return [env[v] for v in jaxpr.outvars]  # <-",
        "def names(jaxpr):\n    env = dict()\n    return list(map(env.get, jaxpr.outvars))  # <-",
        "def last(jaxpr: core.Jaxpr): return set(jaxpr.outvars)  # <-",
        "def run(jaxpr, args):\n    env = dict(zip(jaxpr.invars, args)) | {}\n"
        "    return [env[v] for v in jaxpr.outvars]  # <-",
        # an interpreter that asks for Literals where it reads operands alone
        "def run(jaxpr, args):\n    env = dict(zip(jaxpr.invars, args))\n"
        "    def read(v): return v.val if isinstance(v, core.Literal) else env[v]\n"
        "    for eqn in jaxpr.eqns: env[eqn.outvars[0]] = run_one(*map(read, eqn.invars))\n"
        "    return [env[v] for v in jaxpr.outvars]  # <-",
        "def g(jaxpr):\n    env = {}\n    outs = jaxpr.outvars\n"
        "    for i, v in enumerate(outs):\n        env[v] = i  # <-",
        "def g(jaxpr): return dict.fromkeys(jaxpr.outvars)  # <-",
        "def g(jaxpr): return {v for v in jaxpr.outvars}  # <-",
        "def g(jaxpr): return {v: i for i, v in enumerate(jaxpr.outvars)}  # <-",
        "def g(jaxpr): return {*jaxpr.outvars}  # <-",
        "def g(jaxpr, outs): return dict(zip(jaxpr.outvars, outs))  # <-",
        "def run(jaxpr):\n    env = {}\n"
        "    return list(map(lambda v: env[v], jaxpr.outvars))  # <-",
        "def run(jaxpr):\n    env = {}\n    def read(v): return env[v]  # <-\n"
        "    return [read(v) for v in jaxpr.outvars]",
        "def run(jaxpr):\n    env = {}\n    def write(x, v): env[v] = x  # <-\n"
        "    safe_map(write, values, jaxpr.outvars)",
    ],
    "CP107": [
        "from jax.interpreters.partial_eval import trace_to_jaxpr_dynamic\n"
        "jaxpr, _, consts = trace_to_jaxpr_dynamic(f, avals)\n"
        "env = dict(zip(jaxpr.invars, args))  # <-",
        "from jax._src.interpreters import partial_eval as pe\n"
        "def deps(j, ins): return list(map(write, j.invars, ins))  # <-\n"
        "def top():\n    jaxpr, _, _ = pe.trace_to_jaxpr_dynamic(f, avals)\n"
        "    return deps(jaxpr, args)",
        "from jax.interpreters import partial_eval as pe\n"
        "jaxpr, _, consts = pe.trace_to_jaxpr_dynamic(f, avals)\nfirst = jaxpr.invars[0]  # <-",
    ],
    "CP108": [
        "body = core.Jaxpr(outer, [x], outs, eqns)\nprint(len(body.invars))  # <-",
        # as in braintrace 0.2.5: values for the variables of an open jaxpr
        "body = core.Jaxpr(constvars=[v], invars=[x], outvars=outs, eqns=eqns)\n"
        "print(list(body.constvars))  # <-",
        "def solve(jaxpr, table, y):\n    consts = [table[v] for v in jaxpr.constvars]  # <-\n"
        "    return jax.core.eval_jaxpr(jaxpr, consts, y)",
        # as in brainstate 0.5.3: counted after a function of the same file has made it
        "def made(outer) -> core.Jaxpr:\n    return core.Jaxpr(outer, [x], outs, eqns)\n"
        "def check(consts):\n    jaxpr = made(outer)\n"
        "    if len(consts) != len(jaxpr.constvars): raise ValueError  # <-",
        "def g(jaxpr, outer):\n    new = jaxpr.replace(constvars=outer)\n"
        "    return len(new.invars)  # <-",
    ],
    "CP109": [
        "out = jax.jit(f).trace(x).closure_convert()\nprint(sum(c.nbytes for c in out[0]))  # <-",
        "consts, fun = jax.jit(f).trace(x).closure_convert()\n"
        "fun([c.astype('float16') for c in consts], x)  # <-",
        "traced = jax.jit(f).trace(x)\nconsts, other = traced.with_consts_as_arg()\n"
        "print(len(consts))  # <-",
        "print(sum(c.nbytes for c in jax.jit(f).trace(x).closure_convert()[0]))  # <-",
        "def g(traced: jax.stages.Traced):\n    consts, fun = traced.closure_convert()\n"
        "    return fun(jax.tree.map(jnp.zeros_like, consts), x)  # <-",
    ],
    "CP201": [
        "from jax.extend.core import ClosedJaxpr as C\nwhile isinstance(x, C): x = x.jaxpr  # <-",
        "while type(x) is core.ClosedJaxpr: x = x.jaxpr  # <-",
        "class Visitor:\n    def visit(self, x):\n"
        "        if isinstance(x, core.ClosedJaxpr): self.visit(x.jaxpr)  # <-",
        "def g(j):\n    while isinstance(j, core.ClosedJaxpr):  # <-\n        j = j.jaxpr\n",
        "def g(j):\n    if isinstance(j, core.ClosedJaxpr):\n        return g(j.jaxpr)  # <-\n"
        "    return len(j.eqns)",
        "def g(j):\n    if hasattr(j, 'jaxpr'):\n        g(j.jaxpr)  # <-",
    ],
    "CP202": [
        "from jax.extend.core import ClosedJaxpr as C, Jaxpr as J\ndef g(x):\n"
        "    if isinstance(x, J): return x  # <-\n    elif isinstance(x, C): return x.jaxpr",
        "def g(j):\n    if isinstance(j, core.Jaxpr):  # <-\n        return j, ()\n"
        "    elif isinstance(j, core.ClosedJaxpr):\n        return j.jaxpr, j.consts",
        "def bodies(v):\n    if isinstance(v, core.ClosedJaxpr):\n        yield v.jaxpr\n"
        "    if isinstance(v, core.Jaxpr):  # <-\n        yield v",
        "def g(j):\n    if type(j) is core.Jaxpr:  # <-\n        return j, ()\n"
        "    if type(j) is core.ClosedJaxpr: return j.jaxpr, j.consts",
        "def g(j):\n    if isinstance(j, core.ClosedJaxpr):  # <-\n"
        "        raise TypeError('an open jaxpr is needed')",
        "def g(j):\n    match j:\n        case core.Jaxpr():  # <-\n            return ()\n"
        "        case core.ClosedJaxpr():\n            return j.consts",
        "assert isinstance(j, core.ClosedJaxpr) and not isinstance(j, core.Jaxpr)  # <-",
        "x = not isinstance(j, core.ClosedJaxpr) or y or isinstance(j, core.Jaxpr)  # <-",
        "assert not isinstance(j, core.ClosedJaxpr)  # <-",
    ],
    "CP203": [
        "from jax._src.core import ClosedJaxpr  # <-",
        "from jax.core import Literal, Var  # <-",
        "from jax._src import core as private\nx = private.ClosedJaxpr  # <-",
        "x = jax.core.ClosedJaxpr  # <-",
        "n = jax.core.concrete_or_error(int, n)  # <-",
        "from jax.core import Tracer, new_jaxpr_eqn  # <-",
        "if jax.__version_info__ < (0, 10, 0):\n    from jax.core import CallPrimitive\nelse:\n"
        "    from jax.extend.core import CallPrimitive  # <-",
        "if isinstance(x, jax.core.Jaxpr):  # <-\n    y = jax.core.Literal  # <-",
        "def g(eqn: jax.core.JaxprEqn): pass  # <-",
        "y = jax.core.Var if x else None  # <-",
        "try:\n    y = jax.core.Var  # <-\nexcept ValueError:\n    raise",
    ],
    "CP204": [
        "def split(eqn): return eqn.invars[: eqn.params['num_carry']]  # <-",
        "from jax.lax import scan_p\n@register(scan_p)\n"
        "def rule(*args, jaxpr, num_carry, **params): pass  # <-",
        "def rule(*args, jaxpr, num_consts, **params):  # <-\n    pass\n"
        "rules[jax.lax.scan_p] = rule",
        "jax.lax.scan_p.bind(*args, jaxpr=body, num_carry=1)  # <-",
        "def split(eqn):\n    if eqn.primitive.name == 'scan':\n"
        "        return eqn.invars[: eqn.params['num_consts']]  # <-",
        "def split(eqn):\n    p = eqn.params\n    n = p['num_carry'] if 'num_carry' in p else 0\n"
        "    return f\"{p['num_carry']} {n}\"  # <-",
    ],
    "CP205": [
        "from jax.extend.core import ClosedJaxpr as C\nC(jaxpr=a, consts=b)  # <-",
        "core.ClosedJaxpr(jaxpr=open_, consts=values)  # <-",
        "core.ClosedJaxpr(consts=values, jaxpr=open_)  # <-",
        "core.ClosedJaxpr(jaxpr=open_, **others)  # <-",
    ],
    "CP206": [
        "from jax.extend.core import ClosedJaxpr as C, Jaxpr as J\nd = {C: 1, J: 2}  # <-",
        "@functools.singledispatch\ndef size(j): raise TypeError\n"
        "@size.register\ndef _(j: core.ClosedJaxpr): return 1\n"
        "@size.register\ndef _(j: core.Jaxpr): return 2  # <-",
        "handlers = {\n    core.ClosedJaxpr: close,\n    core.Jaxpr: leave,  # <-\n}",
        "@functools.singledispatch\ndef size(j): raise TypeError\n"
        "@size.register(core.ClosedJaxpr)\ndef _(j): return size(j.jaxpr) + len(j.consts)\n"
        "@size.register(core.Jaxpr)  # <-\ndef _(j): return len(j.eqns)",
        "rules[core.Jaxpr] = leave\nrules[core.ClosedJaxpr] = close  # <-",
    ],
    "CP207": [
        # as in quax 0.3.6
        "from jax.extend.core.primitives import jit_p\n@register(jit_p)\n"
        "def rule(*args, jaxpr, inline: bool, **params):  # <-\n"
        "    return now(jaxpr) if inline else later(jaxpr)  # <-",
        "def g(eqn):\n    if not eqn.params['inline']:  # <-\n        return eqn",
        "def g(eqn):\n    inline = eqn.params['inline']\n"
        "    return inline == False or eqn.effects  # <-",
    ],
    "CP301": [
        "from jax._src.config import use_simplified_jaxpr_constants as flag\n"
        "print(flag.value)  # <-",
        "if jax.config.jax_use_simplified_jaxpr_constants: print()  # <-",
        "import os\nprint(os.environ.get('JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS'))  # <-",
        "import os\nprint(os.environ['JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS'])  # <-",
        "from jax._src import config\nprint(config.use_simplified_jaxpr_constants.value)  # <-",
        "print(getattr(jax.config, 'jax_use_simplified_jaxpr_constants', False))  # <-",
        "from os import getenv as of\nprint(of('JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS'))  # <-",
        "from jax import config as c\nprint(c.read('jax_use_simplified_jaxpr_constants'))  # <-",
        "print(jax.config.values['jax_use_simplified_jaxpr_constants'])  # <-",
        "import operator\n"
        "operator.attrgetter('jax_use_simplified_jaxpr_constants')(jax.config)  # <-",
        "FLAG = 'jax_use_simplified_jaxpr_constants'\n"
        "def is_on(): return getattr(jax.config, FLAG)  # <-",
        "FLAG = 'JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS'\n"
        "import os\ndef is_on(): return FLAG in os.environ  # <-",
    ],
    "CP302": [
        "import os\nos.environ.update(JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS='1')  # <-",
        "import os\nos.environ.update({'JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS': '1'})  # <-",
        "import os\nos.environ.setdefault('JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS', '1')  # <-",
        "jax.config.update('jax_use_simplified_jaxpr_constants', True)  # <-",
        "FLAG = 'jax_use_simplified_jaxpr_constants'\njax.config.update(FLAG, True)  # <-",
        "import os\nos.environ['JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS'] = '1'  # <-",
        "import os\nFLAG = 'JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS'\nos.environ[FLAG] = '1'  # <-",
        "from jax._src import config\nwith config.use_simplified_jaxpr_constants(True): pass  # <-",
        "def test(monkeypatch):\n"
        "    monkeypatch.setenv('JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS', '1')  # <-",
    ],
    "CP401": [
        "t = np.zeros(99)\ndef loss(x): return (x + t).sum()\nstep = jax.jit(jax.grad(loss))\n"
        "step(1.0)\nt[0] = 1  # <-",
        "t, u = np.zeros(99), 1\nstep: object = jax.jit(lambda x: x + t)\nstep(1.0)\n"
        "t[0] = 1  # <-",
        "rng = np.random.default_rng(0)\nt = rng.normal(size=99)\n"
        "(step := jax.jit(lambda x: x + t))\nstep(1.0)\nt[0] = 1  # <-",
        "table = np.zeros(9)\nstep = jax.jit(lambda x: x + table)\nstep(x)\ntable[0] = 1  # <-",
        "table = np.arange(9).astype('float32')\n@jax.jit\ndef step(x): return x + table\n"
        "for i in range(9):\n    table += i  # <-\n    step(x)",
        "def run():\n    table = np.ones(9)\n    @functools.partial(jax.jit, static_argnums=1)\n"
        "    def step(x, n): return x + table\n    step(x, 1)\n    np.copyto(table, x)  # <-",
        "table = np.ones(9)\n@jax.jit\ndef step(x): return x + table\n"
        "def change():\n    table.fill(2)  # <-",
        "class A:\n    def __init__(self):\n        self.t = np.zeros(3)\n"
        "        self.step = jax.jit(self._step)\n"
        "    def _step(self, x): return x + self.t\n"
        "    def change(self): self.t[0] = 1  # <-",
    ],
    "CP402": [
        "a = jnp.ones(9)\nstep = jax.jit(lambda n, x: x + a, donate_argnums=-1)\nstep(1, a)  # <-",
        "a = jnp.ones(9)\nstep = jax.jit(lambda x: x + a, donate_argnums=0)\nstep(a)  # <-",
        "def run(a):\n    @functools.partial(jax.jit, donate_argnames=('x',))\n"
        "    def step(y, x): return x + y + a\n    return step(1, x=a)  # <-",
        "a = jnp.ones(9)\njax.jit(lambda x: x + a, donate_argnums=(0,))(a)  # <-",
    ],
    "CP403": [
        "jax.config.update('jax_transfer_guard', 'disallow')\na = np.ones(9)\n"
        "step = jax.jit(lambda x: x + a)  # <-",
        "a = np.arange(9.0)\n@jax.jit\ndef step(x): return x + a  # <-\n"
        "def run(x):\n    with jax.transfer_guard_host_to_device('disallow_explicit'):\n"
        "        return step(x)",
        "def make():\n    a = np.ones(9)\n    step = jax.jit(lambda x: x + a)  # <-\n"
        "    with other(), jax.transfer_guard('disallow'):\n        for _ in range(3): step(1)",
    ],
    "CP501": [
        "text = jax.jit(f).lower(x).as_text()\nassert 'stablehlo.constant' in text  # <-",
        "import re\nlow = jax.jit(f).lower(x)\nre.findall(r'constant dense<', low.as_text())  # <-",
        "low = jax.jit(f).lower(x)\nlow.compile().as_text().count('constant')  # <-",
        "assert '%arg0: tensor<3xf32>' in jax.jit(f).lower(x).as_text()  # <-",
        "text = jax.jit(f).lower(x).as_text()\nprint(text.count('constant'))  # <-\n"
        "print('jax.const' in text)",
        "text = jax.jit(f).lower(x).as_text()\n"
        "print(sum('stablehlo.constant' in line for line in text.splitlines()))  # <-",
        "key = hashlib.sha256(jax.jit(f).lower(x).as_text().encode())  # <-",
    ],
    "CP502": [
        "c = jax.jit(f).lower(x).compile()\nc.runtime_executable().execute([x])  # <-",
        "run = jax.jit(f).lower(x).compile().runtime_executable()\nrun.execute_sharded([x])  # <-",
    ],
    "CP503": [
        "print(jax.jit(f).lower(x).in_avals)  # <-",
        "def types(low: jax.stages.Lowered): return low.in_avals  # <-",
        "class A:\n    low: jax.stages.Lowered\n    def g(self): return self.low.in_avals  # <-",
    ],
    "CP504": [
        "m = jax.jit(f).lower(x).compile().memory_analysis()\n"
        "print(m.argument_size_in_bytes)  # <-",
        "def size(m): return m.generated_code_size_in_bytes  # <-",
    ],
    "CP505": [
        "closed = jax.make_jaxpr(f)(x)\nassert str(closed) == expected  # <-",
        "def test(self):\n    self.assertEqual(f'{jax.make_jaxpr(f)(x)}', expected)  # <-",
        "key = hash(str(jax.make_jaxpr(f)(x).jaxpr))  # <-",
        "key = str(jax.make_jaxpr(f)(x))\nif key not in self.programs:\n"
        "    self.programs[key] = compiled  # <-",
        "programs.setdefault(str(jax.make_jaxpr(f)(x)), compiled)  # <-",
    ],
}

SILENT = {
    "CP101": [
        "closed = jax.make_jaxpr(f)(x)\njax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)",
        "closed = jax.make_jaxpr(f)(x)\njaxpr, consts = closed.jaxpr, closed.consts\n"
        "env = dict(zip(jaxpr.constvars, consts))\nprim.bind(*consts, x)",
        "class Material:\n    consts = [1, 2]\nlen(Material().consts)",
        "def g(model): return len(model.consts)",
        "def g(parser): return sum(parser.literals)",
        "closed = jax.make_jaxpr(f)(x)\nnew = core.ClosedJaxpr(jaxpr=closed.jaxpr, "
        "consts=list(closed.consts))",
        "closed = jax.make_jaxpr(f)(x)\nrun = functools.partial(mine, closed.jaxpr, closed.consts)",
        "def g(jaxpr: str): return len(jaxpr.consts)",
        "def g(jaxpr): return prim.bind(*jaxpr.consts, num_consts=len(jaxpr.consts))",
        "def g(jaxpr):\n    cells = [Cell(c) for c in jaxpr.consts]\n"
        "    return propagate(jaxpr.jaxpr, cells)",
        "def g(jaxpr): return dict(zip(map(str, jaxpr.constvars), jaxpr.consts))",
        "def g(jaxpr, args):\n    n = len(jaxpr.consts)\n    return args[:n], args[n:]",
        "def g(jaxpr, start):\n    start += len(jaxpr.consts)\n"
        "    return slice(start, start + len(jaxpr.consts))",
        "def test(jaxpr):\n    assert len(jaxpr.consts) == 0\n    assert not jaxpr.consts\n"
        "    assert jaxpr.consts == []",
        "def g(jaxpr, new): assert len(new.consts) == len(jaxpr.consts)",
        "def g(jaxpr):\n    more = list(jaxpr.consts)\n    more.append(1)\n"
        "    return core.ClosedJaxpr(jaxpr.jaxpr, more)",
        "def g(jaxpr): return propagate(jaxpr.jaxpr, [Cell(c) for c in jaxpr.consts], 1)",
        "def g(jaxpr, used):\n"
        "    return core.ClosedJaxpr(jaxpr.jaxpr, consts=[jaxpr.consts[i] for i in used])",
        # as in pennylane 0.45.1, pennylane/_grad/grad.py:207
        "def g(jaxpr):\n    kwargs = {'n_consts': len(jaxpr.consts), 'fn': f}\n"
        "    return prim.bind(*jaxpr.consts, **kwargs)",
        # Literals beside `.consts`: both forms are handled.
        "def found_in(jaxpr):\n    found = list(jaxpr.consts)\n    for eqn in jaxpr.eqns:\n"
        "        found += [v.val for v in eqn.invars if isinstance(v, core.Literal)]\n"
        "    return [c for c in found if np.ndim(c)]",
        "def g(jaxpr, found):\n    for c in jaxpr.consts: found.append(c)\n"
        "    for eqn in jaxpr.eqns:\n        for v in eqn.invars:\n"
        "            if isinstance(v, core.Literal): found.append(v.val)",
        "def g(jaxpr):\n    total = sum(c.nbytes for c in jaxpr.consts)\n"
        "    for eqn in jaxpr.eqns:\n        for v in eqn.invars:\n"
        "            if isinstance(v, core.Literal): total += v.val.nbytes\n    return total",
        "def g(jaxpr):\n    for c in jaxpr.consts: visit(c)\n    for eqn in jaxpr.eqns:\n"
        "        for v in eqn.invars:\n            if isinstance(v, core.Literal): visit(v.val)",
        "def g(jaxpr):\n    for c in jaxpr.consts: yield c\n    for eqn in jaxpr.eqns:\n"
        "        yield from (v.val for v in eqn.invars if isinstance(v, core.Literal))",
    ],
    "CP102": [
        "closed = jax.make_jaxpr(f)(x)\njax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)",
        "def g(jaxpr, consts): return jax.core.eval_jaxpr(jaxpr, consts, 1)",
        "def g(jaxpr): return jax.core.eval_jaxpr(jaxpr, [], 1)",
        "def g(record): return record.replace(consts=(1, 2))",
    ],
    "CP103": [
        "def g(jaxpr, consts):\n    list(map(write, jaxpr.constvars, consts))",
        "def g(jaxpr): return core.Jaxpr(constvars=jaxpr.constvars, invars=(), eqns=())",
        "def g(jaxpr): return [*jaxpr.constvars, *jaxpr.invars]",
        "def g(jaxpr): return set(jaxpr.constvars + jaxpr.invars)",
        "def g(jaxpr):\n    for v in jaxpr.constvars: env[v] = 0",
        "def g(table): return len(table.constvars)",
    ],
    "CP104": [
        "def read(v): return v.val if isinstance(v, core.Literal) else env[v]",
        "def g(v: core.Literal):\n    if v.aval.shape == (): return float(v.val)",
        "def test(eqn): assert eqn.invars[1].val == 2.0",
        "from typing import Literal\ndef g(v: Literal['a']): return float(v.val)",
        "def g(node): return float(node.val)",
        "import ast\ndef g(v):\n    if isinstance(v, ast.Literal): return int(v.val)",
        "import ast\ndef g(v): return int(v.val) if type(v) is ast.Literal else 0",
        "def g(eqn): return {v: v.val for v in eqn.invars if type(v) is core.Literal}",
        "def g(table, v: core.Literal): return table[v.val]",
        "class Known:\n    value: Any\n    shape: tuple[int, ...] = ()\n"
        "    def is_number(self): return self.shape == ()\n"
        "def g(v: core.Literal): return Known(v.val)",
        "def scaled(by: float, x): return by * x\n"
        "def g(v: core.Literal): return scaled(2.0, v.val)",
        "cache = {}\ndef g(name, v: core.Literal): return cache.get(name, v.val)",
        "def g(v: core.Literal): return hash((str(v.aval), v.val.tobytes()))",
        "def g(v: core.Literal):\n    value = v.val\n"
        "    return value == 0 if isinstance(value, float) else None",
        "def g(v: core.Literal, w):\n    value = v.val\n    value = w\n    return float(value)",
        "def g(v: core.Literal):\n    if isinstance(v.val, (float, jax.Array)): return v.val\n"
        "    raise TypeError(v)",
        "def g(v: core.Literal):\n    if isinstance(v.val, jax.Array): return v.val\n"
        "    elif isinstance(v.val, float): return 1\n    raise TypeError(v)",
        "def g(v: core.Literal):\n    if isinstance(v.val, float): return 1\n    return 2",
        "def run(jaxpr, consts):\n    env = {}\n"
        "    for v, c in zip(jaxpr.constvars, consts): env[v] = c\n"
        "    return lambda v: v.val if isinstance(v, core.Literal) else env[v]",
        "def run(jaxpr, consts):\n    env = {}\n"
        "    for v, c in zip(jaxpr.constvars, consts): env[v] = np.asarray(c)\n"
        "    return lambda v: np.asarray(v.val) if isinstance(v, core.Literal) else env[v]",
    ],
    "CP105": [
        "def g(eqn): return [v for v in eqn.invars if not isinstance(v, core.Literal)]",
        "def g(eqn): return all(not isinstance(v, core.Literal) for v in eqn.invars)",
        "def g(eqn): return all(isinstance(v, core.Var) for v in eqn.invars)",
        "from libcst import Literal\ndef g(xs): return all(isinstance(v, Literal) for v in xs)",
    ],
    "CP106": [
        "def run(jaxpr):\n    env = {}\n"
        "    def read(v): return v.val if isinstance(v, core.Literal) else env[v]\n"
        "    return [read(v) for v in jaxpr.outvars]",
        "def run(jaxpr):\n    env = Environment()\n    return [env[v] for v in jaxpr.outvars]",
        "def shapes(jaxpr): return [v.aval for v in jaxpr.outvars]",
        "def g(jaxpr):\n    new = {}\n"
        "    return [new.get(v, v) if isinstance(v, core.Var) else v for v in jaxpr.outvars]",
        "def g(jaxpr): return {v for v in jaxpr.outvars if type(v) is not core.Literal}",
        "def g(jaxpr):\n    assert not any(isinstance(v, core.Literal) for v in jaxpr.outvars)\n"
        "    return set(jaxpr.outvars)",
        "def g(jaxpr):\n    env = {}\n    outs = [*jaxpr.invars, *jaxpr.outvars]\n"
        "    for v in outs:\n        if not is_literal(v): env[v] = 1\n"
        "    return [env[v] for v in jaxpr.outvars]",
        "def g(jaxpr): return dict(zip(names, jaxpr.outvars))",
        "def run(jaxpr):\n    env = {}\n    def write(x, v): env[x] = v\n"
        "    safe_map(write, names, jaxpr.outvars)",
        "def run(jaxpr):\n    env = {}\n"
        "    return list(map(lambda v: env[v] if is_var(v) else v.val, jaxpr.outvars))",
        "def run(jaxpr):\n    env = {}\n    def read(v): return env[v]\n"
        "    return [v.val if type(v) is core.Literal else read(v) for v in jaxpr.outvars]",
        "def g(eqn): return set(eqn.outvars)",
    ],
    "CP107": [
        "closed = jax.make_jaxpr(f)(x)\nenv = dict(zip(closed.jaxpr.invars, args))",
        "from jax.interpreters.partial_eval import trace_to_jaxpr_dynamic\n"
        "jaxpr, _, consts = trace_to_jaxpr_dynamic(f, avals)\nprint(jaxpr.outvars)",
        "from jax.interpreters import partial_eval as pe\n"
        "jaxpr, _, consts = pe.trace_to_jaxpr_dynamic(f, avals)\n"
        "env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args]))",
    ],
    "CP108": [
        "body = core.Jaxpr(constvars=[v], invars=[x], outvars=outs, eqns=eqns)\n"
        "body = core.ClosedJaxpr(body, values)\nprint(list(body.constvars))\n"
        "print(len(body.invars))",
        "body = core.Jaxpr(constvars=[], invars=[x], outvars=outs, eqns=eqns)\n"
        "print(list(body.constvars))\nprint(len(body.invars))",
        "def shapes(jaxpr): return [v.aval.shape for v in jaxpr.constvars]",
        "body = core.Jaxpr(constvars=[v], invars=[x], outvars=outs, eqns=eqns)\n"
        "everything = [*body.constvars, *body.invars]",
        "def run(jaxpr):\n    table = dict(zip(jaxpr.constvars, jaxpr.consts))\n"
        "    return jax.core.eval_jaxpr(jaxpr, [table[v] for v in jaxpr.constvars])",
        "def g(jaxpr, outer):\n    new = jaxpr.replace(constvars=outer, consts=values)\n"
        "    return len(new.invars)",
    ],
    "CP109": [
        "consts, fun = jax.jit(f).trace(x).closure_convert()\nfun(consts, x)\n"
        "prim.bind(*consts, x, num_consts=len(consts))",
        "fun, consts = jax.closure_convert(f, x)\nprint(len(consts))",
        "consts, other = jax.jit(f).trace(x).with_consts_as_arg()\nother(consts, x)",
        "consts, fun = converter.closure_convert()\nprint(len(consts))",
        "def g(jaxpr):\n    consts, fun = jaxpr.closure_convert()\n    print(len(consts))",
    ],
    "CP201": [
        "class Visitor:\n    def visit(self, x):\n"
        "        if isinstance(x, core.ClosedJaxpr): self.inner.visit(x.jaxpr)",
        "def g(j):\n    if isinstance(j, core.ClosedJaxpr): j = j.jaxpr\n    return j",
        "def g(j):\n    if isinstance(j, core.Jaxpr): return 1\n"
        "    if isinstance(j, core.ClosedJaxpr): return g(j.jaxpr)",
        "def g(j):\n    for e in j.eqns: g(e.params['jaxpr'].jaxpr)",
        "def walk(node):\n    if hasattr(node, 'child'): walk(node.child)\nprint('jaxpr')",
        "def g(j):\n    while isinstance(j, Wrapper): j = j.jaxpr",
    ],
    "CP202": [
        "def g(j):\n    if isinstance(j, core.ClosedJaxpr):\n        return j.jaxpr\n"
        "    elif isinstance(j, core.Jaxpr):\n        return j",
        "def g(j): return isinstance(j, (core.Jaxpr, core.ClosedJaxpr))",
        "def g(j, k):\n    if isinstance(j, core.Jaxpr): pass\n"
        "    elif isinstance(k, core.ClosedJaxpr): pass",
        "def g(j):\n    if isinstance(j, core.ClosedJaxpr): j = j.jaxpr\n"
        "    if isinstance(j, core.Jaxpr): return len(j.eqns)",
        "def g(j):\n    if isinstance(j, core.ClosedJaxpr): return j.jaxpr\n"
        "    if isinstance(j, core.Jaxpr): return j",
        "def g(j):\n    if not isinstance(j, core.ClosedJaxpr): raise TypeError\n"
        "    if type(j) is not core.ClosedJaxpr: raise TypeError",
        "def g(j):\n    match j:\n        case core.ClosedJaxpr():\n            return j.consts\n"
        "        case core.Jaxpr():\n            return ()",
        "def g(j, k): return isinstance(j, core.ClosedJaxpr) and not isinstance(k, core.Jaxpr)",
        "def g(j): return isinstance(j, core.ClosedJaxpr) or not isinstance(j, int)",
        "def g(j): return isinstance(j, core.Jaxpr) or isinstance(j, core.ClosedJaxpr)",
        "assert not isinstance(j, core.Literal)",
    ],
    "CP203": [
        "from jax.extend.core import ClosedJaxpr",
        "try:\n    from jax.core import Literal\nexcept ImportError:\n"
        "    from jax.extend.core import Literal",
        "from jax.core import Tracer",
        "from myjax.core import ClosedJaxpr",
        "x = jax.core.eval_jaxpr",
        "from __future__ import annotations\n"
        "def g(eqn: jax.core.JaxprEqn) -> jax.core.Literal: pass",
        "y = jax.core.Var if hasattr(jax.core, 'Var') else None",
        "try:\n    y = jax.core.Var\nexcept (ValueError, AttributeError):\n    y = None",
        "if jax.__version_info__ < (0, 11, 0):\n    from jax.core import concrete_or_error\n"
        "else:\n    from jax.extend.core import concrete_or_error",
        "if something:\n    from jax.core import concrete_or_error",
        "if hasattr(jax.core, 'Jaxpr'):\n    x = jax.core.Jaxpr",
        "if IS_OLD_JAX:\n    x = jax.core.Jaxpr",
        "from jax.extend.core import concrete_or_error, new_jaxpr_eqn",
    ],
    "CP204": [
        "def g(eqn):\n    if 'num_carry' in eqn.params: return eqn.params['num_carry']",
        "def g(eqn): return eqn.params.get('num_carry', 0)",
        "def g(options): return options['num_carry']",
        "def custom_vjp(eqn): return eqn.params['num_consts']",
        "@register(jax.lax.scan_p)\ndef rule(*args, jaxpr, num_carry=None, **params): pass",
        "@register(mine_p)\ndef rule(*args, num_carry): pass",
        "mine_p.bind(*args, num_carry=1)",
    ],
    "CP205": [
        "core.ClosedJaxpr(open_, consts=values)",
        "closed.replace(jaxpr=open_, consts=values)",
        "class ClosedJaxpr: pass\nClosedJaxpr(jaxpr=1, consts=2)",
    ],
    "CP206": [
        "handlers = {core.ClosedJaxpr: close, core.Literal: leave}",
        "for each in (core.Jaxpr, core.ClosedJaxpr): rules[each] = leave",
        "rules[core.Jaxpr] = leave\nothers[core.ClosedJaxpr] = close",
        "rules = {core.Jaxpr: leave, core.ClosedJaxpr: leave}",
    ],
    "CP207": [
        "from jax.extend.core.primitives import jit_p\n@register(jit_p)\n"
        "def rule(*args, inline, **params): return jit_p.bind(*args, inline=inline, **params)",
        "def g(eqn):\n    inline = eqn.params['inline']\n"
        "    return inline is True or getattr(inline, 'name', '') == 'JAX_EARLY'",
        "def g(options):\n    if options['inline']: return 1",
        "@register(mine_p)\ndef rule(x, inline: bool): return x if inline else None",
    ],
    "CP301": [
        "import os\nos.environ['JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS'] = '1'",
        "print(jax.config.jax_enable_x64)",
        "print('jax_use_simplified_jaxpr_constants')",
        "FLAG = 'jax_use_simplified_jaxpr_constants'\nprint(FLAG == name, FLAG != other)",
        "FLAG = 'JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS'\nimport os\nos.environ[FLAG] = '1'\n"
        "print(FLAG)",
    ],
    "CP302": [
        "import os\nos.environ.setdefault('JAX_PLATFORMS', 'cpu')",
        "jax.config.update('jax_enable_x64', True)",
        "env = {'JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS': '1'}\nsubprocess.run(command, env=env)",
    ],
    "CP401": [
        "t = np.random.default_rng(0).normal()\nstep = jax.jit(lambda x: x + t)\nstep(1.0)\nt += 1",
        "table = np.zeros(9)\ntable[0] = 1\nstep = jax.jit(lambda x: x + table)\nstep(x)",
        "table = np.zeros(9)\n@jax.jit\ndef step(x): return x + table\ntable[0] = 1\nstep(x)",
        "table = jnp.zeros(9)\nstep = jax.jit(lambda x: x + table)\nstep(x)\ntable += 1",
        "table = np.zeros(9)\nstep = jax.jit(lambda x: x)\nstep(table)\ntable[0] = 1",
        "table = np.zeros(9)\nstep = jax.jit(lambda table: table + 1)\nstep(x)\ntable[0] = 1",
        "table = np.zeros(9)\ndef step(x): return x + table\nstep(x)\ntable[0] = 1",
        "table = {}\nstep = jax.jit(lambda x: x + table[0])\nstep(x)\ntable[0] = 1",
        "table = np.zeros(9)\nstep = jax.jit(lambda x: x + table)\nstep(x)\ny = table.sum()",
    ],
    "CP402": [
        "a = jnp.ones(9)\nstep = jax.jit(lambda x: x + 1, donate_argnums=0)\nstep(a)",
        "a = jnp.ones(9)\nstep = jax.jit(lambda x, y: x + y + a, donate_argnums=0)\nstep(x, a)",
        "def t():\n    @functools.partial(jax.jit, donate_argnums=0)\n    def step(state):\n"
        "        _, state = update(state)\n        return state\n"
        "    state = init()\n    step(state)",
    ],
    "CP403": [
        "jax.config.update('jax_transfer_guard', 'log')\na = np.ones(9)\n"
        "step = jax.jit(lambda x: x + a)",
        "jax.config.update('jax_transfer_guard', 'disallow')\na = jax.device_put(np.ones(9))\n"
        "step = jax.jit(lambda x: x + a)",
        "jax.config.update('jax_transfer_guard_device_to_host', 'disallow')\na = np.ones(9)\n"
        "step = jax.jit(lambda x: x + a)",
        "a = np.ones(9)\nstep = jax.jit(lambda x: x + a)\nstep(1)\n"
        "with jax.transfer_guard('disallow'):\n    other(1)",
        "jax.config.update('jax_transfer_guard', 'disallow')\na = np.ones(9)\n"
        "step = jax.jit(lambda x: x + 1)\nstep(jax.device_put(a))",
    ],
    "CP501": [
        "text = jax.jit(f).lower(x).as_text()\nassert 'stablehlo.dot_general' in text",
        "assert 'constant' in open('x').read()\nprint(low.as_text())",
        "def g(doc): return 'constant' in doc.as_text()",
        "def key(doc): return hash(doc.as_text())",
        "text = jax.jit(f).lower(x).as_text()\n"
        "print(text.count('constant') + text.count('jax.const = true'))",
    ],
    "CP502": [
        "c = jax.jit(f).lower(x).compile()\nc(x)\nc.runtime_executable().hlo_modules()",
        "cursor.execute('select')  # runtime_executable",
    ],
    "CP503": [
        "print(jax.make_jaxpr(f)(x).in_avals)",
        "print(jax.jit(f).lower(x).compile().in_avals)",
        "print(jax.jit(f).trace(x).in_avals)",
    ],
    "CP504": ["m = jax.jit(f).lower(x).compile().memory_analysis()\nm.temp_size_in_bytes"],
    "CP505": [
        "assert 'dot_general' in str(jax.make_jaxpr(f)(x))",
        "same = str(jax.make_jaxpr(f)(x)) == str(jax.make_jaxpr(g)(x))",
        "print(str(jax.make_jaxpr(f)(x)))",
        "names = {'mul': 1}\nprint(names['mul'], str(jax.make_jaxpr(f)(x))[3:])",
        "assert str(dtype) == 'float32'\nmake_jaxpr = 1",
    ],
}
