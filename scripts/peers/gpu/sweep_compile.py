"""torch.compile for the cases of a sweep: what it computes of them, and its kernels made ahead by several processes.

Its cache is a folder that all processes share, so that the one that times finds there what the others compiled.
"""

import os
import subprocess
import sys
import time

import torch

MOST_BYTES_AHEAD = 1 << 30  # of one case, since a dozen processes share the GPU


def setup():
    from torch._dynamo import config as dynamo
    from torch._inductor import config as inductor
    torch.set_grad_enabled(False)
    inductor.autotune_local_cache = False  # what a busy GPU preferred is no help
    dynamo.recompile_limit = 64
    torch.backends.cudnn.benchmark = True  # the best of its kernels, not the first that fits
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def functions(of):
    """What torch.compile is given: name -> function. A name that begins with it is for it alone."""
    chosen = {"torch.compile": of.function} if of.compiled and of.function else {}
    return {**chosen, **{n: f for n, f in of.more.items() if n.startswith("torch.compile")}}


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, dynamic=False)


def environment(folder, package):
    return dict(os.environ, PYTHONPATH=package, TORCHINDUCTOR_CACHE_DIR=folder, TRITON_CACHE_DIR=os.path.join(folder, "triton"), TORCHINDUCTOR_COMPILE_THREADS="1",
                TORCHINDUCTOR_FX_GRAPH_CACHE="1")


def ahead(cases, until, part, parts):
    """One process's share, as a process of its own: `python3 -m peers.gpu.sweep --compile-part`."""
    from ..population.cost import bytes_, working_bytes
    from .sweep_inputs import inputs, meaning
    setup()
    for i, case in enumerate(cases):
        of = meaning(case)
        if i % parts != part or not functions(of) or bytes_(case) + working_bytes(case) > MOST_BYTES_AHEAD:
            continue
        if time.time() > until:
            break
        try:
            v = inputs(case, of, 1)
            for function in functions(of).values():
                compiled(function)(v)
            torch.cuda.synchronize()
        except Exception as failure:  # the process that times it says what is wrong
            print(f"ahead: {case.key}: {str(failure).splitlines()[:1]}", file=sys.stderr)
        torch.cuda.empty_cache()


def in_processes(arguments, seconds, env, parts):
    """Runs `ahead` in so many processes, for so many seconds at most."""
    until = time.time() + seconds
    running = [subprocess.Popen([sys.executable, "-m", "peers.gpu.sweep", *arguments, "--compile-part", f"{i}/{parts}", "--until", str(until)], env=env,
                                stderr=subprocess.DEVNULL) for i in range(parts)]
    for process in running:
        try:
            process.wait(max(1, until + 5 - time.time()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
