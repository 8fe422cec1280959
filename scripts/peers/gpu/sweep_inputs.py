"""The tensors of a case of the population, on the GPU, and what is expected of its results."""

import math
import os

import torch

from ..population.in_torch import meaning

ELEMENT = {(2, 32): torch.float32, (2, 16): torch.float16, (4, 16): torch.bfloat16, (0, 8): torch.int8, (0, 32): torch.int32, (1, 8): torch.uint8}
DEVICE = os.environ.get("HALYARD_SWEEP_DEVICE", "cuda")  # another one for tests of this module
GAP_POISON = float("nan")
FIRST, SAMPLED = 96, 128  # rows of which the results are computed again: the first and last, and some between


class Values:
    """Tensors and scalars by name."""

    def __init__(self, **values):
        self.__dict__.update(values)


def random(extents, generator):
    return torch.randn(extents, generator=generator, device=DEVICE, dtype=torch.float32)


def fill(name, extents, what, case, generator):
    kind = getattr(torch, case.type)
    if what == "type":
        return random(extents, generator).to(kind)
    if what == "weights":  # of a size at which sums are near 1; of a filter [groups, o, rows, columns, c] or [rows, columns, c]
        summed = {2: extents[1:], 3: extents[:2], 5: extents[2:]}[len(extents)]
        return (random(extents, generator) / math.prod(summed) ** 0.5).to(kind)
    if what == "weights of kn":
        return (random(extents, generator) / extents[0] ** 0.5).to(kind)
    if what == "float32":
        return random(extents, generator)
    if what in ("int8", "uint8"):
        low = -128 if what == "int8" else 0
        return torch.randint(low, low + 256, extents, generator=generator, device=DEVICE, dtype=torch.int16).to(getattr(torch, what))
    if what == "slopes":
        return 2.0 ** (-8.0 * torch.arange(1, extents[0] + 1, device=DEVICE) / extents[0])
    how, number = what
    if how == "near":
        return (torch.rand(extents, generator=generator, device=DEVICE) + 0.5) * number
    if how == "below":
        return torch.randint(0, number, extents, generator=generator, device=DEVICE, dtype=torch.int32)
    if how == "lengths":  # on average half
        return torch.linspace(0, number, extents[0] + 2, device=DEVICE)[1:-1].ceil().to(torch.int32)
    raise AssertionError(what)


def with_gap(tensor, gap):
    wide = torch.full((tensor.shape[0], tensor.shape[1] + gap), GAP_POISON if tensor.is_floating_point() else 77, device=DEVICE, dtype=tensor.dtype)
    wide[:, :tensor.shape[1]] = tensor
    return wide[:, :tensor.shape[1]]


def heads(tensors, case, kind, generator):
    """q, k and v as the layout of the case has them: dense by heads, or views of what projections wrote."""
    made = {}
    if case.layout == "fused":
        counts = {n: tensors[n][0][1] for n in "qkv"}
        batch, _, length, d = tensors["q"][0]
        fused = random((batch, length, sum(counts.values()), d), generator).to(kind)
        for n, part in zip("qkv", fused.split(list(counts.values()), 2)):
            made[n] = part.transpose(1, 2)
        return made
    for n in "qkv":
        batch, count, length, d = tensors[n][0]
        if case.layout == "tokens first":
            made[n] = random((batch, length, count, d), generator).to(kind).transpose(1, 2)
        else:
            made[n] = random((batch, count, length, d), generator).to(kind)
    return made


def inputs(case, of, seed):
    """A namespace of tensors and scalars, with what is made ahead of the calls."""
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    v = Values(**of.scalars, reference=False)
    made = heads(of.tensors, case, getattr(torch, case.type), generator) if of.over == "head" else {}
    for n, (extents, what) in of.tensors.items():
        tensor = made[n] if n in made else fill(n, extents, what, case, generator)
        setattr(v, n, with_gap(tensor, case.gap) if case.gap and n == next(iter(of.tensors)) else tensor)
    if of.ahead:
        for n, tensor in of.ahead(v).items():
            setattr(v, n, tensor)
    return v


