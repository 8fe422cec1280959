"""Whether a row's result is the same bits for any number of other rows, on a card, and what that costs.

    python3 -m gpu.same_bits FOLDER [OP ...]

FOLDER has OP.so and OP_invariant.so: libraries for CUDA without and with `--set invariant=true`. Each is called with all rows, and with
some of them. It prints a line for each size and part of which a result differs, then microseconds of both, by number of rows.
"""

import os
import sys

import torch

from .library import TYPES, Library

ROWS = 2048
PARTS = (1, 2, 3, 5, 7, 8, 16, 17, 31, 32, 33, 64, 100, 128, 200, 256, 300, 500, 512, 777, 1000, 1024, 1500)
TIMED = (1, 8, 16, 64, 256, 1024, 4096)
BF16 = torch.bfloat16


def random(*shape, kind=BF16, least=-1.0, most=1.0):
    if kind.is_floating_point:
        return torch.empty(shape, device="cuda").uniform_(least, most).to(kind)
    return torch.randint(int(least), int(most), shape, device="cuda", dtype=kind)


def weights(n, k):
    return random(n, k, least=-k**-0.5, most=k**-0.5)


class Op:
    """batch: arguments whose first dimension is that of the rows; shared: those of all rows; out: extents of results, of rows first."""

    def __init__(self, sizes, batch, shared, out, rows=ROWS, parts=PARTS, timed=TIMED):
        self.sizes, self.batch, self.shared, self.out = sizes, batch, shared, out
        self.rows, self.parts, self.timed = rows, parts, timed


def product(x, w, y, sizes=((1000, 512), (4096, 4096), (1024, 16384), (8192, 8192)), **more):
    return Op(sizes, lambda s, m: {x: random(m, s[1])}, lambda s: {w: weights(*s), **{k: v(s) for k, v in more.items()}},
              lambda s, m: {y: (m, s[0])})


def of_columns(shared=lambda s: {}, sizes=((16,), (100,), (768,), (1000,), (1024,), (4096,), (5120,), (8192,), (50257,))):
    return Op(sizes, lambda s, m: {"x": random(m, s[0])}, shared, lambda s, m: {"y": (m, s[0])})


def norm_weight(s):
    return {"weight": random(s[0]), "eps": 1e-6}


