"""What goes wrong in a call or in the making of an op is an exception that says what, and what there is instead."""

import concurrent.futures
import ctypes
import importlib.util
import itertools
import os
import pathlib
import tempfile
import time
import unittest

import numpy as np

import halyard


def floats(*shape):
    return np.ones(shape, np.float32)


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.norm = staticmethod(halyard.op("rms_norm"))

    def refuses(self, kind, pattern, *arguments, **named):
        with self.assertRaisesRegex(kind, pattern):
            self.norm(*arguments, **named)

    def test_shapes(self):
        self.refuses(halyard.Error, "rms_norm: Input buffer weight is accessed at 99, which is beyond the max", floats(2, 100), floats(7))
        self.refuses(ValueError, "rms_norm: x has 1 dimensions, and the op takes 2", floats(100), floats(100))
        self.refuses(ValueError, "x has more dimensions", floats(1, 1, 1, 1, 1, 1, 1, 1, 1), floats(100))
        self.refuses(halyard.Error, "x", floats(2, 100), floats(100), out=floats(3, 100))

    def test_types(self):
        self.refuses(TypeError, "rms_norm: weight is float64, and this op was built for float32", floats(2, 8), np.ones(8))
        self.refuses(TypeError, "rms_norm: x is no array but a <class 'list'>", [1.0], floats(8))
        self.refuses(TypeError, "x has elements of a type that no library takes", np.ones((2, 8), complex), floats(8))
        self.refuses(TypeError, "x has its bytes in the other order", floats(2, 8).astype(">f4"), floats(8))
        if importlib.util.find_spec("ml_dtypes"):
            import ml_dtypes
            swapped = floats(2, 8).astype(ml_dtypes.bfloat16).view(np.dtype(ml_dtypes.bfloat16).newbyteorder())
            self.refuses(TypeError, "x has its bytes in the other order", swapped, swapped[0])
        self.refuses(TypeError, "rms_norm: eps is float32, which cannot be made of 'small'", floats(2, 8), floats(8), eps="small")

    def test_strides(self):
        self.refuses(halyard.Error, "stride.*\n.*contiguous", floats(8, 8).T, floats(8))
        self.refuses(ValueError, "x has a stride that is no multiple", np.ones((4, 8), [("a", "f4"), ("b", "u1")])["a"], floats(8))

    def test_masks_and_structures(self):
        self.refuses(ValueError, "a masked array, whose mask no library reads", np.ma.masked_array(floats(2, 8), mask=True), floats(8))
        self.refuses(TypeError, "x has elements of a type that no library takes", np.zeros((2, 8), [("a", "f4")]), floats(8))
        norm = halyard.op("rms_norm", type="bfloat16")
        with self.assertRaisesRegex(TypeError, "x has elements of a type that no library takes"):
            norm(np.zeros((2, 8), "V2"), np.zeros(8, "V2"))

    def test_no_memory(self):
        """An array of elements without memory would ask the library for the sizes that it wants, and compute nothing."""
        class Nowhere:
            def __init__(self, *shape):
                self.whole = floats(*shape)

            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **named):
                capsule = self.whole.__dlpack__()
                get = ctypes.pythonapi.PyCapsule_GetPointer
                get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
                ctypes.c_void_p.from_address(get(capsule, b"dltensor")).value = None
                return capsule

        self.refuses(ValueError, "x has elements, but no memory", Nowhere(2, 8), floats(8))
        self.refuses(ValueError, "y has elements, but no memory", floats(2, 8), floats(8), out=Nowhere(2, 8))
        self.assertEqual(np.from_dlpack(halyard.op("rms_norm")(Nowhere(0, 8), floats(8))).shape, (0, 8))

    def test_what_lies(self):
        """Of arrays that say what is not so, as much is an error as can be seen."""
        class Given:
            def __init__(self, capsule):
                self.capsule = capsule

            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **named):
                return self.capsule

        class Old:
            def __init__(self, capsule):
                self.__array_struct__ = capsule

        class Tensor(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("count", ctypes.c_int32), ("code", ctypes.c_uint8),
                        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                        ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

        class Struct(ctypes.Structure):
            _fields_ = [("two", ctypes.c_int), ("count", ctypes.c_int), ("kind", ctypes.c_char), ("size", ctypes.c_int), ("flags", ctypes.c_int),
                        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("data", ctypes.c_void_p)]

        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        x = floats(2, 8)
        shape = (ctypes.c_int64 * 2)(2, 8)

        def tensor(**named):
            fields = {"data": x.ctypes.data, "device": (ctypes.c_int32 * 2)(1, 0), "count": 2, "code": 2, "bits": 32, "lanes": 1,
                      "shape": ctypes.addressof(shape), **named}
            return Tensor(**fields)

        def struct(**named):
            fields = {"two": 2, "count": 2, "kind": b"f", "size": 4, "flags": 0x701, "shape": ctypes.addressof(shape), "data": x.ctypes.data,
                      **named}
            return Struct(**fields)

        right, old = tensor(), struct()
        self.assertTrue(np.allclose(np.from_dlpack(self.norm(Given(make(ctypes.addressof(right), b"dltensor", None)), floats(8))), 1))
        self.assertTrue(np.allclose(self.norm(Old(make(ctypes.addressof(old), None, None)), floats(8)), 1))
        for wrong, pattern in ((tensor(shape=None), "x has dimensions, but no shape"), (tensor(count=-1), "x has"), (tensor(count=9), "x has more"),
                               (tensor(code=5, bits=64), "x is complex64"), (tensor(code=10, bits=8), "x is DLPack's 10:8"),
                               (tensor(lanes=0), "x has vectors")):
            self.refuses((TypeError, ValueError), pattern, Given(make(ctypes.addressof(wrong), b"dltensor", None)), floats(8))
        for wrong, pattern in ((struct(shape=None), "x has dimensions, but no shape"), (struct(two=3), "x has an __array_struct__ that is none"),
                               (struct(size=0), "x has an __array_struct__ that is none"), (struct(size=-4), "that is none")):
            self.refuses((TypeError, ValueError), pattern, Old(make(ctypes.addressof(wrong), None, None)), floats(8))
        for nothing in (None, 5, "x", x):
            self.refuses(TypeError, "x gives a .* where a capsule of its array is wanted", Given(nothing), floats(8))
            self.refuses(TypeError, "x gives a .* where a capsule of its array is wanted", Old(nothing), floats(8))

    def test_outputs_over_inputs(self):
        """Rows would be computed of what other rows have stored."""
        both = floats(6, 8)
        for y in (both[:4], both[1:5], both[2:], both[3::-1]):
            self.refuses(halyard.Error, "rms_norm: the output y shares memory with x", both[:4], floats(8), out=y)
        self.refuses(halyard.Error, "the output y shares memory with weight", floats(4, 8), both[1], out=both[:4])
        wide = np.ones((4, 20), np.float32)
        self.norm(wide[:, :8], floats(8), out=wide[:, 8:16])
        self.assertTrue(np.allclose(wide, 1))
        self.norm(both[::2], floats(8), out=both[1::2])

    def test_packed_columns(self):
        """Panels of packed weights are whole: only the package knows how many columns there are."""
        gemm = halyard.op("gemm")
        packed = gemm.pack("b_packed", floats(20, 8))
        with self.assertRaisesRegex(ValueError, "gemm: dimension 1 of y has 25 elements, and the arguments make 20"):
            gemm(floats(2, 8), packed, out=floats(2, 25))
        self.assertTrue((gemm(floats(2, 8), packed, out=floats(2, 20)) == 8).all())
        with self.assertRaises(MemoryError):
            gemm.pack("b_packed", np.broadcast_to(np.float32(1), (2**20, 2**22)))

    def test_first_calls_of_several_threads(self):
        """Each makes an adapter for the type of its array, and goes on with its own."""
        class Slow:
            def __init__(self, whole, wait):
                self.whole, self.wait = whole, wait

            def __getattr__(self, name):
                if name == "__dlpack__":
                    time.sleep(self.wait())
                    return self.whole.__dlpack__
                if name == "__dlpack_device__":
                    return self.whole.__dlpack_device__
                raise AttributeError(name)

        waits = itertools.count(1)
        x = Slow(floats(3, 64), lambda: 0.03 * next(waits))
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for y in pool.map(lambda _: self.norm(x, floats(64)), range(6)):
                self.assertTrue(np.allclose(np.from_dlpack(y), 1))

    def test_read_only(self):
        y = floats(2, 8)
        y.flags.writeable = False
        self.refuses(ValueError, "rms_norm: y is read-only", floats(2, 8), floats(8), out=y)

        class Mine:
            def __init__(self, whole):
                self.whole = whole

            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **named):
                return self.whole.__dlpack__(**named)

        class Older(Mine):
            def __dlpack__(self, stream=None):
                return self.whole.__dlpack__(stream=stream)

        self.refuses(ValueError, "rms_norm: y is read-only", floats(2, 8), floats(8), out=Mine(y))
        self.assertTrue((y == 1).all())
        for kind in (Mine, Older):
            x = floats(2, 8)
            self.norm(kind(x), floats(8), out=kind(x2 := 3 * floats(2, 8)))
            self.assertTrue(np.allclose(x2, 1))

    def test_names(self):
        self.refuses(TypeError, 'there is no argument "weigth"; there are x, weight, eps, y, out; did you mean "weight"', floats(2, 8), weigth=floats(8))
        self.refuses(TypeError, "rms_norm: weight is missing", floats(2, 8))
        self.refuses(TypeError, "takes 3 inputs .x, weight, eps., and 4 are given", floats(2, 8), floats(8), 1e-6, 1)
        self.refuses(TypeError, "x is given by position and by name", floats(2, 8), floats(8), x=floats(2, 8))
        self.refuses(TypeError, "out= takes 1 arrays", floats(2, 8), floats(8), out=(floats(2, 8), floats(2, 8)))

    def test_a_call_after_an_error_is_right(self):
        self.refuses(halyard.Error, "weight", floats(2, 8), floats(7))
        self.assertTrue(np.allclose(self.norm(floats(2, 8), floats(8)), 1))

    def test_results_of_unknown_size(self):
        packed = halyard.op("gemm")
        with self.assertRaisesRegex(TypeError, "do not say how large the result is .n is in none of them.; give y, or out="):
            packed(floats(4, 8), np.ones((1, 8, int(packed.params["panel"]), 1), np.float32))

    def test_numbers_that_do_not_fit(self):
        loss = halyard.op("cross_entropy")
        with self.assertRaisesRegex(OverflowError, "ignore_index = 4294967296 does not fit in int32"):
            loss(floats(2, 8), np.zeros(2, np.int32), ignore_index=1 << 32)

    def test_a_form_that_takes_no_negative_scale(self):
        text = """return schedule "decode_attention" { target = "cpu", generator = { softmax = "open", split_keys = -1, padded = false },
            params = { rescaled = 1, rows = 4, blocks = 4, split = 0 }, apply = function() end }"""
        rescaled, q, k = halyard.op("decode_attention", schedule=halyard.schedule(text)), floats(1, 2, 1, 8), floats(1, 2, 5, 8)
        self.assertTrue(np.allclose(rescaled(q, k, k, scale=0.5), 1))
        for scale in (0, -0.5):
            with self.assertRaisesRegex(halyard.Error, "decode_attention: scale is .* must be above 0 in the rescaled form"):
                rescaled(q, k, k, scale=scale)


