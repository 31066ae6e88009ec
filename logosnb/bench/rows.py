"""What the benchmark measures: each row as a LOGOS program and as the same function for the peers.

In: nothing. Out: `ROWS`. May not know: how anything is timed.

`peer` takes a namespace of tensor functions (see peers.py) and the tensors in the order of `inputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from logosnb.bench import byhand, element_scheme

Array = np.ndarray[Any, Any]
Shapes = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Row:
    """name; program: binds `y`; inputs: shapes of its Real tensors; peer: for PyTorch and JAX; byhand: in
    NumPy; aim: the ratio that the project wants; classes: of the Int targets `t`, if any, one a row of
    `rows`; fixed: Real tensors without a gradient; operations: of matrix products, forward and backward;
    alone: another way to the gradient, which the aim is about in place of the peers."""

    name: str
    program: str
    inputs: Shapes
    peer: Callable[..., Any]
    byhand: Callable[[Mapping[str, Array], Array], Any]
    aim: float
    classes: int = 0
    rows: int = 0
    fixed: tuple[str, ...] = ()
    operations: float = 0.0
    alone: Callable[[Mapping[str, Array], Array], Callable[[], Array]] | None = None

    @property
    def wrt(self) -> list[str]:
        return [name for name in self.inputs if name not in self.fixed]

    def values(self, seed: int = 0) -> dict[str, Array]:
        random = np.random.default_rng(seed)
        found: dict[str, Array] = {
            name: (
                random.normal(size=shape) / np.sqrt(max(shape[0], 1) if name[0] == "w" else 1)
            ).astype(np.float32)
            for name, shape in self.inputs.items()
        }
        if self.classes:
            found["t"] = random.integers(1, self.classes + 1, size=(self.rows, 1))
        return found


def declared(shapes: Shapes, targets: int = 0) -> str:
    lines = [f"Let {n} be a {r} by {c} tensor of Real." for n, (r, c) in shapes.items()]
    return (
        "\n".join(lines + ([f"Let t be a {targets} by 1 tensor of Int."] if targets else [])) + "\n"
    )


def mlp(batch: int, width: int, hidden: int, classes: int, aim: float) -> Row:
    shapes = {
        "x": (batch, width),
        "w1": (width, hidden),
        "b1": (1, hidden),
        "w2": (hidden, classes),
        "b2": (1, classes),
    }
    program = declared(shapes, batch) + (
        "Let a be x matmul w1.\nLet s be a plus b1.\nLet h be tanh of s.\nLet c be h matmul w2.\n"
        "Let z be c plus b2.\nLet y be cross entropy of z with targets t.\n"
    )

    def peer(ops: Any, x: Any, w1: Any, b1: Any, w2: Any, b2: Any, t: Any) -> Any:
        return ops.cross_entropy(ops.tanh(x @ w1 + b1) @ w2 + b2, t)

    operations = 6.0 * batch * (width * hidden + hidden * classes)
    name = f"MLP step {batch}×{width}→{hidden}→{classes}"
    return Row(
        name, program, shapes, peer, byhand.mlp_step, aim, classes, batch, operations=operations
    )


def block(rows: int, width: int, aim: float, heads: int = 4, groups: int = 2) -> Row:
    head = width // heads
    inner = 2 * width
    shapes = {
        "x": (rows, width),
        "n1": (1, width),
        "wq": (width, width),
        "wk": (width, groups * head),
        "wv": (width, groups * head),
        "wo": (width, width),
        "n2": (1, width),
        "wg": (width, inner),
        "wu": (width, inner),
        "wd": (inner, width),
        "c": (rows, head // 2),
        "s": (rows, head // 2),
    }
    program = declared(shapes) + (
        "Let a be rmsnorm of x with weight n1.\nLet q0 be a matmul wq.\nLet k0 be a matmul wk.\n"
        f"Let v be a matmul wv.\nLet q be rope of q0 with cos c and sin s across {heads} heads.\n"
        f"Let k be rope of k0 with cos c and sin s across {groups} heads.\n"
        f"Let m be attention of q over k and v across {heads} heads sharing {groups} key heads "
        "from position 1.\nLet o be m matmul wo.\nLet h be x plus o.\n"
        "Let b be rmsnorm of h with weight n2.\nLet g be b matmul wg.\nLet u be b matmul wu.\n"
        "Let f be swiglu of g and u.\nLet d be f matmul wd.\nLet y be h plus d.\n"
    )

    def peer(
        ops: Any, x: Any, n1: Any, wq: Any, wk: Any, wv: Any, wo: Any, n2: Any, wg: Any, wu: Any,
        wd: Any, c: Any, s: Any,
    ) -> Any:  # fmt: skip
        a = ops.rmsnorm(x, n1)
        q, k, v = ops.heads(a @ wq, heads), ops.heads(a @ wk, groups), ops.heads(a @ wv, groups)
        m = ops.causal(ops.rope(q, c, s), ops.rope(k, c, s), v, heads // groups)
        h = x + ops.joined(m) @ wo
        b = ops.rmsnorm(h, n2)
        return h + (ops.silu(b @ wg) * (b @ wu)) @ wd

    name = f"transformer block {rows}×{width}"
    products = rows * width * (2 * width + 2 * groups * head) + 3 * rows * width * inner
    operations = 6.0 * products + causal_operations(rows, heads, head)
    by_hand = byhand.block_row(heads, groups)
    return Row(name, program, shapes, peer, by_hand, aim, fixed=("c", "s"), operations=operations)


def causal_operations(rows: int, heads: int, width: int) -> float:
    """Of the seven products of attention, forward and backward, over half of all pairs."""
    return 7.0 * rows * rows * heads * width


def row_op(
    name: str, phrase: str, size: int, others: Shapes, peer: Callable[..., Any], by_hand: Any
) -> Row:
    shapes = {"x": (size, size), **others}
    program = declared(shapes) + f"Let y be {phrase}.\n"
    return Row(f"{name} {size}×{size}", program, shapes, peer, by_hand, 1.5)


def row_ops(size: int) -> list[Row]:
    one, full = (1, size), (size, size)
    return [
        row_op(
            "softmax", "softmax of x", size, {}, lambda ops, x: ops.softmax(x), byhand.softmax_row
        ),
        row_op(
            "layernorm",
            "layernorm of x with weight w and bias b",
            size,
            {"w": one, "b": one},
            lambda ops, x, w, b: ops.layernorm(x, w, b),
            byhand.layernorm_row,
        ),
        row_op(
            "rmsnorm with residual",
            "rmsnorm of x with residual r and weight w",
            size,
            {"r": full, "w": one},
            lambda ops, x, r, w: ops.rmsnorm(x + r, w),
            byhand.rmsnorm_row,
        ),
        row_op("gelu", "gelu of x", size, {}, lambda ops, x: ops.gelu(x), byhand.gelu_row),
        row_op(
            "swiglu",
            "swiglu of x and u",
            size,
            {"u": full},
            lambda ops, x, u: ops.silu(x) * u,
            byhand.swiglu_row,
        ),
        row_op(
            "rope",
            f"rope of x with cos c and sin s across {size // 64} heads",
            size,
            {"c": (size, 32), "s": (size, 32)},
            lambda ops, x, c, s: ops.joined(ops.rope(ops.heads(x, size // 64), c, s)),
            byhand.rope_row,
        ),
        Row(
            f"cross entropy {size}×{size}",
            declared({"x": full}, size) + "Let y be cross entropy of x with targets t.\n",
            {"x": full},
            lambda ops, x, t: ops.cross_entropy(x, t),
            byhand.cross_entropy_row,
            1.5,
            size,
            size,
        ),
    ]


def attention(rows: int, heads: int, width: int) -> Row:
    shapes = dict.fromkeys("qkv", (rows, heads * width))
    program = declared(shapes) + (
        f"Let y be attention of q over k and v across {heads} heads from position 1.\n"
    )

    def peer(ops: Any, q: Any, k: Any, v: Any) -> Any:
        return ops.joined(ops.causal(*(ops.heads(t, heads) for t in (q, k, v)), 1))

    name = f"attention, causal, {heads} heads of {width}, {rows} rows"
    operations = causal_operations(rows, heads, width)
    by_hand = byhand.attention_row(heads)
    return Row(name, program, shapes, peer, by_hand, 1.2, operations=operations)


def fused_mlp(width: int, hidden: int) -> Row:
    shapes = {"x": (1, width), "w": (width, hidden), "b": (1, hidden), "v": (hidden, width)}
    program = declared(shapes) + "Let y be mlp of x with up w and bias b and down v.\n"

    def peer(ops: Any, x: Any, w: Any, b: Any, v: Any) -> Any:
        return ops.leaky_square(x @ w + b) @ v

    return Row(
        f"fused Mlp, gradient of x, {width}×{hidden}",
        program,
        shapes,
        peer,
        byhand.mlp_row,
        50,
        fixed=("w", "b", "v"),
        operations=8.0 * width * hidden,
        alone=element_scheme.step,
    )


def rows() -> list[Row]:
    return [
        mlp(8, 4, 16, 3, 8),
        mlp(64, 64, 32, 10, 4),
        mlp(64, 784, 128, 10, 1.3),
        mlp(1024, 1024, 4096, 10, 1.0),
        block(32, 64, 4),
        block(128, 256, 1.5),
        block(512, 512, 1.2),
        *row_ops(1024),
        *row_ops(4096),
        attention(2048, 8, 64),
        fused_mlp(512, 2048),
    ]