def given(v, of):
    """What the library takes."""
    return {n: getattr(v, n) for n in [*of.tensors, *of.scalars]}


def outputs(case, of, library):
    made = {}
    for n, extents in of.outputs.items():
        kind = next(ELEMENT[c, b] for name, _, c, b in library.arguments if name == n)
        poison = float("nan") if kind.is_floating_point else 77
        if of.over == "head" and case.layout != "heads first":
            batch, count, length, d = extents
            made[n] = torch.full((batch, length, count, d), poison, device=DEVICE, dtype=kind).transpose(1, 2)
        else:
            made[n] = torch.full(extents, poison, device=DEVICE, dtype=kind)
    return made


def compared(of, results):
    """Of what a reference gives: indices of equal values may differ."""
    return [r for n, r in results.items() if n != "indices"]


def wide(tensor, kind):
    return tensor.to(kind) if tensor.is_floating_point() or tensor.dtype in (torch.int8, torch.uint8) else tensor


def some_rows(count):
    if count <= 2 * FIRST + SAMPLED:
        return torch.arange(count, device=DEVICE)
    between = torch.linspace(FIRST, count - FIRST - 1, SAMPLED, device=DEVICE).long()
    return torch.cat([torch.arange(FIRST, device=DEVICE), between, torch.arange(count - FIRST, count, device=DEVICE)]).unique()


def some_images(extents):
    """Of what is large for each of the outermost: a few."""
    most = max(1, min(extents[0], int(64e6 // max(1, math.prod(extents[1:])))))
    return torch.linspace(0, extents[0] - 1, most, device=DEVICE).long().unique()


def reference(case, of, v, results):
    """(ours, expected) for a part of the results, in higher precision."""
    if of.over == "head":
        return attention_reference(case, v, results["out"])
    first = of.tensors[of.by_row[0]][0]
    at = some_rows(first[0]) if len(first) == 2 else some_images(first)
    kind = torch.float64 if case.type == "float32" and "m" not in case.dims else torch.float32
    part = Values(**{n: x for n, x in vars(v).items() if not torch.is_tensor(x)})
    part.reference, part.rows_at = True, at
    for n in of.tensors:
        x = getattr(v, n)
        setattr(part, n, wide(x[at] if n in of.by_row else x, kind) if n != "labels" else x[at])
    if hasattr(v, "lengths"):
        part.lengths = v.lengths[at]
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=False):
        expected = of.function(part)
    return [(r[at], e) for r, e in zip(compared(of, results), expected if isinstance(expected, tuple) else (expected,))]


def attention_reference(case, v, out):
    d, p, pairs = case.dims, case.params, []
    group, device = d["heads"] // d["key_heads"], out.device
    causal, windowed = p.get("causal") == "true", p.get("windowed") == "true"
    keys_at = torch.arange(d["keys"], device=device)
    rows = some_rows(d["queries"])
    for batch, head in {(0, 0), (d["batch"] - 1, d["heads"] - 1), (d["batch"] // 2, d["heads"] // 2)}:
        q, k, values = v.q[batch, head][rows].float(), v.k[batch, head // group].float(), v.v[batch, head // group].float()
        scores = q @ k.T * v.scale
        at = rows + (d["keys"] - d["queries"])
        seen = torch.ones_like(scores, dtype=torch.bool)
        if causal:
            seen &= keys_at <= at[:, None]
        if windowed:
            seen &= keys_at > at[:, None] - d["window"]
        if p.get("padded") == "true":
            seen &= keys_at < v.lengths[batch]
        if p.get("alibi") == "true":
            scores -= v.slopes[head] * (at[:, None] - keys_at).abs()
        weights = scores.masked_fill(~seen, -math.inf).softmax(-1).nan_to_num(0)
        pairs.append((out[batch, head][rows], weights @ values))
    return pairs


__all__ = ["compared", "given", "inputs", "meaning", "outputs", "reference"]
