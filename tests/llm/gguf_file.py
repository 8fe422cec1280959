"""GGUF files in Python: written for tests, and read into float64 as the formats are described, without any code of apps/llm."""

import struct

import numpy as np

ALIGNMENT = 32
U32, F32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
# Name of a type: its number, elements and bytes of a block.
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24),
         "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210), "BF16": (30, 1, 2)}
NAMES = {number: name for name, (number, _, _) in TYPES.items()}


def text(value):
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(v):
    """A value with its type: bool, int (of 32 bits), float (f32), str, or a list of one of them."""
    if isinstance(v, bool):
        return BOOL, struct.pack("<?", v)
    if isinstance(v, int):
        return U32, struct.pack("<I", v)
    if isinstance(v, float):
        return F32, struct.pack("<f", v)
    if isinstance(v, list):
        kind = value(v[0])[0]
        return ARRAY, struct.pack("<IQ", kind, len(v)) + b"".join(value(e)[1] for e in v)
    return STRING, text(v)


def write(path, keys, tensors):
    """tensors: name to (type, shape with the innermost extent first, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, v in keys.items():
        kind, raw = value(v)
        head += text(key) + struct.pack("<I", kind) + raw
    data = b""
    for name, (kind, shape, raw) in tensors.items():
        data += b"\0" * (-len(data) % ALIGNMENT)
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, TYPES[kind][0], len(data))
        data += raw
    head += b"\0" * (-len(head) % ALIGNMENT)
    with open(path, "wb") as f:
        f.write(head + data)


def random_blocks(rng, kind, rows, columns, size):
    """Bytes of a tensor whose elements are some `size` from 0: any quants, with scales that are chosen for it."""
    _, elements, length = TYPES[kind]
    if kind == "F32":
        return (rng.standard_normal((rows, columns)) * size).astype("<f4").tobytes()
    if kind == "F16":
        return (rng.standard_normal((rows, columns)) * size).astype("<f2").tobytes()
    if kind == "BF16":
        bits = (rng.standard_normal((rows, columns)) * size).astype("<f4").view("<u4")
        return (bits >> 16).astype("<u2").tobytes()
    blocks = rng.integers(0, 256, (rows * columns // elements, length), dtype=np.uint8)
    spread = {"Q4_0": 4.6, "Q4_1": 4.6, "Q5_0": 9.2, "Q5_1": 9.2, "Q8_0": 74, "Q4_K": 150, "Q5_K": 300, "Q6_K": 1400}[kind]
    half = lambda v: np.asarray(v, "<f2").view(np.uint8).reshape(-1, 2)
    scale = size / spread * (0.5 + rng.random(len(blocks)))
    if kind in ("Q4_0", "Q5_0", "Q8_0"):
        blocks[:, 0:2] = half(scale)
    elif kind in ("Q4_1", "Q5_1"):
        blocks[:, 0:2], blocks[:, 2:4] = half(scale), half(-scale * (7.5 if kind == "Q4_1" else 15.5))
    elif kind in ("Q4_K", "Q5_K"):
        blocks[:, 0:2], blocks[:, 2:4] = half(scale), half(scale * (7.5 if kind == "Q4_K" else 15.5))
    else:
        blocks[:, 208:210] = half(scale)
    return blocks.tobytes()


def to_float(kind, raw, shape):
    """The float64 that a tensor stands for, outermost dimension first."""
    _, elements, length = TYPES[kind]
    if kind == "F32":
        y = np.frombuffer(raw, "<f4").astype(float)
    elif kind == "F16":
        y = np.frombuffer(raw, "<f2").astype(float)
    elif kind == "BF16":
        y = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4").astype(float)
    else:
        blocks = np.frombuffer(raw, np.uint8).reshape(-1, length)
        half = lambda at: blocks[:, at:at + 2].copy().view("<f2").astype(float)
        nibbles = lambda b: np.concatenate([b & 15, b >> 4], axis=1).astype(int)
        if kind == "Q8_0":
            y = blocks[:, 2:].view(np.int8).astype(float) * half(0)
        elif kind in ("Q4_0", "Q4_1"):
            q = nibbles(blocks[:, length - 16:])
            y = (q - 8) * half(0) if kind == "Q4_0" else q * half(0) + half(2)
        elif kind in ("Q5_0", "Q5_1"):
            high = np.unpackbits(blocks[:, length - 20:length - 16], axis=1, bitorder="little")
            q = nibbles(blocks[:, length - 16:]) + 16 * high.astype(int)
            y = (q - 16) * half(0) if kind == "Q5_0" else q * half(0) + half(2)
        elif kind in ("Q4_K", "Q5_K"):
            six = blocks[:, 4:16].astype(int)
            scales = np.concatenate([six[:, 0:4] & 63, (six[:, 8:12] & 15) + 16 * (six[:, 0:4] >> 6)], axis=1)
            least = np.concatenate([six[:, 4:8] & 63, (six[:, 8:12] >> 4) + 16 * (six[:, 4:8] >> 6)], axis=1)
            low = blocks[:, length - 128:].reshape(-1, 4, 32)
            q = np.stack([low & 15, low >> 4], axis=2).reshape(-1, 8, 32).astype(int)
            if kind == "Q5_K":
                bits = np.unpackbits(blocks[:, 16:48, None], axis=2, bitorder="little").transpose(0, 2, 1)
                q = q + 16 * bits.astype(int)
            y = (half(0) * scales)[:, :, None] * q - (half(2) * least)[:, :, None]
        else:  # Q6_K: two halves of 128; in each, four rows of 32
            low, high = blocks[:, :128].reshape(-1, 2, 2, 32), blocks[:, 128:192].reshape(-1, 2, 1, 32)
            four = np.concatenate([low & 15, low >> 4], axis=2).astype(int)
            two = np.concatenate([(high >> s) & 3 for s in (0, 2, 4, 6)], axis=2).astype(int)
            q = (four + 16 * two - 32).reshape(-1, 16, 16)
            y = half(208)[:, :, None] * blocks[:, 192:208].view(np.int8).astype(float)[:, :, None] * q
    return y.reshape(shape[::-1])


def read(path, with_tensors=True):
    """(keys, tensors as float64)."""
    with open(path, "rb") as f:
        raw = f.read()
    at = 4

    def take(form):
        nonlocal at
        result = struct.unpack_from("<" + form, raw, at)
        at += struct.calcsize("<" + form)
        return result if len(result) > 1 else result[0]

    def take_text():
        nonlocal at
        length = take("Q")
        at += length
        return raw[at - length:at]

    def take_value(kind):
        if kind == STRING:
            return take_text()
        if kind == ARRAY:
            element, count = take("I"), take("Q")
            return [take_value(element) for _ in range(count)]
        return take(SCALARS[kind])

    _, count, keys_count = take("I"), take("Q"), take("Q")
    keys = {}
    for _ in range(keys_count):
        key = take_text().decode()
        keys[key] = take_value(take("I"))
    heads = []
    for _ in range(count if with_tensors else 0):
        name = take_text().decode()
        dimensions = take("I")
        shape = [take("Q") for _ in range(dimensions)]
        heads.append((name, shape, take("I"), take("Q")))
    begin = at + -at % ALIGNMENT
    tensors = {}
    for name, shape, number, offset in heads:
        kind = NAMES[number]
        _, elements, length = TYPES[kind]
        size = int(np.prod(shape)) // elements * length
        tensors[name] = to_float(kind, raw[begin + offset:begin + offset + size], shape)
    return keys, tensors
