"""wgmma reads rows out of registers until it has been waited for, which compilers have got wrong: they gave the registers of rows to what
was computed meanwhile, and results were wrong on a device where that was quick. Machine code of kernels that multiply such rows is
looked through for an instruction that writes a register between an HGMMA that reads it and the wait."""

import os
import re
import struct
import subprocess
import sysconfig
import tempfile
import unittest

BUILD = os.environ["HALYARD_BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))
NVDISASM = os.path.join(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin", "nvdisasm")
CUDA_OF_ELF = 190

PIPELINES = ["--generator", f"{BUILD}/tests/tiles/tile_pipelines.generator", "--schedule"]
KERNELS = {
    "attention": ["attention"],
    "attention, causal, heads of 64 that take turns": ["attention", "--param", "causal=true", "--set", "head_dim=64", "--set", "ping_pong=true",
                                                       "--param", "query_block=192"],
    "8 bits, rows in turn": ["weights_8", *PIPELINES, f"{HERE}/weights_8.lua", "--set", "rows=256", "--set", "stages=4"],
    "8 bits, few rows": ["weights_8", *PIPELINES, f"{HERE}/weights_8.lua", "--set", "rows=16", "--set", "stages=6", "--set", "warps=3"],
    "4 bits": ["weights_4", *PIPELINES, f"{HERE}/weights_4.lua", "--set", "rows=256", "--set", "stages=4"],
    "scaled rows": ["scaled_rows", *PIPELINES, f"{HERE}/scaled_rows.registers.lua", "--set", "columns=256"],
}


def machine_codes(data):
    """The ELF files for a device in a library."""
    at = data.find(b"\x7fELF", 1)
    while at >= 0:
        if at + 64 <= len(data) and struct.unpack_from("<H", data, at + 18)[0] == CUDA_OF_ELF:
            segments, sections = struct.unpack_from("<QQ", data, at + 32)
            segment_size, segment_count, section_size, section_count = struct.unpack_from("<HHHH", data, at + 54)
            yield data[at:at + max(segments + segment_size * segment_count, sections + section_size * section_count)]
        at = data.find(b"\x7fELF", at + 4)


def instructions(code):
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code)
        file.flush()
        text = subprocess.run([NVDISASM, "-c", file.name], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [line.split("*/", 1)[-1].strip() for line in text.splitlines()]


def written(line):
    """The registers that an instruction writes."""
    match = re.match(r"(?:@!?U?P[T\d]+ )?([A-Z0-9_.]+) R(\d+)(\.64)?,", line)
    if not match or match[1].startswith(("ST", "HGMMA", "RED", "SYNCS", "ATOM")):
        return range(0)
    wide = 4 if ".128" in match[1] else 2 if ".64" in match[1] or ".WIDE" in match[1] or match[3] else 1
    return range(int(match[2]), int(match[2]) + wide)


def after(lines, labels, start):
    """The instructions that may follow one, up to a wait for products."""
    todo, seen = [start + 1], set()
    while todo:
        at = todo.pop()
        while at < len(lines) and at not in seen:
            seen.add(at)
            line = lines[at]
            if "WARPGROUP.DEPBAR" in line or "EXIT" in line:
                break
            yield line
            branch = re.search(r"BRA (?:\S+, )?`\((\.L_x_\d+)\)", line)
            if branch:
                todo.append(labels[branch[1]])
                if not line.startswith("@"):
                    break
            at += 1


def products_with_registers(lines):
    """Of each: its place, and the registers of its rows."""
    for at, line in enumerate(lines):
        match = re.search(r"HGMMA\.\S+ R\d+, R(\d+), gdesc", line)
        if match:
            yield at, range(int(match[1]), int(match[1]) + 4)


class Registers(unittest.TestCase):
    def test_rows_stay_until_products_have_read_them(self):
        for name, words in KERNELS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                subprocess.run([f"{BUILD}/bin/halyard", "build", *words, "--target", "cuda", "--devices", "sm_90a", "--name", "kernel",
                                "--no-db", "--no-lint", "--quiet", "-o", folder], check=True)
                with open(os.path.join(folder, "kernel.a"), "rb") as file:
                    codes = list(machine_codes(file.read()))
                products, wrong = 0, []
                for lines in map(instructions, codes):
                    labels = {m[1]: at for at, line in enumerate(lines) if (m := re.match(r"(\.L_x_\d+):", line))}
                    for at, rows in products_with_registers(lines):
                        products += 1
                        wrong += [f"{line}  while  {lines[at]}" for line in after(lines, labels, at) if set(written(line)) & set(rows)]
                self.assertGreater(products, 0, "no product reads rows out of registers: the test looks at nothing")
                self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
