"""Arrays on a CUDA device, which is the emulator here: their memory is the emulator's, and no copy comes back unasked."""

import os
import unittest

os.environ["HALYARD_CUDA_DRIVER"] = os.environ["HALYARD_EMULATED_DRIVER"]

import numpy as np  # noqa: E402

import halyard  # noqa: E402
from halyard._arrays import TYPES  # noqa: E402


def on_device(a):
    b = halyard.Buffer(a.shape, TYPES[str(a.dtype)], 2)
    b.frombytes(a.tobytes())
    return b


def on_host(b):
    halyard.synchronize()
    return np.frombuffer(b.tobytes(), np.float32).reshape(b.shape)


class Cuda(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.norm = staticmethod(halyard.op("rms_norm", device="cuda", devices="emulator"))
        random = np.random.default_rng(1)
        cls.x, cls.w = random.standard_normal((5, 64), dtype=np.float32), random.standard_normal(64, dtype=np.float32)
        cls.expected = cls.x / np.sqrt((cls.x * cls.x).mean(-1, keepdims=True) + 1e-6) * cls.w

    def test_results(self):
        y = self.norm(on_device(self.x), on_device(self.w), eps=1e-6)
        self.assertEqual(y.__dlpack_device__(), (2, 0))
        np.testing.assert_allclose(on_host(y), self.expected, rtol=1e-5, atol=1e-6)

    def test_given_result(self):
        y = on_device(np.zeros_like(self.x))
        self.assertIs(self.norm(on_device(self.x), on_device(self.w), out=y), y)
        np.testing.assert_allclose(on_host(y), self.expected, rtol=1e-5, atol=1e-6)

    def test_no_elements(self):
        self.assertEqual(self.norm(on_device(self.x[:0]), on_device(self.w)).shape, (0, 64))

    def test_devices_that_do_not_go_together(self):
        with self.assertRaisesRegex(ValueError, 'the arrays are on cpu, and the op was built for cuda; halyard.op."rms_norm", device="cpu"'):
            self.norm(self.x, self.w)
        with self.assertRaisesRegex(ValueError, "weight is on the host, but x is on CUDA device 0"):
            self.norm(on_device(self.x), self.w)
        with self.assertRaisesRegex(ValueError, "the arrays are on cuda, and the op was built for cpu"):
            halyard.op("rms_norm", device="cpu")(on_device(self.x), on_device(self.w))

    def test_errors_of_the_library(self):
        with self.assertRaisesRegex(halyard.Error, "rms_norm: Input buffer weight is accessed at 63"):
            self.norm(on_device(self.x), on_device(self.w[:3]))
        self.test_results()


if __name__ == "__main__":
    unittest.main()
