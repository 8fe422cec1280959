"""The machines of a Ray cluster: one slot for each that has processors, or for each CUDA device."""

import ray
import slot
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

MOST_STARTS = 3  # of one slot: a machine on which it keeps dying is left alone

# The class travels by value: the machines have no such module.
ray.cloudpickle.register_pickle_by_value(slot)


class Place:
    """Where a slot is: a machine, and what of it nobody else uses meanwhile."""

    def __init__(self, number, node, name, resources):
        self.number, self.node, self.name, self.resources = number, node, name, resources
        self.actor, self.starts = None, 0

    def start(self, program, settings):
        """A future of what the machine says of itself."""
        self.starts += 1
        here = NodeAffinitySchedulingStrategy(node_id=self.node, soft=False)
        # What does not start is an error and not started elsewhere: it would be another machine.
        actor = ray.remote(slot.Slot).options(scheduling_strategy=here, max_restarts=0, **self.resources)
        self.actor = actor.remote(program, settings)
        return self.actor.about.remote().future()

    def stop(self):
        if self.actor is not None:
            ray.kill(self.actor)
            self.actor = None

    def may_start(self):
        return self.starts < MOST_STARTS and any(n["NodeID"] == self.node and n["Alive"] for n in ray.nodes())


def places(cuda):
    """For the host a slot takes all processors of its machine, so that nothing else of Ray's runs beside what is timed."""
    found = []
    for node in ray.nodes():
        has = node["Resources"]
        if not node["Alive"] or has.get("CPU", 0) < 1:
            continue  # as a machine from which people only start what others do
        name = f"{node['NodeManagerAddress']} ({node['NodeID'][:6]})"
        if not cuda:
            found.append(Place(len(found), node["NodeID"], name, {"num_cpus": has["CPU"]}))
            continue
        for _ in range(int(has.get("GPU", 0))):
            found.append(Place(len(found), node["NodeID"], name, {"num_cpus": 1, "num_gpus": 1}))
    return found
