"""What a model is compiled for."""


class Target:
    """Of Halide's target strings, one for each kind of processor that the library serves (kernel/targets.h)."""

    def __init__(self, strings):
        features = [set(s.split("-")) for s in strings]
        self.on_gpu = any("cuda" in f for f in features)
        # One of them is enough: weights lie once, for all.
        self.has_tiles = not self.on_gpu and any("avx512_sapphirerapids" in f for f in features)  # AMX


HOST = Target(["x86-64-linux"])
