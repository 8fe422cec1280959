"""A convolution of an image of 8 bits with constant weights and its epilogue is a conv2d_int8, or a depthwise_conv2d_int8 (integers.py makes
such convolutions, with channels innermost)."""

import gemm
import gemm_int8
import numpy as np
from calls import Call, Scalar
from graph import Value
from groups import Group
from views import View

PANEL = 32  # output channels that lie together, as the schedule has them
GROUP = 4   # input channels that do


class Window(gemm.Product):
    """`weights` are [kernel, kernel, in, out], of one channel in where the convolution is depthwise."""

    def __init__(self, conv, scales, bias, *epilogue):
        super().__init__(conv.inputs[0], conv.inputs[1], *epilogue)
        self.conv, self.scales, self.whole_bias = conv, scales, bias

    def call(self, result, packed, told):
        a, w = self.conv.attributes, self.weights.constant
        channels, depthwise = w.shape[3], a["groups"] > 1
        x, y = self.a.shape, result.shape
        zero = a["outside"]
        params = {"x_type": self.a.type, "kernel": str(a["kernel"][0]), "stride": str(a["strides"][0]), "dilation": str(a["dilations"][0]),
                  "padding": a["before"][0]}
        own, ones = [1] if not depthwise else [], (1,) if not depthwise else ()
        panel = gemm.told_panel(told) or PANEL
        if (self.weights, panel) not in packed:
            packed[self.weights, panel] = of_channels(self.weights) if depthwise else pack(self.weights, panel)
        scales = np.broadcast_to(self.scales, channels).astype(np.float32)

        def beside(what, array):
            return View.of(gemm_int8.constant(self.weights, what, array), (*ones, channels))
        arguments = [View.of(self.a, (*x[:3], *own, x[3])), View.of(packed[self.weights, panel]), beside("scale", scales), Scalar(1.0)]
        if zero != 0:
            params["zero_point"] = "true"
            arguments.append(Scalar(zero, "int32"))
        if not depthwise and (zero != 0 or self.a.type == "int8"):
            arguments.append(beside("sum", w.reshape(-1, channels).sum(0, dtype=np.int32)))
        bias = self.bias.constant.flatten() if self.bias is not None else 0
        if self.whole_bias is not None:
            bias = bias + self.whole_bias.astype(np.float32) * scales
        if self.bias is not None or self.whole_bias is not None:
            params["add_bias"] = "true"
            arguments.append(beside("bias", bias.astype(np.float32)))
        if self.activation:
            params["activation"] = self.activation
        if self.residual is not None:
            params["add_residual"] = "after_activation"
            arguments.append(View.of(self.residual, (*y[:3], *own, y[3])))
        if self.quantized is not None:
            params["output"], scale, to = self.quantized
            arguments += [Scalar(scale), Scalar(to, "int32")]
        op, settings = ("depthwise_conv2d_int8", {}) if depthwise else ("conv2d_int8", {"panel": str(panel)})
        return Call(op, params, settings, arguments, View.of(result, (*y[:3], *own, y[3])))


def of_group(group):
    """The Window that a group is, or None."""
    convs = [n for n in group.nodes if n.reduces]
    if len(convs) != 1 or convs[0].op != "conv" or "outside" not in convs[0].attributes or convs[0].inputs[0].node in group.nodes:
        return None
    conv = convs[0]
    channels = conv.inputs[1].constant.shape[3]
    chain = gemm.Chain(group, conv.output)
    if conv.attributes["outside"] != 0:
        less = chain.only(chain.value, "sub")
        if less is None:
            return None
        chain.took(less)
    bias = whole_bias(chain, channels)
    cast = chain.only(chain.value, "cast")
    if cast is None or cast.output.type != "float32":
        return None
    chain.took(cast)
    scaled = chain.only(chain.value, "mul")
    scales = scaled.inputs[1].constant if scaled is not None and scaled.inputs[0] is chain.value else None
    if scales is None or scales.dtype != np.float32 or scales.size not in (1, channels):
        return None
    chain.took(scaled)
    return gemm.of_chain(group, chain, channels, lambda *parts: Window(conv, scales.flatten(), bias, *parts))


def whole_bias(chain, channels):
    """The whole numbers that QLinearConv adds to the sums, or None."""
    node = chain.only(chain.value, "add")
    other = node.inputs[1].constant if node is not None and node.inputs[0] is chain.value else None
    if other is None or other.dtype != np.int32 or other.size != channels:
        return None
    chain.took(node)
    return other.flatten()


def prefix_of(group):
    """Two groups of one whose first nodes alone are a Window, as many as can be, or None: what follows is no epilogue that the op has."""
    for count in range(len(group.nodes) - 1, 0, -1):
        first = Group(group.nodes[:count])
        made = {n.output for n in first.nodes}
        used = {v for n in group.nodes[count:] for v in n.inputs if v in made}
        if used == {first.output} and of_group(first) is not None:
            return first, Group(group.nodes[count:], group.name)
    return None


def pack(w, panel):
    """[kernel, kernel, in, out] as panels of output channels, of groups of neighbouring input channels (generators/math/convolution.h)."""
    rows, columns, depth, channels = w.constant.shape
    panels, groups = (channels + panel - 1) // panel, (depth + GROUP - 1) // GROUP
    whole = np.zeros([rows, columns, groups * GROUP, panels * panel], np.int8)
    whole[:, :, :depth, :channels] = w.constant
    made = whole.reshape(rows, columns, groups, GROUP, panels, panel).transpose(4, 0, 1, 2, 5, 3)[None]
    made = np.ascontiguousarray(made)
    return Value(w.name + "_packed", "int8", made.shape, constant=made)


def of_channels(w):
    made = np.ascontiguousarray(w.constant[:, :, 0])
    return Value(w.name + "_packed", "int8", made.shape, constant=made)
