#include "explore/workers/facts.h"

#include "explore/store/entry.h"
#include "kernel/confine.h"
#include "kernel/cpu.h"
#include "kernel/gpu.h"

namespace halyard::explore {

std::string Facts::kind(bool cuda) const {
    return cuda ? device : machine + ", " + (level.empty() ? "below sse41" : level);
}

Facts facts_here() {
    Facts f;
    f.machine = this_machine();
    f.level = cpu().level;
    f.processors = cpu().processors;
    f.device = machine_for("cuda");
    f.architecture = gpu() ? gpu()->architecture() : "";
    f.confined = confines();
    return f;
}

nlohmann::json to_json(const Facts &f) {
    return {{"machine", f.machine},           {"level", f.level},      {"processors", f.processors}, {"device", f.device},
            {"architecture", f.architecture}, {"confined", f.confined}};
}

Facts facts_from_json(const nlohmann::json &j) {
    Facts f;
    j.at("machine").get_to(f.machine);
    j.at("level").get_to(f.level);
    j.at("processors").get_to(f.processors);
    j.at("device").get_to(f.device);
    j.at("architecture").get_to(f.architecture);
    j.at("confined").get_to(f.confined);
    return f;
}

}  // namespace halyard::explore
