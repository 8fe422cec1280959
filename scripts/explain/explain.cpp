#include "explain/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/text.h"

namespace halyard {

namespace {

using nlohmann::json;

Bytes bytes_of(const json &j) {
    return {j.at("read"), j.at("written")};
}

std::string source_of(const std::string &file, int line) {
    const std::string text = read_file(file);
    size_t begin = 0;
    for (int i = 1; i < line && begin != std::string::npos; i++) {
        begin = text.find('\n', begin);
        begin += begin != std::string::npos;
    }
    return begin == std::string::npos ? "" : trim(text.substr(begin, text.find('\n', begin) - begin));
}

// A line that is written was read first, which the bandwidth of writes has in it already.
double seconds_of(const Bytes &b, const MemoryLevel &level) {
    return std::max(0.0, b.read - b.written) / level.read + b.written / level.written;
}

// What takes longest hides the rest: prefetchers and out-of-order execution overlap them.
void finish(Cost &c, double core_seconds) {
    c.predicted = core_seconds;
    c.limit = kInstructions;
    for (int l = 0; l < kLevels; l++) {
        if (c.seconds[size_t(l)] > c.predicted) {
            c.predicted = c.seconds[size_t(l)];
            c.limit = l;
        }
    }
}

// Operations a second of a product in tiles; what plain loops have where this processor has none.
double tile_rate(const ExplainedStage &s, const Machine &machine) {
    const double rate = s.operand_bytes == 1   ? machine.bytes.tiles
                        : s.operand_bytes == 4 ? machine.bf16.tiles / kProductsOfF32
                                               : machine.bf16.tiles;
    return rate > 0 ? rate : machine.flops;
}

// The most operations a second that this machine has for the operands of a stage, in lanes: short types have more.
double lane_rate(const Explained &e, const ExplainedStage &s, const Machine &machine) {
    return s.operand_bytes == 1                       ? std::max(machine.flops, machine.bytes.dots)
           : s.operand_bytes == 2 && e.type == "bf16" ? std::max(machine.flops, machine.bf16.dots)
                                                      : machine.flops;
}

// The loops of a product count an element at a time, where a tile's rows or columns are loaded once for 32 of the others.
void multiply_in_tiles(ExplainedStage &s) {
    constexpr double kTimes = 32;
    for (Bytes *b : {&s.registers, &s.warm.bytes[0], &s.cold.bytes[0]}) {
        b->read /= kTimes;
        b->written /= kTimes;
    }
}

}  // namespace

const char *const kLevelNames[kLevels] = {"L1", "L2", "L3", "DRAM"};

std::string limit_name(int limit) {
    return limit == kPages ? "page faults" : limit == kInstructions ? "instructions" : kLevelNames[limit];
}

void read_report(Explained &e, const json &report) {
    const json &t = report.at("traffic");
    for (const auto &s : t.at("stages")) {
        ExplainedStage x;
        x.func = s.at("func");
        const int update = s.at("update");
        x.name = update == 0 ? x.func : fmt::format("{}.update({})", x.func, update - 1);
        x.place = s.at("around").empty() ? "" : s.at("around").back().get<std::string>();
        for (const auto &p : t.value("products", json::array())) {
            x.product = x.product || (p.at("func") == x.func && p.at("update") == update);
        }
        x.operand_bytes = s.value("operand_bytes", 0);
        x.flops = s.at("flops");
        x.scalar_flops = s.at("scalar_flops");
        x.elements = s.at("elements");
        x.masked = s.value("masked", 0.0);
        x.footprint = s.at("footprint");
        x.streamed = s.at("streamed");
        x.allocated = s.at("allocated");
        x.core_seconds = s.at("instructions");  // until predict() knows the clock
        x.registers = bytes_of(s.at("registers"));
        for (Cost *c : {&x.warm, &x.cold}) {
            const json &from = s.at(c == &x.warm ? "warm" : "cold");
            c->bytes = {bytes_of(s.at("l1")), bytes_of(from.at("l2")), bytes_of(from.at("l3")), bytes_of(from.at("memory"))};
        }
        if (s.contains("recomputed")) {
            x.recomputed = s.at("recomputed").get<double>();
        }
        if (s.contains("line") && s.at("line") > 0) {
            x.file = s.at("file");
            x.line = s.at("line");
            x.source = source_of(x.file, x.line);
        }
        e.stages.push_back(std::move(x));
    }
    for (const auto &l : t.at("loops")) {
        ExplainedLoop x;
        x.name = l.at("name");
        x.halide = l.at("halide");
        x.occurrence = l.at("occurrence");
        x.stage = l.at("stage");
        x.entries = l.at("entries");
        x.iterations = l.at("iterations");
        x.footprint = l.at("footprint");
        x.parallel = l.at("parallel");
        x.innermost = l.at("innermost");
        e.loops.push_back(std::move(x));
    }
    for (const auto &i : t.at("inlined")) {
        e.inlined.push_back({i.at("func"), i.at("recomputed"), i.at("instructions") == 0});
    }
    for (const auto &group : t.value("side_by_side", json::array())) {
        e.side_by_side.push_back(group);
    }
    for (const auto &n : t.at("notes")) {
        e.notes.push_back(n);
    }
    e.footprint = t.at("footprint");
    e.nest = report.value("nest", json::array());
}

double product_rate(const Explained &e, const Machine &machine) {
    const auto most = std::max_element(e.stages.begin(), e.stages.end(),
                                       [](const ExplainedStage &a, const ExplainedStage &b) { return a.flops < b.flops; });
    return most == e.stages.end() ? machine.flops : std::max(lane_rate(e, *most, machine), tile_rate(*most, machine));
}

void predict(Explained &e, const Machine &machine) {
    e.warm.bytes = e.cold.bytes = {};
    e.warm.predicted = e.cold.predicted = 0;
    double warm_limits[kLevels + 1] = {}, cold_limits[kLevels + 1] = {};
    // A stage that stores to an array first gets its pages; malloc maps large ones anew in every call.
    constexpr double kMapped = 128 << 10;
    double mapped = 0;
    for (const auto &s : e.stages) {
        mapped += s.allocated >= kMapped ? s.allocated : 0;
    }
    e.page_seconds = e.counters.page_faults * machine.page_seconds;
    for (size_t i = 0; i < e.stages.size(); i++) {
        ExplainedStage &s = e.stages[i];
        double cycles = 0, hottest = 0;
        bool has_loop = false, parallel = false;
        for (const auto &l : e.loops) {
            if (l.stage != int(i)) {
                continue;
            }
            parallel = parallel || l.parallel;
            const double here = l.iterations * l.mca.cycles;
            cycles += here;
            has_loop = has_loop || (l.innermost && l.mca.cycles > 0);
            if (l.mca.cycles > 0 && here >= hottest && !s.product) {
                hottest = here;
                s.cycles = l.mca.cycles;
                s.limit_text = l.mca.limit;
                s.loop = l.name;
            }
        }
        s.core_from_mca = has_loop;
        if (!has_loop) {
            cycles += s.core_seconds / 2;  // two vector instructions a cycle
        }
        if (s.product) {
            multiply_in_tiles(s);
        }
        const bool split = parallel || !s.place.empty();
        const int threads = split ? machine.threads : 1;
        const double rate = s.product ? tile_rate(s, machine) : lane_rate(e, s, machine);
        s.core_seconds = s.product ? s.flops / rate : cycles / machine.hertz / threads;
        s.flops_seconds = s.flops / rate;
        if (!has_loop) {
            s.core_seconds = std::max(s.core_seconds, s.flops_seconds);
        }
        s.page_seconds = mapped > 0 && s.allocated >= kMapped ? e.page_seconds * s.allocated / mapped : 0;
        for (Cost *c : {&s.warm, &s.cold}) {
            Cost &whole = c == &s.warm ? e.warm : e.cold;
            for (int l = 0; l < kLevels; l++) {
                const size_t k = size_t(l);
                c->seconds[k] = seconds_of(c->bytes[k], machine.level(kLevelNames[l]));
                if (l == kDram) {
                    c->seconds[k] += s.streamed / machine.streamed;
                    c->bytes[k].written += s.streamed;
                }
                whole.bytes[k].read += c->bytes[k].read;
                whole.bytes[k].written += c->bytes[k].written;
                whole.seconds[k] += c->seconds[k];
            }
            finish(*c, s.core_seconds);
            if (s.page_seconds > c->predicted) {
                c->limit = kPages;
            }
            c->predicted += s.page_seconds;
            whole.predicted += c->predicted;
            if (c->limit != kPages) {
                (c == &s.warm ? warm_limits : cold_limits)[c->limit + 1] += c->predicted - s.page_seconds;
            }
        }
        e.flops += s.flops;
    }
    // The op is limited by what limits most of its time.
    if (mapped == 0) {
        e.warm.predicted += e.page_seconds;
        e.cold.predicted += e.page_seconds;
    }
    e.warm.limit = int(std::max_element(warm_limits, warm_limits + kLevels + 1) - warm_limits) - 1;
    e.cold.limit = int(std::max_element(cold_limits, cold_limits + kLevels + 1) - cold_limits) - 1;
    for (Cost *c : {&e.warm, &e.cold}) {
        c->limit = e.page_seconds > c->predicted / 2 ? kPages : c->limit;
    }
}

}  // namespace halyard
