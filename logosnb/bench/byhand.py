"""Every row by hand in NumPy: the output and all gradients, as one writes them without a framework.

In: the tensors of a row by name, and the output's cotangent. Out: (y, gradient by name). Shapes are those
of rows.py; heads are kept as (rows, heads, width). May not know: LOGOS, how anything is timed.

Formulas: z = (x − mean) q, q = 1/√(var + ε), dx = q (g − mean g − z mean(g z)) for a norm with g = dy w;
dx = y (dy − Σ dy y) for a softmax; the rest is the chain rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Tensors = Mapping[str, Array]
Found = tuple[Array, dict[str, Array]]
EPSILON = 1e-5


def softmax(x: Array) -> Array:
    raised: Array = np.exp(x - x.max(axis=-1, keepdims=True))
    raised /= raised.sum(axis=-1, keepdims=True)
    return raised


def softmax_back(y: Array, dy: Array) -> Array:
    dx: Array = y * (dy - (dy * y).sum(axis=-1, keepdims=True))
    return dx


def cross_entropy(z: Array, t: Array) -> tuple[Array, Array]:
    """The mean loss, 1 by 1, and its gradient."""
    p = softmax(z)
    rows = np.arange(len(z))
    loss = -np.log(p[rows, t[:, 0] - 1]).mean(dtype=np.float64)
    p[rows, t[:, 0] - 1] -= 1
    p /= len(z)
    return np.full((1, 1), loss, z.dtype), p


def rms(x: Array) -> Array:
    scale: Array = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + x.dtype.type(EPSILON))
    return scale


def rms_back(x: Array, q: Array, w: Array, dy: Array) -> tuple[Array, Array]:
    """Gradients of x and w of x q w."""
    z, g = x * q, dy * w
    dx = q * (g - z * (g * z).mean(axis=1, keepdims=True))
    return dx, (dy * z).sum(axis=0, keepdims=True)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def swiglu(x: Array, u: Array) -> Array:
    return x * sigmoid(x) * u


def swiglu_back(x: Array, u: Array, dy: Array) -> tuple[Array, Array]:
    s = sigmoid(x)
    return dy * u * (s * (1 + x * (1 - s))), dy * x * s


def rope(x: Array, c: Array, s: Array, turn: int = 1) -> Array:
    """x: rows, heads, width; the gradient is the turn the other way."""
    half = x.shape[2] // 2
    a, b, c, s = x[..., :half], x[..., half:], c[:, None], turn * s[:, None]
    return np.concatenate([a * c - b * s, b * c + a * s], axis=2)


def causal(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    """Weights (heads, rows, keys) and output (rows, heads, width) of causal attention."""
    shared = q.shape[1] // k.shape[1]
    scores = np.einsum("rhi,khi->hrk", q, np.repeat(k, shared, axis=1), optimize=True)
    scores /= q.dtype.type(sqrt(q.shape[2]))
    scores[:, ~np.tri(len(q), dtype=bool)] = -np.inf
    p = softmax(scores)
    return p, np.einsum("hrk,khi->rhi", p, np.repeat(v, shared, axis=1), optimize=True)


def causal_back(q: Array, k: Array, v: Array, p: Array, dy: Array) -> tuple[Array, Array, Array]:
    shared = q.shape[1] // k.shape[1]
    wide_k, wide_v = np.repeat(k, shared, axis=1), np.repeat(v, shared, axis=1)
    dv = np.einsum("hrk,rhi->khi", p, dy, optimize=True)
    ds = softmax_back(p, np.einsum("rhi,khi->hrk", dy, wide_v, optimize=True))
    ds /= q.dtype.type(sqrt(q.shape[2]))
    dq = np.einsum("hrk,khi->rhi", ds, wide_k, optimize=True)
    dk = np.einsum("hrk,rhi->khi", ds, q, optimize=True)
    return dq, _by_group(dk, k.shape[1]), _by_group(dv, k.shape[1])


def _by_group(x: Array, groups: int) -> Array:
    total: Array = x.reshape(len(x), groups, -1, x.shape[2]).sum(axis=2)
    return total


# ---- rows ----------------------------------------------------------------------------------------


def mlp_step(x: Tensors, dy: Array) -> Found:
    h = np.tanh(x["x"] @ x["w1"] + x["b1"])
    loss, dz = cross_entropy(h @ x["w2"] + x["b2"], x["t"])
    dz *= dy[0, 0]
    ds = dz @ x["w2"].T * (1 - h * h)
    return loss, {
        "x": ds @ x["w1"].T,
        "w1": x["x"].T @ ds,
        "b1": ds.sum(axis=0, keepdims=True),
        "w2": h.T @ dz,
        "b2": dz.sum(axis=0, keepdims=True),
    }


def softmax_row(x: Tensors, dy: Array) -> Found:
    y = softmax(x["x"])
    return y, {"x": softmax_back(y, dy)}


def layernorm_row(x: Tensors, dy: Array) -> Found:
    centred = x["x"] - x["x"].mean(axis=1, keepdims=True)
    q = rms(centred)
    z, g = centred * q, dy * x["w"]
    dx = q * (g - g.mean(axis=1, keepdims=True) - z * (g * z).mean(axis=1, keepdims=True))
    sums = {"w": (dy * z).sum(axis=0, keepdims=True), "b": dy.sum(axis=0, keepdims=True)}
    return z * x["w"] + x["b"], {"x": dx, **sums}


def rmsnorm_row(x: Tensors, dy: Array) -> Found:
    total = x["x"] + x["r"]
    q = rms(total)
    dx, dw = rms_back(total, q, x["w"], dy)
    return total * q * x["w"], {"x": dx, "r": dx, "w": dw}


def gelu_row(x: Tensors, dy: Array) -> Found:
    v = x["x"]
    factor = v.dtype.type(sqrt(2 / pi))
    cube = v.dtype.type(0.044715)
    t = np.tanh(factor * (v + cube * v * v * v))
    slope = 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * factor * (1 + 3 * cube * v * v)
    return 0.5 * v * (1 + t), {"x": dy * slope}


def swiglu_row(x: Tensors, dy: Array) -> Found:
    dx, du = swiglu_back(x["x"], x["u"], dy)
    return swiglu(x["x"], x["u"]), {"x": dx, "u": du}


def rope_row(x: Tensors, dy: Array) -> Found:
    """The tables' gradients are sums over heads."""
    v, c, s = x["x"], x["c"], x["s"]
    heads = v.shape[1] // (2 * c.shape[1])
    split = v.reshape(len(v), heads, -1)
    turned = dy.reshape(len(v), heads, -1)
    half = c.shape[1]
    a, b, da, db = split[..., :half], split[..., half:], turned[..., :half], turned[..., half:]
    grads = {
        "x": rope(turned, c, s, -1).reshape(v.shape),
        "c": (da * a + db * b).sum(axis=1),
        "s": (db * a - da * b).sum(axis=1),
    }
    return rope(split, c, s).reshape(v.shape), grads


