"""The peers: NumPy by hand, PyTorch eager and compiled, JAX jit; for the last three a namespace of the
functions that rows.py uses.

In: a Row and its values. Out: for each peer that is installed, a function that computes the output and
all gradients once, and waits for them. May not know: LOGOS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from logosnb.bench.rows import Row

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]
THREADS = 2


def steps(row: Row, values: Mapping[str, Array], cotangent: Array) -> dict[str, Step]:
    """Peer's name to its step; those that are not installed, or do not work here, are left out."""
    makers = {
        "NumPy": numpy_step,
        "PyTorch": torch_step,
        "compile": torch_compiled_step,
        "JAX": jax_step,
    }
    found: dict[str, Step] = {}
    for name, make in makers.items():
        with suppress(ImportError):
            found[name] = make(row, values, cotangent)
    return {name: step for name, step in found.items() if _works(name, step)}


def _works(name: str, step: Step) -> bool:
    """Whether a first call succeeds: torch.compile wants a C++ compiler."""
    try:
        step()
    except Exception as error:  # whatever a compiler says
        print(f"{name} does not work here: {str(error).splitlines()[0][:80]}")
        return False
    return True


def numpy_step(row: Row, values: Mapping[str, Array], cotangent: Array) -> Step:
    def step() -> Any:
        y, grads = row.byhand(values, cotangent)
        return y, [grads[name] for name in row.wrt]

    return step


# ---- PyTorch --------------------------------------------------------------------------------------


def torch_step(row: Row, values: Mapping[str, Array], cotangent: Array) -> Step:
    return _torch_step(row, values, cotangent, lambda function: function)


def torch_compiled_step(row: Row, values: Mapping[str, Array], cotangent: Array) -> Step:
    import torch

    torch._dynamo.reset()  # another row is another function
    return _torch_step(row, values, cotangent, torch.compile)


def _torch_step(
    row: Row, values: Mapping[str, Array], cotangent: Array, wrap: Callable[..., Any]
) -> Step:
    import torch

    torch.set_num_threads(THREADS)
    tensors = [torch.tensor(values[name], requires_grad=name in row.wrt) for name in row.inputs]
    targets = [torch.tensor(values["t"][:, 0] - 1)] if row.classes else []
    seed = torch.tensor(cotangent)
    forward = wrap(lambda *given: row.peer(TorchOps, *given, *targets))

    def step() -> Any:
        for tensor in tensors:
            tensor.grad = None
        y = forward(*tensors)
        y.backward(seed if y.dim() == 2 else seed[0, 0])
        return y, [tensor.grad for tensor in tensors if tensor.requires_grad]

    return step


class TorchOps:
    """Rows of heads are (heads, rows, width)."""

    @staticmethod
    def tanh(x: Any) -> Any:
        return x.tanh()

    @staticmethod
    def silu(x: Any) -> Any:
        import torch

        return torch.nn.functional.silu(x)

    @staticmethod
    def leaky_square(h: Any) -> Any:
        import torch

        return torch.nn.functional.leaky_relu(h, 0.5) ** 2

    @staticmethod
    def gelu(x: Any) -> Any:
        import torch

        return torch.nn.functional.gelu(x, approximate="tanh")

    @staticmethod
    def softmax(x: Any) -> Any:
        return x.softmax(1)

    @staticmethod
    def layernorm(x: Any, w: Any, b: Any) -> Any:
        import torch

        return torch.nn.functional.layer_norm(x, (x.shape[1],), w[0], b[0])

    @staticmethod
    def rmsnorm(x: Any, w: Any) -> Any:
        import torch

        return torch.nn.functional.rms_norm(x, (x.shape[1],), w[0], 1e-5)

    @staticmethod
    def cross_entropy(z: Any, t: Any) -> Any:
        import torch

        return torch.nn.functional.cross_entropy(z, t)

    @staticmethod
    def heads(x: Any, heads: int) -> Any:
        return x.view(x.shape[0], heads, -1).transpose(0, 1)

    @staticmethod
    def joined(x: Any) -> Any:
        return x.transpose(0, 1).reshape(x.shape[1], -1)

    @staticmethod
    def rope(x: Any, c: Any, s: Any) -> Any:
        import torch

        half = c.shape[1]
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * c - b * s, b * c + a * s], -1)

    @staticmethod
    def causal(q: Any, k: Any, v: Any, sharing: int) -> Any:
        import torch

        k, v = (t.repeat_interleave(sharing, 0) for t in (k, v))
        found = torch.nn.functional.scaled_dot_product_attention(
            q[None], k[None], v[None], is_causal=True
        )
        return found[0]


