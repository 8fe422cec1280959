"""What `halyard explore --workers` starts: it joins a Ray cluster, and does on its machines what it is told.

One JSON object a line. It is told first {address, cuda, program, settings}, and then what to do: {job, slot, request, files,
seconds}, or {use: [slots]}, which lets the others go. It says of each slot {slot, name, facts} or {slot, name, refused}, then
{ready}; for each job {slot, job, answer}, or {slot, job, lost, again} where its machine or the program there died, and then, where
that is started again, its facts once more. {error} is the last word. At the end of its input it ends all that it has started.
"""

import json
import os
import queue
import socket
import sys
import threading
import time

JOIN_SECONDS = 60
START_SECONDS = 60  # for a machine to be free and to start what measures

# Libraries may write to standard output: from here on that is standard error.
CHANNEL = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def say(**what):
    CHANNEL.write(json.dumps(what) + "\n")
    CHANNEL.flush()


def give_up(text):
    say(error=text)
    sys.exit(1)


def too_long(address):
    say(error=f"the Ray cluster \"{address}\" was not joined within {JOIN_SECONDS} s\n"
              "  name it as `ray start --head` did: its machines know each other by no other address")
    os._exit(1)  # Ray waits in its own code


def read_file(path):
    with open(path, "rb") as f:
        return f.read()


def read_folder(folder):
    paths = [os.path.join(above, name) for above, _, names in os.walk(folder) for name in names]
    return {os.path.relpath(path, folder): read_file(path) for path in sorted(paths)}


def reason(error):
    """The last line that says something: Ray puts traces and advice around it."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, RuntimeError):
        return str(cause)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("RuntimeError: ")]
    return told[-1].removeprefix("RuntimeError: ") if told else (lines[0] if lines else type(error).__name__)


def join(address):
    try:
        import ray
    except ImportError as error:
        give_up(f"{sys.executable} has no Ray: {error}\n"
                "  scripts/setup --workers installs it for a source tree, pip install \"halyard[workers]\" beside the package; "
                "HALYARD_WORKERS_PYTHON names a Python that has it")
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "://" not in address:  # Ray itself tries for a minute, and then aborts
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except OSError as error:
            give_up(f"no Ray cluster answers at {address}: {error.strerror or error}\n"
                    f"  start one: `ray start --head --port={port}` there, `ray start --address={address}` on the others")
    watch = threading.Timer(JOIN_SECONDS, too_long, [address])
    watch.daemon = True
    watch.start()
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # of a dozen kinds: other versions, no node here, no cluster
        advice = "`ray start --head` on one machine, `ray start --address=HOST:PORT` on the others"
        give_up(f"the Ray cluster \"{address}\" cannot be joined: {reason(error)}\n"
                f"  start one: {advice}; this machine is one of its nodes, with --num-cpus=0 where nothing is to be measured on it")
    watch.cancel()
    return ray


class Work:
    def __init__(self, order):
        import cluster
        self.cluster = cluster
        self.events = queue.Queue()
        self.program = cluster.ray.put(read_folder(order["program"]))
        self.settings = order["settings"]
        self.places = cluster.places(order["cuda"])
        self.starting, self.jobs, self.ready = {}, {}, False  # slots, and jobs by slot, with when they are given up
        for place in self.places:
            self.start(place)

    def start(self, place):
        self.starting[place.number] = time.monotonic() + START_SECONDS
        self.await_(place.start(self.program, self.settings), "started", place, place.starts)

    def await_(self, future, what, place, key):
        future.add_done_callback(lambda f: self.events.put((what, place, key, f)))

    def refuse(self, place, why):
        del self.starting[place.number]
        place.stop()
        say(slot=place.number, name=place.name, refused=why)

    def started(self, place, starts, future):
        if place.number not in self.starting or starts != place.starts:
            return  # given up meanwhile
        try:
            facts = future.result()
        except Exception as error:
            self.refuse(place, reason(error))
            return
        del self.starting[place.number]
        say(slot=place.number, name=f"{facts['host']}, {place.name}", facts=facts)

    def done(self, place, job, future):
        if self.jobs.get(place.number, (None,))[0] != job:
            return
        del self.jobs[place.number]
        try:
            say(slot=place.number, job=job, answer=json.loads(future.result()))
        except Exception as error:
            self.lose(place, job, reason(error))

    def lose(self, place, job, why):
        place.stop()
        again = place.may_start()
        say(slot=place.number, job=job, lost=why, again=again)
        if again:
            self.start(place)

    def told(self, line):
        order = json.loads(line)
        if "use" in order:
            for place in self.places:
                if place.number not in order["use"]:
                    place.stop()
            return
        place, job = self.places[order["slot"]], order["job"]
        self.jobs[place.number] = (job, time.monotonic() + order["seconds"], order["seconds"])
        files = {name: read_file(path) for name, path in order["files"].items()}
        self.await_(place.actor.do.remote(json.dumps(order["request"]), files).future(), "done", place, job)

    def look_at_the_clock(self):
        now = time.monotonic()
        for place in self.places:
            if self.starting.get(place.number, now) < now:
                self.refuse(place, f"it was not free, or started nothing, within {START_SECONDS} s")
            job, end, seconds = self.jobs.get(place.number, (None, now, 0))
            if end < now:
                del self.jobs[place.number]
                self.lose(place, job, f"it did not answer within {seconds:.0f} s")
        if not self.starting and not self.ready:
            self.ready = True
            say(ready=True)

    def run(self):
        threading.Thread(target=self.listen, daemon=True).start()
        while True:
            self.look_at_the_clock()
            try:
                event = self.events.get(timeout=1 if self.ready else 0.05)
            except queue.Empty:
                continue
            if event is None:
                return
            {"told": self.told, "started": self.started, "done": self.done}[event[0]](*event[1:])

    def listen(self):
        for line in sys.stdin:
            self.events.put(("told", line))
        self.events.put(None)

    def end(self):
        for place in self.places:
            place.stop()


def main():
    order = json.loads(sys.stdin.readline())
    ray = join(order["address"])
    work = Work(order)
    try:
        work.run()
    finally:
        work.end()
        ray.shutdown()


if __name__ == "__main__":
    main()
