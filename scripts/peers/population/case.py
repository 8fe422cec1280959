"""One case of the population."""

import dataclasses

SHORT = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


@dataclasses.dataclass
class Case:
    op: str
    dims: dict          # by the registry's names
    type: str           # float32, float16 or bfloat16; of the results where operands have 8 bits
    params: dict        # of the generator, apart from the type
    model: str          # whose sizes these are
    use: str            # what the model does there
    gap: int = 0        # elements between the rows of the first input: part of a wider tensor
    layout: str = ""    # of attention's tensors: "heads first" (dense), "tokens first", "fused" (q, k and v of one tensor)
    index: int = -1

    @property
    def shape(self):
        return ",".join(f"{k}={v}" for k, v in self.dims.items())

    @property
    def label(self):
        """Its parameters, as a table has them."""
        words = [n.removeprefix("add_").replace("_", " ") if v == "true" else v if n in ("activation", "reduction") else f"{n}={v}"
                 for n, v in self.params.items() if v != "false"]
        return ", ".join([*words, *([f"rows {self.gap} apart"] if self.gap else []), *([self.layout] if self.layout not in ("", "heads first") else [])])

    @property
    def key(self):
        return " ".join(t for t in (self.op, f"[{self.label}]" if self.label else "", self.shape, SHORT[self.type]) if t)

    def record(self):
        return dataclasses.asdict(self)


def read(record):
    return Case(**record)
