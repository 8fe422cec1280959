"""Which kernels a case of a sweep runs, ours and the best peer's, and how long each takes: where a slow case spends its time.

    python3 -m peers.gpu.sweep_kernels [--peers] INDEX ...        in the folder of the pack, with the indices that gpu.sweep prints
"""

import argparse
import collections
import os
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile

from .library import Library
from .sweep import FOLDER, chosen
from .sweep_compile import setup
from .sweep_inputs import given, inputs, meaning, outputs
from .sweep_time import first_line, peers_of, unpacked

CALLS = 20


def kernels_of(run):
    """name -> (times that a call runs it, microseconds of one); the first calls are left out."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as of:
        for _ in range(CALLS):
            run()
        torch.cuda.synchronize()
    took = collections.defaultdict(list)
    for event in of.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            took[event.name].append(event.device_time)
    return {n: (len(t) / CALLS, sum(t) / len(t)) for n, t in took.items()}


def main():
    p = argparse.ArgumentParser(prog="python3 -m peers.gpu.sweep_kernels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("index", type=int, nargs="+")
    p.add_argument("--peers", action="store_true", help="and those of every peer")
    o = p.parse_args()
    setup()
    everything = argparse.Namespace(first=0, count=1 << 30, ops=[])
    with tempfile.TemporaryDirectory() as folder:
        for case, name in chosen(everything)[1]:
            if case.index not in o.index:
                continue
            path = os.path.join(FOLDER, "libraries", name + ".so")
            if not os.path.exists(path + ".xz"):
                continue
            library, of = Library(unpacked(path, folder), name), meaning(case)
            values = inputs(case, of, 1)
            contestants = {"halyard": library.call({**given(values, of), **outputs(case, of, library)})}
            if o.peers:
                contestants.update({n: calls[0] for n, calls in peers_of(of, [values], True).items()})
            print(f"[{case.index}] {case.key}")
            for contestant, run in contestants.items():
                try:
                    kernels = kernels_of(run)
                except Exception as failure:  # a peer that cannot do this case counts for nothing
                    if contestant == "halyard":
                        raise
                    print(f"    {contestant:16} {first_line(failure)}")
                    continue
                for kernel, (times, us) in kernels.items():
                    print(f"    {contestant:16} {times:5.1f} x {us:8.1f} us  {kernel[:110]}")


if __name__ == "__main__":
    main()
