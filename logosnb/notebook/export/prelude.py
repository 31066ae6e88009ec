"""The helpers that an exported file carries with it, as text, only those that it calls.

In: names of helpers, a library. Out: Python text. May not know: programs.

Scalar helpers do what LOGOS says where Python differs. Array helpers have no single expression that NumPy,
PyTorch and JAX share; their text says `xp` for the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

LIBRARIES: Mapping[str, str] = {"numpy": "np", "torch": "torch", "jax": "jnp"}

SHARED: Mapping[str, str] = {
    "item_place": '''
def item_place(index):
    """An index that counts from one, as one from zero."""
    if index < 1:
        raise IndexError(f"item {index}: the first is item 1")
    return index - 1
''',
    "quotient": '''
def quotient(a, b):
    """The quotient of two ints, truncated toward zero."""
    floored = a // b
    return floored + 1 if floored < 0 and floored * b != a else floored
''',
    "rounded": '''
def rounded(x):
    """To the nearest int, a half away from zero."""
    whole = int(abs(x))
    whole += abs(x) - whole >= 0.5
    return -whole if x < 0 else whole
''',
    "floor_of": "\ndef floor_of(x):\n    return int(x // 1)\n",
    "ceiling_of": "\ndef ceiling_of(x):\n    return -int(-x // 1)\n",
    "softmax": '''
def softmax(x):
    """Per row; a row of -inf alone gives zeros."""
    largest = xp.amax(x, axis=1, keepdims=True)
    raised = xp.exp(x - xp.where(largest == -float("inf"), xp.zeros_like(largest), largest))
    total = raised.sum(axis=1, keepdims=True)
    return raised / xp.where(total == 0, xp.ones_like(total), total)
''',
    "rmsnorm": '''
def rmsnorm(u, epsilon, heads, w=1.0):
    """u / sqrt(mean u² + epsilon) * w, for each head's part of a row."""
    parts = u.reshape(u.shape[0] * heads, -1)
    scaled = parts / xp.sqrt((parts * parts).mean(axis=1, keepdims=True) + epsilon)
    return (scaled * w).reshape(u.shape)
''',
    "layernorm": '''
def layernorm(x, epsilon, heads, w=1.0, b=0.0):
    """(x - mean) / sqrt(variance + epsilon) * w + b, for each head's part of a row."""
    parts = x.reshape(x.shape[0] * heads, -1)
    centred = parts - parts.mean(axis=1, keepdims=True)
    scaled = centred / xp.sqrt((centred * centred).mean(axis=1, keepdims=True) + epsilon)
    return (scaled * w + b).reshape(x.shape)
''',
    "cross_entropy": '''
def cross_entropy(z, targets):
    """The mean over rows of log sum exp z - z[target]; targets count from one."""
    chosen = targets.reshape(-1) - 1
    if chosen.min() < 0 or chosen.max() >= z.shape[1]:
        raise IndexError(f"a target is outside 1 … {z.shape[1]}")
    largest = xp.amax(z, axis=1, keepdims=True)
    largest = xp.where(largest == -float("inf"), xp.zeros_like(largest), largest)
    total = xp.log(xp.exp(z - largest).sum(axis=1))
    picked = z[xp.arange(z.shape[0]), chosen] - largest[:, 0]
    losses = xp.where(total == -float("inf"), xp.full_like(total, float("inf")), total - picked)
    return losses.mean().reshape(1, 1)
''',
}

NUMPY: Mapping[str, str] = {
    "over": '''
def over(a, b):
    """a / b as IEEE has it, also where b is 0."""
    return float(np.float64(a) / np.float64(b))
''',
    "floored": """
def floored(a, b):
    return float(np.floor(np.float64(a) / np.float64(b)))
""",
    "rest": '''
def rest(a, b):
    """What a / b leaves, with the sign of a."""
    if isinstance(a, int) and isinstance(b, int):
        left = a % b
        return left - b if left and (left < 0) != (a < 0) else left
    return float(np.fmod(a, b))
''',
    "power": """
def power(a, b):
    if isinstance(a, int) and isinstance(b, int):
        if b < 0:
            raise ValueError("an int to a negative int is no int")
        return a**b
    return float(np.float_power(a, b))
""",
    "sigmoid": '''
def sigmoid(x):
    """The logistic function, without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)
''',
    "relu": """
def relu(x):
    return np.maximum(x, 0.0)
