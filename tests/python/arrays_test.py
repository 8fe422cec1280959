"""Results beside numpy's, for arrays of every kind: new ones and given ones, views, none of any elements, shapes that are arithmetic."""

import array
import importlib.util
import threading
import unittest

import numpy as np

import halyard

RANDOM = np.random.default_rng(1)


def rows(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32)


def rms_norm(x, weight, eps=1e-6):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


class Numpy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.norm = staticmethod(halyard.op("rms_norm"))

    def test_the_five_lines(self):
        x, w = rows(7, 100), rows(100)
        y = self.norm(x, w, eps=1e-6)
        self.assertIs(type(y), np.ndarray)
        np.testing.assert_allclose(y, rms_norm(x, w), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(y, self.norm(weight=w, x=x))
        np.testing.assert_allclose(self.norm(x, w, 0.5), rms_norm(x, w, 0.5), rtol=1e-5, atol=1e-6)

    def test_given_outputs(self):
        x, w = rows(7, 100), rows(100)
        y = np.full_like(x, np.nan)
        self.assertIs(self.norm(x, w, out=y), y)
        np.testing.assert_array_equal(y, self.norm(x, w))
        z = np.full((7, 200), np.nan, np.float32)
        self.norm(x, w, y=z[:, 50:150])
        np.testing.assert_array_equal(z[:, 50:150], y)
        self.assertTrue(np.isnan(z[:, :50]).all() and np.isnan(z[:, 150:]).all())

    def test_views_are_not_copied(self):
        large, w = rows(20, 300), rows(100)
        view = large[::3, 100:200]
        np.testing.assert_allclose(self.norm(view, w), rms_norm(view, w), rtol=1e-5, atol=1e-6)
        backwards = large[::-1, :100]
        np.testing.assert_allclose(self.norm(backwards, w), rms_norm(backwards, w), rtol=1e-5, atol=1e-6)

    def test_strides_that_lead_nowhere(self):
        x, w = rows(1, 100), rows(100)
        for stride in (0, 3, -4, 1 << 40):
            far = np.lib.stride_tricks.as_strided(x, (1, 100), (stride, 4))
            np.testing.assert_array_equal(self.norm(far, w), self.norm(x, w))
            none = np.lib.stride_tricks.as_strided(x, (0, 100), (stride, 4))
            self.assertEqual(self.norm(none, w).shape, (0, 100))

    def test_no_elements(self):
        self.assertEqual(self.norm(rows(0, 100), rows(100)).shape, (0, 100))

    def test_read_only_inputs(self):
        x, w = rows(2, 8), rows(8)
        x.flags.writeable = False
        np.testing.assert_allclose(self.norm(x, w), rms_norm(x, w), rtol=1e-5, atol=1e-6)

    def test_half(self):
        x, w = rows(3, 64).astype(np.float16), rows(64).astype(np.float16)
        y = halyard.op("rms_norm", type="float16")(x, w)
        self.assertEqual(y.dtype, np.float16)
        np.testing.assert_allclose(y.astype("f4"), rms_norm(x.astype("f4"), w.astype("f4")), rtol=2e-3, atol=2e-3)

    @unittest.skipUnless(importlib.util.find_spec("ml_dtypes"), "ml_dtypes is not installed")
    def test_bfloat16(self):
        import ml_dtypes
        x, w = rows(3, 64).astype(ml_dtypes.bfloat16), rows(64).astype(ml_dtypes.bfloat16)
        y = halyard.op("rms_norm", type="bfloat16")(x, w, eps=1e-6)
        self.assertEqual(y.dtype, ml_dtypes.bfloat16)
        np.testing.assert_allclose(y.astype("f4"), rms_norm(x.astype("f4"), w.astype("f4")), rtol=1e-2, atol=1e-2)

    def test_the_buffer_protocol(self):
        x = array.array("f", [1, 2, 3, 4])
        two = memoryview(x).cast("B").cast("f", [2, 2])
        np.testing.assert_allclose(self.norm(two, np.ones(2, np.float32)), rms_norm(np.asarray(two), 1), rtol=1e-5)

    def test_anything_with_dlpack(self):
        class Mine:
            def __init__(self, a):
                self.a = a

            def __dlpack__(self, **options):
                return self.a.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.a.__dlpack_device__()

        x, w = rows(3, 16), rows(16)
        y = self.norm(Mine(x), Mine(w))
        self.assertIsInstance(y, halyard.Buffer)
        np.testing.assert_allclose(np.from_dlpack(y), rms_norm(x, w), rtol=1e-5, atol=1e-6)

    def test_from_several_threads(self):
        x, w = rows(64, 512), rows(512)
        expected, wrong = self.norm(x, w), []

        def work():
            for _ in range(50):
                if not np.array_equal(self.norm(x, w), expected):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertFalse(wrong)


class Ops(unittest.TestCase):
    def test_attention_with_a_scale_of_the_sizes(self):
        q, k, v = rows(2, 4, 9, 16), rows(2, 2, 11, 16), rows(2, 2, 11, 16)
        kk, vv = k.repeat(2, axis=1), v.repeat(2, axis=1)
        scores = q @ kk.transpose(0, 1, 3, 2) / 4
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = weights / weights.sum(-1, keepdims=True) @ vv
        np.testing.assert_allclose(halyard.op("attention")(q, k, v), expected, rtol=1e-4, atol=1e-5)

    def test_a_product(self):
        a, b = rows(5, 32), rows(32, 24)
        np.testing.assert_allclose(halyard.op("gemm", schedule="kn")(a, b), a @ b, rtol=1e-4, atol=1e-4)

    def test_packed_weights(self):
        a, b = rows(5, 32), rows(32, 100)
        for type_, near in (("float32", 1e-4), ("float16", 2e-2)):
            product = halyard.op("gemm", type=type_)
            weights = product.pack("b_packed", b.T)
            y = product(a.astype(type_), weights)
            self.assertEqual(y.shape, (5, 100))
            np.testing.assert_allclose(y.astype("f4"), a @ b, rtol=near, atol=10 * near)
        with self.assertRaisesRegex(TypeError, 'no packed argument "b"; there are b_packed'):
            product.pack("b", b)
        with self.assertRaises(halyard.Error):
            product.pack("b_packed", b[0])

    def test_the_size_of_a_convolution(self):
        conv = halyard.op("depthwise_conv2d", stride=2)
        x, weight = rows(2, 9, 11, 16), rows(3, 3, 16)
        y = conv(x, weight)
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        expected = sum(padded[:, i:i + 9:2, j:j + 11:2] * weight[i, j] for i in range(3) for j in range(3))
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)

    def test_several_results(self):
        norm = halyard.op("rms_norm", add_residual=True)
        x, r, w = rows(4, 32), rows(4, 32), rows(32)
        y, residual = norm(x, r, w)
        np.testing.assert_array_equal(residual, x + r)
        np.testing.assert_allclose(y, rms_norm(x + r, w), rtol=1e-5, atol=1e-5)
        out = (np.empty_like(x), np.empty_like(x))
        self.assertIs(norm(x, r, w, out=out)[1], out[1])

    def test_a_schedule_and_its_numbers(self):
        a, b = halyard.op("rms_norm", set={"rows": 1}), halyard.op("rms_norm", schedule="unfused")
        x, w = rows(5, 48), rows(48)
        self.assertNotEqual(a.path, b.path)
        np.testing.assert_allclose(a(x, w), b(x, w), rtol=1e-5, atol=1e-6)

    def test_what_an_op_says_of_itself(self):
        op = halyard.op("softmax", type="float16")
        self.assertIn("x: float16[rows, cols]", repr(op))
        self.assertEqual(op.params["type"], "float16")
        self.assertIn("rms_norm", halyard.ops())


