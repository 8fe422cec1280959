"""Products and attention in Triton: tiles come by TMA, by descriptors that the host makes.

Peers of the table. Importing this needs Triton.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from .triton_rows import tuned


def boxes(arguments):
    """The boxes of the descriptors, as a configuration has them."""
    rows, columns, depth = arguments["ROWS"], arguments["COLUMNS"], arguments["DEPTH"]
    arguments["a"].block_shape = [rows, depth]
    for b in ("b", "b2"):
        arguments[b].block_shape = [columns, depth] if arguments["NK"] else [depth, columns]
    arguments["y"].block_shape = [rows, columns]


def tiles(*sizes):
    return [triton.Config({"ROWS": r, "COLUMNS": c, "DEPTH": d}, num_warps=w, num_stages=s, pre_hook=boxes) for r, c, d, w, s in sizes]


@triton.jit
def gelu(v):
    # tanh(u) = 1 - 2 / (exp(2 u) + 1)
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    return v * (1 - 1 / (tl.exp(2 * u) + 1))


@tuned(tiles((128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (128, 128, 64, 8, 4), (128, 128, 64, 4, 4), (64, 128, 64, 4, 5), (64, 64, 128, 4, 5),
             (128, 256, 128, 8, 3), (128, 128, 128, 8, 4)),  # for 8 bits; of 16 bits they do not fit
       key=["m", "n", "k", "ACTIVATION", "NK"])
@triton.jit
def product_tiles(y, a, b, b2, bias, m, n, k, a_scale, ACTIVATION: tl.constexpr, NK: tl.constexpr, SUMS: tl.constexpr,
                  ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr = 8):
    """ACTIVATION: "" for y = a b; "gelu" of a b + bias; "swiglu" silu(a b) * (a b2); "scaled" a b * bias * a_scale."""
    down, across = tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS)
    tile = tl.program_id(0)
    first = tile // (GROUP * across) * GROUP  # rows of tiles that are taken together, so that what they read is in the L2
    group = min(down - first, GROUP)
    row = (first + tile % (GROUP * across) % group) * ROWS
    col = tile % (GROUP * across) // group * COLUMNS
    acc = tl.zeros((ROWS, COLUMNS), SUMS)
    acc2 = tl.zeros((ROWS, COLUMNS), SUMS)
    for at in range(0, k, DEPTH):
        x = a.load([row, at])
        if NK:
            acc = tl.dot(x, b.load([col, at]).T, acc, out_dtype=SUMS)
            if ACTIVATION == "swiglu":
                acc2 = tl.dot(x, b2.load([col, at]).T, acc2, out_dtype=SUMS)
        else:
            acc = tl.dot(x, b.load([at, col]), acc, out_dtype=SUMS)
    value = acc.to(tl.float32)
    if ACTIVATION == "swiglu":
        value = value / (1 + tl.exp(-value)) * acc2.to(tl.float32)
    columns = col + tl.arange(0, COLUMNS)
    if ACTIVATION == "gelu":
        value = gelu(value + tl.load(bias + columns, mask=columns < n, other=0).to(tl.float32)[None, :])
    if ACTIVATION == "scaled":
        value *= (tl.load(bias + columns, mask=columns < n, other=0) * a_scale)[None, :]
    y.store([row, col], value.to(y.dtype))


def multiply(a, b, b2, bias, activation, nk, kind, a_scale=1.0):
    (m, k), n = a.shape, b.shape[0] if nk else b.shape[1]
    y = torch.empty(m, n, device=a.device, dtype=kind)
    y_tensor, a_tensor, b_tensor, b2_tensor = (TensorDescriptor.from_tensor(t, [1, 1]) for t in (y, a, b, b2))
    product_tiles[lambda o: (triton.cdiv(m, o["ROWS"]) * triton.cdiv(n, o["COLUMNS"]),)](
        y_tensor, a_tensor, b_tensor, b2_tensor, bias, m, n, k, a_scale, ACTIVATION=activation, NK=nk,
        SUMS=tl.float32 if a.is_floating_point() else tl.int32)
    return y


def gelu_product(a, b, bias):
    return multiply(a, b, b, bias, "gelu", False, a.dtype)


def product(a, b):
    return multiply(a, b, b, a, "", False, a.dtype)


def swiglu(x, w_gate_nk, w_up_nk):
    return multiply(x, w_gate_nk, w_up_nk, x, "swiglu", True, x.dtype)


def product_int8(a, b_nk, b_scale, a_scale, kind):
    return multiply(a, b_nk, b_nk, b_scale, "scaled", True, kind, a_scale)


def strips(arguments):
    queries, keys, size = arguments["QUERIES"], arguments["KEYS"], arguments["SIZE"]
    arguments["q"].block_shape = arguments["out"].block_shape = [1, 1, queries, size]
    arguments["k"].block_shape = arguments["v"].block_shape = [1, 1, keys, size]


@triton.jit
def next_keys(acc, most, total, q, k, v, image, head, query, first, last, keys, scale, MASKED: tl.constexpr, CAUSAL: tl.constexpr,
              QUERIES: tl.constexpr, KEYS: tl.constexpr, SIZE: tl.constexpr):
    """Goes on over blocks of keys from first to last; acc and total are of the maximum so far."""
    for start in range(first, last, KEYS):
        s = tl.dot(q, k.load([image, head, start, 0]).reshape(KEYS, SIZE).T)
        if MASKED:
            key = (start + tl.arange(0, KEYS))[None, :]
            s = tl.where((key < keys) & (query >= key if CAUSAL else True), s, -1e30)
        higher = tl.maximum(most, tl.max(s, 1) * scale)
        p = tl.exp2(s * scale - higher[:, None])
        shrunk = tl.exp2(most - higher)
        total = total * shrunk + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v.load([image, head, start, 0]).reshape(KEYS, SIZE), acc * shrunk[:, None])
        most = higher
    return acc, most, total


@tuned([triton.Config({"QUERIES": q, "KEYS": k}, num_warps=w, num_stages=s, pre_hook=strips)
        for q, k, w, s in ((128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3))], key=["queries", "keys", "CAUSAL", "SIZE"])
@triton.jit
def attention_strips(out, q, k, v, heads, shared, queries, keys, scale, CAUSAL: tl.constexpr, SIZE: tl.constexpr,
                     QUERIES: tl.constexpr, KEYS: tl.constexpr):
    """As FlashAttention has it: a strip of queries, block after block of keys, in powers of two. Causal from the last key."""
    strip = tl.num_programs(0) - 1 - tl.program_id(0)  # the long ones first
    image, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    row = strip * QUERIES
    x = q.load([image, head, row, 0]).reshape(QUERIES, SIZE)
    most = tl.full((QUERIES,), -1e30, tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    acc = tl.zeros((QUERIES, SIZE), tl.float32)
    query = (row + tl.arange(0, QUERIES) + keys - queries)[:, None]
    last = min(row + QUERIES + keys - queries, keys) if CAUSAL else keys
    whole = (row + keys - queries + 1 if CAUSAL else keys) // KEYS * KEYS  # keys up to there are for all of the strip
    acc, most, total = next_keys(acc, most, total, x, k, v, image, head // shared, query, 0, whole, keys, scale, False, CAUSAL,
                                 QUERIES, KEYS, SIZE)
    acc, most, total = next_keys(acc, most, total, x, k, v, image, head // shared, query, whole, last, keys, scale, True, CAUSAL,
                                 QUERIES, KEYS, SIZE)
    acc /= total[:, None]
    out.store([image, head, row, 0], acc.to(out.dtype).reshape(1, 1, QUERIES, SIZE))


def attention(q, k, v, scale, causal):
    out = torch.empty_like(q)
    images, heads, queries, size = q.shape
    tensors = [TensorDescriptor.from_tensor(t, [1, 1, 1, size]) for t in (out, q, k, v)]
    attention_strips[lambda o: (triton.cdiv(queries, o["QUERIES"]), images * heads)](
        *tensors, heads, heads // k.shape[1], queries, k.shape[2], scale * 1.4426950408889634, CAUSAL=causal, SIZE=size)
    return out
