"""halyard.op: an op as a function of arrays."""

import difflib
import os

from . import _native
from ._command import Error, options
from ._library import architecture, find_library
from ._shapes import Signature

_DEVICES = {1: "cpu", 2: "cuda"}


def _nearest(name, names):
    near = difflib.get_close_matches(str(name), names, 1)
    return f'; did you mean "{near[0]}"?' if near else ""


class Op(_native.Function):
    """An op, built for the processor or for CUDA. A call takes its inputs by position or by name, and returns new arrays of the kind
    of the first one, or writes to those given as out= or by the names of the outputs.

    `arguments` says what they are, `params` the values of all parameters of the generator, `script` the schedule, `path` the library.
    """

    def __init__(self, name, record, request):
        super().__init__(record["path"], record["function"])
        self.name, self._request, self._other = name, request, None
        self.params, self.script, self.path, self.targets = record["params"], record["script"], record["path"], record["targets"]
        self.signature = record.get("arguments")
        self._signature = Signature(self.signature, self.arguments, self.params)
        for i, (argument, kind, *_) in enumerate(self.arguments):
            if kind == "scalar":
                self._set_value(i, self._signature.default(argument))
        self._set_order([i for i, _ in self.positions()])
        plain = self._signature.plain_extents()
        if plain is not None:
            self._set_extents(plain)
        self._known_shapes = {}

    def pack(self, name, weights):
        """The weights for an argument such as b_packed, as this op reads them: a Buffer, for any number of calls of this op.

        `weights` have the shape of the argument in its plain layout: of a product (n, k), as torch.nn.Linear has them, and .T of (k, n);
        of a convolution (groups, output channels, y, x, channels).
        """
        packed = [a[0] for a in self.arguments if a[0].endswith("_packed")]
        if name not in packed:
            there_are = f"there are {', '.join(packed)}" if packed else "this op takes its weights as they are"
            raise TypeError(f'{self.name}: there is no packed argument "{name}"; {there_are}{_nearest(name, packed)}')
        return self._pack(name, weights)

    def positions(self):
        """The arguments with their numbers, in the order in which they may be given by position: the registry's."""
        registry = list(self._signature.by_name)
        return sorted(enumerate(self.arguments), key=lambda a: registry.index(a[1][0]) if a[1][0] in registry else a[0])

    def __repr__(self):
        def text(argument):
            name, kind, type_, dimensions, _ = argument
            extents = self._signature._extents(name)
            dims = f"[{', '.join(reversed(extents))}]" if extents else f"[{dimensions} dimensions]" if kind != "scalar" else ""
            return f"{name}: {type_}{dims}"

        inputs = ", ".join(text(a) for _, a in self.positions() if a[1] != "output")
        outputs = ", ".join(text(a) for a in self.arguments if a[1] == "output")
        return f"<halyard op {self.name}({inputs}) -> {outputs} on {self.device}>"

    # What the extension asks for.

    def _shapes(self, shapes):
        if shapes not in self._known_shapes:
            if len(self._known_shapes) >= 1024:
                self._known_shapes.clear()
            self._known_shapes[shapes] = self.output_shapes(shapes)
        return self._known_shapes[shapes]

    def output_shapes(self, shapes):
        """Of every output, for the shapes of all arguments (None for those that are no input arrays)."""
        try:
            return self._signature.shapes(shapes)
        except KeyError as e:
            outputs = [a[0] for a in self.arguments if a[1] == "output"]
            raise TypeError(f"{self.name}: the inputs do not say how large the result is ({e.args[0]} is in none of them); "
                            f"give {' and '.join(outputs)}, or out=") from None

    def _default(self, name, shapes):
        return self._signature.computed_default(name, shapes)

    def _wrong_arguments(self, count, named):
        inputs = [a[0] for _, a in self.positions() if a[1] != "output"]
        names = [*inputs, *(a[0] for a in self.arguments if a[1] == "output"), "out"]
        for name in named or {}:
            if name not in names:
                raise TypeError(f'{self.name}: there is no argument "{name}"; there are {", ".join(names)}{_nearest(name, names)}')
        raise TypeError(f"{self.name}: takes {len(inputs)} inputs ({', '.join(inputs)}), and {count} are given by position")

    def _for_device(self, number):
        device = _DEVICES.get(number)
        if device is None:
            raise ValueError(f"{self.name}: the arrays are on a device of a kind that no library is for (number {number} of DLPack)")
        if not self._request.any_device or device == self.device:
            raise ValueError(f'{self.name}: the arrays are on {device}, and the op was built for {self.device}; '
                             f'halyard.op("{self.name}", device="{device}", ...) builds it for there')
        if self._other is None:
            self._other = self._request.build(device)
        return self._other


class Request:
    """What an op is built by, for one device or another."""

    def __init__(self, name, device, target, devices, words):
        self.name, self.target, self.devices, self.words = name, target, devices, words
        self.any_device = device is None and target is None and devices is None

    def build(self, device):
        words = list(self.words)
        target, devices = self.target, self.devices
        if device == "cuda":
            devices = devices or (architecture() if target is None else None)
            target = target or "cuda"
        return Op(self.name, find_library(self.name, options(target=target, devices=devices) + words), self)


def op(name, *, schedule=None, device=None, devices=None, target=None, set=None, shape=None, facts=None, generator=None, **params):
    """The op of this name as a function of arrays; `halyard.ops()` has the names.

    It is built within seconds, once: later calls, of other processes too, find it in the cache.

    schedule   a Lua file, halyard.schedule(...), or the name of one that ships; None takes the usual one
    device     "cpu" or "cuda". None: for the processor now, and for CUDA when the first arrays come that are there
    devices    with "cuda": architectures, as "sm_90a"; None takes those of this machine's GPU, or the usual ones
    target     the instruction set, as "avx2"; None takes this processor's
    set        values for the tune{} parameters of the schedule
    shape      with schedule="best": the size for which the database is asked, as {"rows": 64, "cols": 4096}
    facts      facts about the target, as {"l2": "2M"}
    generator  a Halide generator executable of your own, of which `name` is a generator
    params     parameters of the generator, as type="bfloat16"

    Raises halyard.Error with the text of what is wrong.
    """
    if device not in (None, "cpu", "cuda"):
        raise Error(f'there is no device "{device}"; there are "cpu" and "cuda"{_nearest(device, ["cpu", "cuda"])}')
    cuda_target = target is not None and str(target).startswith("cuda")
    if device is None and (devices is not None or cuda_target):
        device = "cuda"
    elif device == "cpu" and devices is not None:
        raise Error('devices= is for CUDA: leave it out, or say device="cuda"')
    words = options(schedule=schedule and os.fspath(schedule), shape=shape, set=set, facts=facts, generator=generator, params=params)
    return Request(name, device, target, devices, words).build(device or "cpu")