class Building(unittest.TestCase):
    def refuses(self, pattern, *arguments, **named):
        with self.assertRaisesRegex(halyard.Error, pattern):
            halyard.op(*arguments, **named)

    def test_names(self):
        self.refuses('there is no op "rms_nrom".*\n.*did you mean "rms_norm"', "rms_nrom")
        self.refuses('rms_norm has no such parameter.*\n.*did you mean "type"', "rms_norm", typ="float16")
        self.refuses('does not take this value.*\n.*did you mean "float16"', "rms_norm", type="float17")
        self.refuses('there is no device "gpu"', "rms_norm", device="gpu")
        self.refuses("devices= is for CUDA", "rms_norm", device="cpu", devices="sm_90a")
        self.refuses('has no schedule "unfusd".*\n.*did you mean "unfused"', "rms_norm", schedule="unfusd")
        self.refuses("no architecture", "rms_norm", devices="sm90")
        self.refuses("row", "rms_norm", set={"rwos": 4})

    def test_a_schedule_that_is_wrong(self):
        text = pathlib.Path(halyard.op("rms_norm").script).read_text().replace("k.inv_rms", "k.inv_rns")
        with self.assertRaisesRegex(halyard.Error, 'lua:\\d+: error: there is no Func "inv_rns".*\n.*did you mean "inv_rms"'):
            halyard.schedule(text)

    def test_an_option_is_no_command(self):
        self.refuses("'--help' is not the name of an op", "--help")
        self.refuses("has no schedule \"--help\"", "rms_norm", schedule="--help")

    @unittest.skipIf(os.getuid() == 0, "root may write everywhere")
    def test_a_cache_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o500)
            before = os.environ["HALYARD_CACHE"]
            os.environ["HALYARD_CACHE"] = folder + "/cache"
            try:
                self.refuses("no directory can be made", "rms_norm")
            finally:
                os.environ["HALYARD_CACHE"] = before


if __name__ == "__main__":
    unittest.main()