@unittest.skipUnless(importlib.util.find_spec("jax"), "jax is not installed")
class Jax(unittest.TestCase):
    def test_a_buffer_of_sizes_that_make_it(self):
        """What is asked for an extent may do anything before it answers: the shape and the memory are of one and the same."""
        class Sly:
            def __init__(self, buffer):
                self.buffer = buffer

            def __index__(self):
                self.buffer.__init__((1000, 1000), 256 * 2 + 32)
                return 1

        made = halyard.Buffer.__new__(halyard.Buffer)
        with self.assertRaises(ValueError):
            made.__init__((Sly(made), 4), 256 * 2 + 32)
        self.assertEqual(made.shape, (1000, 1000))
        self.assertEqual(len(made.tobytes()), 4000000)

    def test_jax(self):
        import jax
        x, w = rows(3, 64), rows(64)
        y = halyard.op("rms_norm")(jax.numpy.asarray(x), jax.numpy.asarray(w))
        self.assertIsInstance(y, jax.Array)
        np.testing.assert_allclose(np.asarray(y), rms_norm(x, w), rtol=1e-5, atol=1e-6)
        half = halyard.op("rms_norm", type="bfloat16")(jax.numpy.asarray(x, "bfloat16"), jax.numpy.asarray(w, "bfloat16"))
        self.assertEqual(half.dtype, jax.numpy.bfloat16)


if __name__ == "__main__":
    unittest.main()