def cross_entropy_row(x: Tensors, dy: Array) -> Found:
    loss, dx = cross_entropy(x["x"], x["t"])
    return loss, {"x": dx * dy[0, 0]}


def attention_row(heads: int) -> Callable[[Tensors, Array], Found]:
    def row(x: Tensors, dy: Array) -> Found:
        q, k, v, d = (t.reshape(len(t), heads, -1) for t in (x["q"], x["k"], x["v"], dy))
        p, y = causal(q, k, v)
        grads = causal_back(q, k, v, p, d)
        return y.reshape(dy.shape), {n: g.reshape(dy.shape) for n, g in zip("qkv", grads)}

    return row


def block_row(heads: int, groups: int) -> Callable[[Tensors, Array], Found]:
    def row(x: Tensors, dy: Array) -> Found:
        c, s, rows = x["c"], x["s"], len(dy)
        q1 = rms(x["x"])
        a = x["x"] * q1 * x["n1"]
        q = rope((a @ x["wq"]).reshape(rows, heads, -1), c, s)
        k = rope((a @ x["wk"]).reshape(rows, groups, -1), c, s)
        v = (a @ x["wv"]).reshape(rows, groups, -1)
        p, m = causal(q, k, v)
        m = m.reshape(rows, -1)
        h = x["x"] + m @ x["wo"]
        q2 = rms(h)
        b = h * q2 * x["n2"]
        g, u = b @ x["wg"], b @ x["wu"]
        f = swiglu(g, u)
        y = h + f @ x["wd"]
        dg, du = swiglu_back(g, u, dy @ x["wd"].T)
        dh, dn2 = rms_back(h, q2, x["n2"], dg @ x["wg"].T + du @ x["wu"].T)
        dh += dy
        dm = (dh @ x["wo"].T).reshape(rows, heads, -1)
        dq, dk, dv = causal_back(q, k, v, p, dm)
        dq, dk = (rope(t, c, s, -1).reshape(rows, -1) for t in (dq, dk))
        dv = dv.reshape(rows, -1)
        da = dq @ x["wq"].T + dk @ x["wk"].T + dv @ x["wv"].T
        dx, dn1 = rms_back(x["x"], q1, x["n1"], da)
        weights = {"wq": a.T @ dq, "wk": a.T @ dk, "wv": a.T @ dv, "wo": m.T @ dh}
        inner = {"wg": b.T @ dg, "wu": b.T @ du, "wd": f.T @ dy}
        return y, {"x": dx + dh, "n1": dn1, "n2": dn2, **weights, **inner}

    return row


def mlp_row(x: Tensors, dy: Array) -> Found:
    """The fused Mlp op, the gradient of x alone."""
    h = x["x"] @ x["w"] + x["b"]
    active = np.where(h > 0, h, 0.5 * h)
    dh = dy @ x["v"].T * np.maximum(0.5 * h, 2 * h)
    return active * active @ x["v"], {"x": dh @ x["w"].T}
