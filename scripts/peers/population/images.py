"""Cases of the ops on images: convolutions, and norms over pixels."""

from .architectures import CONVOLUTIONAL
from .numbers import log_spread, rounded
from .products import TYPES, result_type
from .rows import ROW_TYPES


def layer(n, fits):
    model, one = n.pick([(model, one) for model in CONVOLUTIONAL for one in model.layers if fits(one)])
    return model, one


def batch(n, u, target):
    return rounded(n, log_spread(u, 1, 256 if target == "cuda" else 32))


def window_params(kernel, stride):
    patches = stride == kernel
    return {"kernel": str(kernel), "stride": str(stride), "padding": "0" if patches else str(kernel // 2)}


def convolution(op, n, u, target, params, **more):
    model, (c, o, kernel, stride, size, groups) = layer(n, lambda one: one[0] > 1 and (target == "host" or one[5] == 1))
    return dict(dict(op=op, dims=dict(c=c, o=o, w=size, h=size, groups=groups, n=batch(n, u, target)), type=n.pick(TYPES[target]),
                     params={**window_params(kernel, stride), **params}, model=model.name, use="layer", shrinks=("n",)), **more)


def epilogue(n):
    return {"add_bias": "true", "activation": n.pick({"relu": 0.5, "silu": 0.25, "none": 0.25})}


def conv2d(n, u, target):
    return convolution("conv2d", n, u, target, epilogue(n))


def conv2d_int8(n, u, target):
    return convolution("conv2d_int8", n, u, target, {}, type=result_type(target))


def depthwise(op, n, u, target, params, **more):
    model, (_, _, kernel, stride, size, groups) = layer(n, lambda one: one[0] == 1)
    return dict(dict(op=op, dims=dict(c=groups, w=size, h=size, n=batch(n, u, target)), type=n.pick(ROW_TYPES[target]),
                     params={**window_params(kernel, stride), **params}, model=model.name, use="layer", shrinks=("n",)), **more)


def depthwise_conv2d(n, u, target):
    return depthwise("depthwise_conv2d", n, u, target, {"add_bias": "true", "activation": "relu"})


def depthwise_conv2d_int8(n, u, target):
    return depthwise("depthwise_conv2d_int8", n, u, target, {}, type=result_type(target))


def normed(n, grouped):
    model = n.pick([m for m in CONVOLUTIONAL if m.normed and bool(m.groups) == grouped])
    return model, n.pick(model.normed)


def batch_norm(n, u, target):
    model, (c, size) = normed(n, False)
    params = {"layout": n.pick(["nchw", "nhwc"]), "activation": n.pick(["relu", "none"])}
    return dict(op="batch_norm", dims=dict(w=size, h=size, c=c, n=batch(n, u, target)), type=n.pick(ROW_TYPES[target]), params=params,
                model=model.name, use="layer", shrinks=("n",))


def group_norm(n, u, target):
    model, (c, size) = normed(n, True)
    return dict(op="group_norm", dims=dict(w=size, h=size, c=c, g=model.groups, n=rounded(n, log_spread(u, 1, 32))), type=n.pick(ROW_TYPES[target]),
                params={"activation": n.pick(["silu", "none"])}, model=model.name, use="layer", shrinks=("n",))


OPS = {f.__name__: f for f in (conv2d, conv2d_int8, depthwise_conv2d, depthwise_conv2d_int8, batch_norm, group_norm)}
