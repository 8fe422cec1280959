"""What keeps a device's memory busy beside the kernels that are looked at: threads, each with a stream, that copy large buffers."""

import threading

import torch

AHEAD = 4  # copies that a stream has under way


class Traffic:
    """While it is entered, `streams` threads copy `size` bytes of the device's memory to and fro, without a pause."""

    def __init__(self, streams, size):
        self.buffers = [[torch.zeros(size, dtype=torch.uint8, device="cuda") for _ in range(2)] for _ in range(streams)]
        self.copies, self.failure = 0, None

    def __enter__(self):
        self.ended, self.threads = threading.Event(), []
        begun = [threading.Event() for _ in self.buffers]
        for pair, first in zip(self.buffers, begun):
            self.threads.append(threading.Thread(target=self._copy, args=(pair, first), daemon=True))
            self.threads[-1].start()
        for first in begun:
            first.wait()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for t in self.threads:
            t.join()
        if self.failure:
            raise self.failure

    def _copy(self, pair, begun):
        try:
            stream, events = torch.cuda.Stream(), []
            with torch.cuda.stream(stream):
                while not self.ended.is_set():
                    pair[1].copy_(pair[0])
                    pair[0].copy_(pair[1])
                    self.copies += 2
                    events.append(torch.cuda.Event())
                    events[-1].record()
                    begun.set()
                    if len(events) >= AHEAD // 2:
                        events.pop(0).synchronize()
            stream.synchronize()
        except Exception as failure:
            self.failure = failure
        finally:
            begun.set()
