"""Weights of matrix products: the same numbers for Halyard, in whichever layout its kernel takes, and
for the peers, who get w [n, k], as torch.nn.Linear stores them."""

import zlib

from ..frameworks import F, torch


def schedules(type, amx, m=64):
    """Those of a product that may be the fastest: dot products for few rows, AMX tiles for many."""
    if m <= 16:
        return "", "nk"
    return ("", {"f32": "mma_f32"}.get(type, "mma")) if amx and type in ("f32", "bf16", "int8") else ("",)


def random(name, *shape, dtype, scale=1.0):
    """Uniform in +-scale, the same for a name."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    return ((torch.rand(*shape, generator=generator) * 2 - 1) * scale).to(dtype)


def pack_into(packed, w):
    """w [n, k] into panels [panels, k / group, panel, group] (or [panels, k, panel]), padded with zeros:
    `group` neighbours of k lie side by side, as dot products of pairs or fours want them."""
    panel, group = (packed.shape[2], packed.shape[3]) if packed.dim() == 4 else (packed.shape[2], 1)
    n, k = w.shape
    padded = F.pad(w, (0, -k % group, 0, -n % panel))
    packed.copy_(padded.view(-1, panel, padded.shape[1] // group, group).transpose(1, 2).reshape(packed.shape))


def linear(values, name, n, k, scale=None):
    """Fills those of NAME [k, n], NAME_nk [n, k] and NAME_packed that the kernel has; returns w [n, k].
    Of a size at which a product has numbers near 1, unless a scale is given."""
    w = random(name, n, k, dtype=values["dtype"], scale=scale or (3 / k) ** 0.5)
    if torch.is_tensor(values.get(name)):
        values[name].copy_(w.T)
    if name + "_nk" in values:
        values[name + "_nk"].copy_(w)
    if name + "_packed" in values:
        pack_into(values[name + "_packed"], w)
    return w


def convolution(values, k, c, kernel, groups=1):
    """weight or weight_packed of conv2d; returns w [groups * k, c, kernel, kernel]."""
    w = random("weight", groups * k, c, kernel, kernel, dtype=values["dtype"], scale=(3 / (c * kernel * kernel)) ** 0.5)
    if "weight" in values:
        values["weight"].copy_(w.view(values["weight"].shape))
    if "weight_packed" in values:
        pack_filter_into(values["weight_packed"], w, groups)
    return w


def pack_filter_into(packed, w, groups=1):
    """w [groups * k, c, kernel, kernel] into panels [groups, panels, kernel, kernel, c / group, panel, group]."""
    panel, group = packed.shape[5], packed.shape[6]
    w = w.view(groups, -1, *w.shape[1:])
    padded = F.pad(w, (0, 0, 0, 0, 0, -w.shape[2] % group, 0, -w.shape[1] % panel))
    split = padded.view(groups, -1, panel, padded.shape[2] // group, group, *w.shape[3:])
    packed.copy_(split.permute(0, 1, 5, 6, 3, 2, 4))
