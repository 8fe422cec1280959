"""Scales and shifts of channels behind a convolution go into its weights: a BatchNorm costs nothing then."""

import numpy as np
from graph import Value


def per_channel(value, rank, channels):
    """The numbers of a constant with one for each channel of an image, or None."""
    if value.constant is None or value.type not in ("float32", "float64"):
        return None
    shape = [1] * (rank - value.rank) + list(value.constant.shape)
    if value.constant.size == 1:
        return np.full(channels, value.constant.flatten()[0], np.float64)
    if value.rank > rank or shape[1] != channels or value.constant.size != channels:
        return None
    return value.constant.astype(np.float64).flatten()


def fold_channels(graph):
    """conv * a + b, for constants a and b of channels, becomes a convolution with other weights."""
    consumers = graph.consumers()
    gone = set()
    for node in list(graph.nodes):
        if node.op != "conv" or any(v.constant is None for v in node.inputs[1:]) or node.output.type not in ("float32", "float64"):
            continue
        weights, channels, rank = node.inputs[1].constant.astype(np.float64), node.inputs[1].constant.shape[0], node.output.rank
        bias = node.inputs[2].constant.astype(np.float64) if len(node.inputs) > 2 else np.zeros(channels)
        changed = False
        while node.output not in graph.outputs and len(consumers.get(node.output, [])) == 1:
            after = consumers[node.output][0]
            if not after.is_map or after.attributes["fn"] not in ("mul", "add") or len(after.inputs) != 2 or after.output.shape != node.output.shape:
                break
            other = after.inputs[1] if after.inputs[0] is node.output else after.inputs[0]
            numbers = per_channel(other, rank, channels) if other is not node.output else None
            if numbers is None:
                break
            if after.attributes["fn"] == "mul":
                weights = weights * numbers.reshape([-1] + [1] * (weights.ndim - 1))
                bias = bias * numbers
            else:
                bias = bias + numbers
            node.output, changed = after.output, True
            node.output.node = node
            gone.add(after)
        if changed:
            type_ = node.output.type
            w, b = node.inputs[1], weights.astype(type_)
            node.inputs = [node.inputs[0], Value(w.name + "_folded", type_, w.shape, constant=b),
                           Value(w.name + "_bias", type_, [channels], constant=bias.astype(type_))]
    graph.nodes = [n for n in graph.nodes if n not in gone]