""",
    "root": """
def root(x):
    return np.sqrt(x)
""",
    **{
        name: f"\ndef {name}({names}):\n    return float({body})\n"
        for name, names, body in (
            ("larger", "a, b", "np.maximum(a, b)"),
            ("smaller", "a, b", "np.minimum(a, b)"),
            ("exponential", "x", "np.exp(x)"),
            ("logarithm", "x", "np.log(x)"),
            ("square_root", "x", "np.sqrt(x)"),
            ("tangent", "x", "np.tanh(x)"),
            ("sine", "x", "np.sin(x)"),
            ("cosine", "x", "np.cos(x)"),
        )
    },
}

# Scalars of PyTorch and JAX are arrays of no dimension, or Python numbers; `number` makes them the former.
DIFFERENTIABLE: Mapping[str, str] = {
    "over": '''
def over(a, b):
    """a / b as IEEE has it, also where b is 0."""
    return number(a) / b
''',
    "larger": '''
def larger(a, b):
    """NaN if one is; of two that are equal the second."""
    return a if a > b or a != a else b
''',
    "smaller": """
def smaller(a, b):
    return a if a < b or a != a else b
""",
    "power": """
def power(a, b):
    return a**b if isinstance(a, int) and isinstance(b, int) else number(a) ** b
""",
    "root": '''
def root(x):
    """The square root; its slope at 0 is taken as 0."""
    inside = xp.where(x == 0, xp.ones_like(x), x)
    return xp.where(x == 0, xp.zeros_like(x), xp.sqrt(inside))
''',
    **{
        name: f"\ndef {name}(x):\n    return xp.{function}(number(x))\n"
        for name, function in (
            ("exponential", "exp"),
            ("logarithm", "log"),
            ("square_root", "sqrt"),
            ("tangent", "tanh"),
            ("sine", "sin"),
            ("cosine", "cos"),
        )
    },
}

TORCH: Mapping[str, str] = {
    "number": "\ndef number(x):\n    return torch.as_tensor(x, dtype=torch.float64)\n",
    "filled": '''
def filled(elements, rows, columns, dtype):
    """The elements, scalars, as a tensor."""
    return torch.stack([torch.as_tensor(e, dtype=dtype) for e in elements]).reshape(rows, columns)
''',
    "numbers": '''
def numbers(x):
    """The elements of a tensor, one scalar each; ints as ints."""
    return list(x.reshape(-1)) if x.is_floating_point() else x.reshape(-1).tolist()
''',
    "sigmoid": "\nsigmoid = torch.sigmoid\n",
    "relu": "\nrelu = torch.relu\n",
}

JAX: Mapping[str, str] = {
    "number": "\ndef number(x):\n    return jnp.asarray(x, dtype=jnp.float64)\n",
    "filled": '''
def filled(elements, rows, columns, dtype):
    """The elements, scalars, as an array."""
    return jnp.stack([jnp.asarray(e, dtype=dtype) for e in elements]).reshape(rows, columns)
''',
    "numbers": '''
def numbers(x):
    """The elements of an array, one scalar each; ints as ints."""
    flat = x.reshape(-1)
    return list(flat) if jnp.issubdtype(x.dtype, jnp.floating) else flat.tolist()
''',
    "sigmoid": "\nsigmoid = jax.nn.sigmoid\n",
    "relu": "\nrelu = jax.nn.relu\n",
}

HELPERS: Mapping[str, Mapping[str, str]] = {
    "numpy": {**SHARED, **NUMPY},
    "torch": {**SHARED, **NUMPY, **DIFFERENTIABLE, **TORCH},
    "jax": {**SHARED, **NUMPY, **DIFFERENTIABLE, **JAX},
}


def prelude(used: Iterable[str], library: str) -> str:
    """The text of the helpers used, and of those that they use, in the order of the table."""
    table = HELPERS[library]
    wanted = closure(used, table)
    texts = [text.strip() for name, text in table.items() if name in wanted]
    return "\n\n\n".join(re.sub(r"\bxp\b", LIBRARIES[library], text) for text in texts)


def closure(used: Iterable[str], table: Mapping[str, str]) -> set[str]:
    wanted, new = set(), set(used)
    while new:
        wanted |= new
        words = {word for name in new for word in re.findall(r"\w+", table[name])}
        new = (words & set(table)) - wanted
    return wanted