IMAGES, FEW_IMAGES, IMAGES_TIMED = 64, (1, 2, 3, 5, 8, 13, 25, 32, 40), (1, 2, 4, 8, 16, 32)
OPS = {
    "gemm": product("a", "b_nk", "y"),
    "gemm_q": Op(((1024, 512), (4096, 4096), (8192, 8192)), lambda s, m: {"a": random(m, s[1])},
                 lambda s: {"b_int4": random(s[0], s[1] // 2, kind=torch.uint8, least=0, most=255),
                            "b_scale": random(s[0], s[1] // 32, least=0.001, most=0.002)},
                 lambda s, m: {"y": (m, s[0])}),
    "swiglu": Op(((1024, 512), (4096, 4096), (14336, 4096)), lambda s, m: {"x": random(m, s[1])},
                 lambda s: {"w_gate_nk": weights(*s), "w_up_nk": weights(*s)}, lambda s, m: {"y": (m, s[0])}),
    "swiglu_mlp": Op(((1024, 512), (14336, 4096)), lambda s, m: {"x": random(m, s[1]), "residual": random(m, s[1])},
                     lambda s: {"weight": random(s[1]), "eps": 1e-6, "hidden": s[0], "w_gate_nk": weights(*s), "w_up_nk": weights(*s),
                                "w_down_nk": weights(s[1], s[0])},
                     lambda s, m: {"y": (m, s[1])}),
    "qkv_projection": Op(((1024, 512), (4096, 4096)), lambda s, m: {"x": random(m, s[1])},
                         lambda s: {"w_q_nk": weights(*s), "w_k_nk": weights(s[0] // 4, s[1]), "w_v_nk": weights(s[0] // 4, s[1]),
                                    "bias_q": random(s[0]), "bias_k": random(s[0] // 4), "bias_v": random(s[0] // 4)},
                         lambda s, m: {"q": (m, s[0]), "k": (m, s[0] // 4), "v": (m, s[0] // 4)}),
    "rms_norm_gemm": product("x", "w_nk", "y", eps=lambda s: 1e-6),
    "moe_router": Op(((64, 2048), (128, 4096), (256, 7168)), lambda s, m: {"x": random(m, s[1])}, lambda s: {"w_nk": weights(*s), "experts": s[0]},
                     lambda s, m: {"scores": (m, 2), "indices": (m, 2)}, 16384,
                     (*PARTS, 2048, 8191, 8192, 10000), (1, 16, 256, 1024, 4096, 16384)),
    "rms_norm": of_columns(norm_weight),
    "layer_norm": of_columns(lambda s: {**norm_weight(s), "bias": random(s[0])}),
    "softmax": of_columns(),
    "cross_entropy": Op(((1000,), (32000,), (50257,), (128256,)),
                        lambda s, m: {"logits": random(m, s[0]), "labels": random(m, kind=torch.int32, least=0, most=s[0])},
                        lambda s: {"ignore_index": -100}, lambda s, m: {"loss": (m,)}),
    "decode_attention": Op(((32, 8, 1024, 128), (32, 8, 8192, 128), (8, 8, 4097, 64), (16, 16, 2000, 80), (32, 4, 1000, 72)),
                           lambda s, n: {"q": random(n, s[0], 1, s[3]), "k": random(n, s[1], s[2], s[3]), "v": random(n, s[1], s[2], s[3]),
                                         "lengths": random(n, kind=torch.int32, least=1, most=s[2])},
                           lambda s: {"scale": s[3]**-0.5}, lambda s, n: {"out": (n, s[0], 1, s[3])}, 64,
                           (1, 2, 3, 5, 8, 16, 17, 33, 50), (1, 4, 16, 64)),
    "conv2d": Op(((64, 64, 28), (256, 256, 14), (512, 128, 7)), lambda s, n: {"x": random(n, s[2], s[2], 1, s[1])},
                 lambda s: {"weight_ohwi": random(1, s[0], 3, 3, s[1], least=-0.1, most=0.1), "bias": random(1, s[0])},
                 lambda s, n: {"y": (n, s[2], s[2], 1, s[0])}, IMAGES, FEW_IMAGES, IMAGES_TIMED),
    "group_norm": Op(((32, 320, 64), (32, 512, 32), (8, 64, 7)), lambda s, n: {"x": random(n, s[1], s[2], s[2])},
                     lambda s: {"weight": random(s[1]), "bias": random(s[1]), "groups": s[0], "eps": 1e-5},
                     lambda s, n: {"y": (n, s[1], s[2], s[2])}, IMAGES, FEW_IMAGES, IMAGES_TIMED),
}


def parts_of(tensors, first, count):
    return {name: t[first:first + count].clone() for name, t in tensors.items()}


def arguments(library, batch, shared, out):
    """As the library has their types; results are -1, or a NaN."""
    values = {}
    for name, _, code, bits in library.arguments:
        kind = next(t for t, of in TYPES.items() if of == (code, bits))
        if name in out:
            values[name] = torch.full(out[name], float("nan") if kind.is_floating_point else -1, device="cuda", dtype=kind)
        else:
            given = {**batch, **shared}[name]
            values[name] = given.to(kind) if isinstance(given, torch.Tensor) else given
    return values


def call(library, batch, shared, out):
    values = arguments(library, batch, shared, out)
    library.call(values)()
    return {name: values[name] for name in out}


def bits_of(t):
    return t.view({2: torch.int16, 4: torch.int32}[t.element_size()])


def same(a, b):
    return all(torch.equal(bits_of(a[name]), bits_of(b[name])) for name in a)


def differing(op, library):
    """The first part of each size whose result is another one, as text."""
    found = []
    for size in op.sizes:
        shared, rows = op.shared(size), op.rows
        while rows > 64 and rows * max(size) * 2 > 1 << 30:
            rows //= 2
        batch = op.batch(size, rows)
        whole = call(library, batch, shared, op.out(size, rows))
        for count in op.parts:
            for first in (0, (rows - count) // 2, rows - count):
                if first < 0 or found and found[-1][0] == size:
                    continue
                some = call(library, parts_of(batch, first, count), shared, op.out(size, count))
                torch.cuda.synchronize()
                if not same(some, parts_of(whole, first, count)):
                    found.append((size, f"{size}: {count} of {rows} from {first}"))
    return [text for _, text in found]


def microseconds(op, library, size, rows, calls=8):
    values = arguments(library, op.batch(size, rows), op.shared(size), op.out(size, rows))
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        run = library.call(values)
        run()
        stream.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(calls):
                run()
    times = []
    for _ in range(12):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1000 / calls)
    return min(times)


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(OPS)
    torch.manual_seed(1)
    for name in names:
        op, libraries = OPS[name], []
        for function in (name, name + "_invariant"):
            libraries.append(Library(os.path.join(folder, function + ".so"), function))
        for library, what in zip(libraries, ("default", "invariant")):
            found = differing(op, library)
            print(f"{name}, {what}: {'; '.join(found) if found else 'the same bits'}", flush=True)
        for size in op.sizes:
            cells = []
            for rows in op.timed:
                if rows * max(size) * 2 > 1 << 30:
                    continue
                usual, invariant = (microseconds(op, library, size, rows) for library in libraries)
                cells.append(f"{rows}: {usual:.1f} {invariant:.1f}")
            print(f"  {size}, rows: us, invariant us   {'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
