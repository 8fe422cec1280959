"""What a model is compiled for."""

# Instructions that Halide's runtime tells of a processor. Those of AMX, avx512_sapphirerapids, are not among them: plain loops stand in for them.
INSTRUCTIONS = ("sse41", "avx", "f16c", "fma", "avx2", "avx512", "avx512_skylake", "avx512_cannonlake", "avx512_zen4", "avxvnni", "avx512_zen5")


class Target:
    """Of Halide's target strings, one for each kind of processor that the library serves (kernel/targets.h)."""

    def __init__(self, strings):
        features = [set(s.split("-")) for s in strings]
        self.on_gpu = any("cuda" in f for f in features)
        # One of them is enough: weights lie once, for all.
        self.has_tiles = not self.on_gpu and any("avx512_sapphirerapids" in f for f in features)  # AMX
        # Of the last one, whose code is called where no other's is, whatever the processor has.
        self.needed = [i for i in INSTRUCTIONS if i in features[-1]]


HOST = Target(["x86-64-linux"])
