"""Calls of our ops: what a group becomes where one of them computes it."""

class Scalar:
    """A number of f32 or int32 among the arguments of a call."""

    def __init__(self, number, type_="float32"):
        self.number, self.type = number, type_


class Call:
    """An op with its generator parameters and what its schedule is told, its arguments in order, Views of what it reads and Scalars, and
    the View that it writes."""

    def __init__(self, op, params, settings, arguments, result, variant="", scratch=()):
        self.variant = variant  # of the op's schedule
        self.tuned = {}         # what that one is told of its tasks, in place of params
        self.scratch = scratch  # bytes of each array that it stores for itself on a device
        self.op, self.params, self.settings, self.arguments, self.result = op, params, settings, arguments, result

    def tell(self, variant, settings):
        """What a group of a file says of its schedule: numbers without a variant are for the op's main one."""
        if self.tuned and (variant not in ("", self.variant) or not variant and set(settings) - {"panel"}):
            self.variant, self.tuned = "", {}
        self.variant = "" if variant == self.op else variant or self.variant
        self.settings = {**self.tuned, **self.settings, **settings}
        self.params = {k: v for k, v in self.params.items() if k not in settings and k not in self.tuned}


def number_of(value):
    """Of a constant of one element."""
    return float(value.constant.flatten()[0]) if value.constant is not None and value.constant.size == 1 else None


def other_of(node, value):
    """The operand of a map of two that is not `value`."""
    if len(node.inputs) != 2 or value not in node.inputs:
        return None
    return node.inputs[1] if node.inputs[0] is value else node.inputs[0]
