"""Rows of a matrix in Triton: a program has a row, in registers where it fits; the rows of cross-entropy are summed up part by part.

Peers of the table. Importing this needs Triton.
"""

import torch
import triton
import triton.language as tl


def quickly(function, quantiles):
    """What autotuning takes, in milliseconds: configurations that differ little may be mixed up."""
    return triton.testing.do_bench(function, warmup=5, rep=20, quantiles=quantiles)


def tuned(configs, key):
    return triton.autotune(configs=configs, key=key, do_bench=quickly)


WARPS = [triton.Config({}, num_warps=w) for w in (4, 8, 16, 32)]


@tuned(WARPS, key=["cols"])
@triton.jit
def softmax_rows(y, x, cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row + col, mask=col < cols, other=float("-inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row + col, e / tl.sum(e, 0), mask=col < cols)


@tuned(WARPS, key=["cols"])
@triton.jit
def rms_norm_rows(y, total, x, residual, weight, cols, stride, eps, ADD: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    col = tl.arange(0, BLOCK)
    inside = col < cols
    v = tl.load(x + row + col, mask=inside, other=0).to(tl.float32)
    if ADD:
        v += tl.load(residual + row + col, mask=inside, other=0).to(tl.float32)
        tl.store(total + row + col, v, mask=inside)
    scale = tl.rsqrt(tl.sum(v * v, 0) / cols + eps)
    w = tl.load(weight + col, mask=inside, other=0).to(tl.float32)
    tl.store(y + row + col, v * scale * w, mask=inside)


@tuned(WARPS, key=["cols"])
@triton.jit
def layer_norm_rows(y, x, weight, bias, cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    col = tl.arange(0, BLOCK)
    inside = col < cols
    v = tl.load(x + row + col, mask=inside, other=0).to(tl.float32)
    centred = tl.where(inside, v - tl.sum(v, 0) / cols, 0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / cols + eps)
    w = tl.load(weight + col, mask=inside, other=0).to(tl.float32)
    b = tl.load(bias + col, mask=inside, other=0).to(tl.float32)
    tl.store(y + row + col, centred * scale * w + b, mask=inside)


@tuned([triton.Config({"BLOCK": b}, num_warps=w, num_stages=s) for b, w, s in
        ((4096, 8, 2), (8192, 16, 1), (8192, 16, 2), (16384, 16, 1), (16384, 32, 2))], key=["cols"])
@triton.jit
def cross_entropy_rows(loss, logits, labels, cols, stride, ignore, BLOCK: tl.constexpr):
    """A part of a row at a time: each column of the part has a maximum and a sum of its own until the end."""
    row = tl.program_id(0).to(tl.int64)
    x = logits + row * stride
    col = tl.arange(0, BLOCK)
    most = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        v = tl.load(x + start + col, mask=start + col < cols, other=-1e30).to(tl.float32)
        higher = tl.maximum(most, v)
        total = total * tl.exp(most - higher) + tl.exp(v - higher)
        most = higher
    highest = tl.max(most, 0)
    lse = tl.log(tl.sum(total * tl.exp(most - highest), 0)) + highest
    label = tl.load(labels + row)
    at = tl.load(x + tl.where(label == ignore, 0, label)).to(tl.float32)
    tl.store(loss + row, tl.where(label == ignore, 0.0, lse - at))


def block(x):
    return triton.next_power_of_2(x.shape[1])


def softmax(x):
    y = torch.empty_like(x)
    softmax_rows[(x.shape[0],)](y, x, x.shape[1], x.stride(0), BLOCK=block(x))
    return y


def rms_norm(x, weight, eps, residual=None):
    y = torch.empty_like(x)
    total = y if residual is None else torch.empty_like(x)
    rms_norm_rows[(x.shape[0],)](y, total, x, x if residual is None else residual, weight, x.shape[1], x.stride(0), eps,
                                 ADD=residual is not None, BLOCK=block(x))
    return y if residual is None else (y, total)


def layer_norm(x, weight, bias, eps):
    y = torch.empty_like(x)
    layer_norm_rows[(x.shape[0],)](y, x, weight, bias, x.shape[1], x.stride(0), eps, BLOCK=block(x))
    return y


def cross_entropy(logits, labels, ignore_index):
    loss = torch.empty(logits.shape[0], device=logits.device, dtype=torch.float32)
    cross_entropy_rows[(logits.shape[0],)](loss, logits, labels, logits.shape[1], logits.stride(0), ignore_index)
    return loss