# ---- JAX -------------------------------------------------------------------------------------------


def jax_step(row: Row, values: Mapping[str, Array], cotangent: Array) -> Step:
    import jax
    import jax.numpy as jnp

    differentiated = row.wrt
    fixed = [jnp.array(values[name]) for name in row.fixed]
    targets = [jnp.array(values["t"] - 1)] if row.classes else []
    seed = jnp.array(cotangent)

    def both(*tensors: Any) -> Any:
        def forward(*given: Any) -> Any:
            by_name = dict(zip([*differentiated, *row.fixed], [*given, *fixed]))
            return row.peer(JaxOps, *(by_name[name] for name in row.inputs), *targets)

        y, pull = jax.vjp(forward, *tensors)
        return y, pull(seed if y.ndim == 2 else seed[0, 0])

    tensors = [jnp.array(values[name]) for name in differentiated]
    ready: Callable[..., Any] = jax.block_until_ready
    compiled: Callable[..., Any] = jax.jit(both)
    return lambda: ready(compiled(*tensors))


class JaxOps:
    """As TorchOps."""

    @staticmethod
    def tanh(x: Any) -> Any:
        import jax.numpy as jnp

        return jnp.tanh(x)

    @staticmethod
    def silu(x: Any) -> Any:
        import jax

        return jax.nn.silu(x)

    @staticmethod
    def leaky_square(h: Any) -> Any:
        import jax

        return jax.nn.leaky_relu(h, 0.5) ** 2

    @staticmethod
    def gelu(x: Any) -> Any:
        import jax

        return jax.nn.gelu(x, approximate=True)

    @staticmethod
    def softmax(x: Any) -> Any:
        import jax

        return jax.nn.softmax(x, axis=1)

    @staticmethod
    def layernorm(x: Any, w: Any, b: Any) -> Any:
        import jax

        return (x - x.mean(1, keepdims=True)) * jax.lax.rsqrt(
            x.var(1, keepdims=True) + 1e-5
        ) * w + b

    @staticmethod
    def rmsnorm(x: Any, w: Any) -> Any:
        import jax

        return x * jax.lax.rsqrt((x * x).mean(1, keepdims=True) + 1e-5) * w

    @staticmethod
    def cross_entropy(z: Any, t: Any) -> Any:
        import jax
        import jax.numpy as jnp

        return -jnp.take_along_axis(jax.nn.log_softmax(z, axis=1), t, 1).mean()

    @staticmethod
    def heads(x: Any, heads: int) -> Any:
        return x.reshape(x.shape[0], heads, -1).swapaxes(0, 1)

    @staticmethod
    def joined(x: Any) -> Any:
        return x.swapaxes(0, 1).reshape(x.shape[1], -1)

    @staticmethod
    def rope(x: Any, c: Any, s: Any) -> Any:
        import jax.numpy as jnp

        half = c.shape[1]
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate([a * c - b * s, b * c + a * s], -1)

    @staticmethod
    def causal(q: Any, k: Any, v: Any, sharing: int) -> Any:
        import jax
        import jax.numpy as jnp

        k, v = (jnp.repeat(t, sharing, 0) for t in (k, v))
        scores = q @ k.swapaxes(1, 2) / jnp.sqrt(1.0 * q.shape[-1])
        mask = jnp.tril(jnp.ones(scores.shape[1:], bool))
        return jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1) @ v
