"""Fourier transforms: products with a constant matrix of cosines and sines, which is right for any length; none is a fast one."""

import numpy as np
from graph import MOST

from lowering.builder import op

LONGEST = 2048  # elements that are transformed: the matrix has up to four times the square of it


def waves(c, length, bins, of, inverse):
    """[length, bins, 2]: the real and imaginary part of exp(-2 pi i k n / of); conjugated and divided by `of` for an inverse."""
    if max(length, bins, of) > LONGEST:
        c.fail(f"a transform of {max(length, of)} elements is longer than {LONGEST}")
    angle = 2 * np.pi * (np.outer(np.arange(length), np.arange(bins)) % of) / of
    made = np.stack([np.cos(angle), np.sin(angle) if inverse else -np.sin(angle)], -1)
    return made / of if inverse else made


@op("DFT")
def dft(b, c):
    x, inverse, onesided = c[0], c.get("inverse", 0), c.get("onesided", 0)
    parts = x.shape[-1].number
    if x.rank < 2 or parts not in (1, 2):
        c.fail(f"the last dimension has {x.shape[-1]} elements; a real and an imaginary part are wanted, or a real one")
    given = c.numbers(2, None, [-2])[0] if c.version >= 20 else c.get("axis", 1)
    axis = c.normal(int(given), x.rank)
    if axis == x.rank - 1:
        c.fail("axis: the last dimension holds the parts of a number")
    length = x.shape[axis].number
    if length is None:
        c.fail("the dimension that is transformed has to be of known size")
    of = int(c.numbers(1, None, [length])[0])
    if not 1 <= of <= MOST:
        c.fail(f"dft_length: {of} is no length")
    if onesided and (inverse or parts == 2):
        c.fail("onesided is supported for real numbers that are not transformed back")
    bins = of // 2 + 1 if onesided else of
    taken = min(length, of)
    real = np.zeros([length, bins, 2])
    real[:taken] = waves(c, taken, bins, of, inverse)
    matrix = np.stack([real, np.stack([-real[..., 1], real[..., 0]], -1)][:parts], 1)  # [length, part, bins, part]
    others = [d for d in range(x.rank - 1) if d != axis]
    rows = b.reshape(b.transpose(x, [*others, axis, x.rank - 1]), [*[x.shape[d] for d in others], length * parts])
    weights = b.scalar(matrix.reshape(length * parts, bins * 2), x.type)
    shape = [x.shape[d] for d in others]
    y = b.reshape(b.add("matmul", [rows, weights], [*shape, bins * 2], x.type), [*shape, bins, 2]) if others else \
        b.reshape(b.add("matmul", [b.reshape(rows, [1, length * parts]), weights], [1, bins * 2], x.type), [bins, 2])
    order = [*others, axis, x.rank - 1]
    return b.transpose(y, [order.index(d) for d in range(x.rank)])


@op("STFT")
def stft(b, c):
    """A convolution along the signal: each channel of it is a bin's real or imaginary part."""
    x, step = c[0], int(c.numbers(1)[0])
    if x.rank == 3 and x.shape[2] != 1:
        c.fail("signals of complex numbers are not supported")
    if x.rank not in (2, 3):
        c.fail(f"the signal has {x.rank} dimensions")
    window = None if c[2] is None else np.array(c.numbers(2), np.float64)
    frame = int(c.numbers(3)[0]) if c[3] is not None else window.size if window is not None else 0
    if frame < 1 or not 1 <= step <= MOST or window is not None and window.size != frame:
        c.fail(f"a frame of {frame} elements, a step of {step} and a window of {'none' if window is None else window.size} do not go together")
    if not b.at_least(x.shape[1], frame, c.place):
        c.fail(f"the signal has {x.shape[1]} elements, and a frame {frame}")
    bins = frame // 2 + 1 if c.get("onesided", 1) else frame
    weights = waves(c, frame, bins, frame, False) * (1 if window is None else window[:, None, None])
    weights = b.scalar(weights.transpose(2, 1, 0).reshape(2 * bins, 1, frame), x.type)
    frames = (x.shape[1] - frame) // step + 1
    y = b.add("conv", [b.reshape(x, [x.shape[0], 1, x.shape[1]]), weights], [x.shape[0], 2 * bins, frames], x.type, groups=1, kernel=[frame],
              strides=[step], dilations=[1], before=["0"], after=["0"], inside=[True])
    return b.transpose(b.reshape(y, [x.shape[0], 2, bins, frames]), [0, 3, 2, 1])
