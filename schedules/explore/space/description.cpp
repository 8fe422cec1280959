#include "explore/space/description.h"

#include <algorithm>

#include "kernel/failure.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

using nlohmann::json;

Index read_index(const json &j) {
    Index i;
    i.loops = j.at("loops").get<std::map<std::string, int64_t>>();
    i.offset = j.contains("offset") ? std::optional<int64_t>(j.at("offset").get<int64_t>()) : std::nullopt;
    i.exact = j.at("exact");
    i.within = j.value("within", int64_t(0));
    i.vague = j.value("vague", std::set<std::string>());
    i.clamped = j.at("clamped");
    i.div = j.at("div");
    i.mod = j.at("mod");
    return i;
}

Stage read_stage(const json &j) {
    Stage s;
    for (const auto &l : j.at("loops")) {
        s.loops.push_back({l.at("name"), l.at("rvar"), l.at("extent")});
    }
    for (const auto &r : j.at("reads")) {
        Read read{r.at("func"), {}};
        for (const auto &i : r.at("index")) {
            read.index.push_back(read_index(i));
        }
        s.reads.push_back(std::move(read));
    }
    for (const auto &i : j.value("stored", json::array())) {
        s.stored.push_back(read_index(i));
    }
    s.associative = j.value("associative", false);
    s.factors = j.value("factors", std::vector<std::vector<size_t>>());
    s.plain = j.value("plain", false);
    s.elements = j.at("elements");
    s.instructions = j.at("instructions");
    s.flops = j.at("flops");
    return s;
}

FixedStage read_fixed_stage(const json &j) {
    FixedStage stage;
    for (const auto &s : j.at("splits")) {
        const std::string kind = s.at("kind");
        stage.splits.push_back({kind == "split"  ? FixedStage::Split::kSplit
                                : kind == "fuse" ? FixedStage::Split::kFuse
                                                 : FixedStage::Split::kRename,
                                s.at("old"), s.at("outer"), s.at("inner"), s.at("factor")});
    }
    for (const auto &l : j.at("loops")) {
        stage.loops.push_back({l.at("name"), l.at("kind")});
    }
    return stage;
}

// A definition that says nothing, as that of a scan which begins with its first line, has no loops: the extents of the Func are then
// those that its updates store to.
void extend_by_updates(Func &f) {
    for (size_t d = 0; f.reduction() && f.stages[0].elements == 0 && d < f.dims.size(); d++) {
        double low = 0, high = 0;
        bool known = false;
        for (size_t s = 1; s < f.stages.size(); s++) {
            const Index &i = f.stages[s].stored.at(d);
            if (!i.exact || !i.offset || i.div != 0 || i.mod != 0) {
                continue;
            }
            double least = double(*i.offset), most = least;
            for (const auto &[loop, factor] : i.loops) {
                const Loop *l = f.stages[s].loop(loop);
                (factor > 0 ? most : least) += double(factor) * (l ? l->extent - 1 : 0);
            }
            low = known ? std::min(low, least) : least;
            high = known ? std::max(high, most) : most;
            known = true;
        }
        for (Loop &l : f.stages[0].loops) {
            l.extent = l.name == f.dims[d] ? std::max(l.extent, high - low + 1) : l.extent;
        }
    }
}

// A copy that a script makes of a Func, or of an input, for one reader or all: "".
void add_wrapper(Description &d, const json &j) {
    const std::string name = j.at("name"), of = j.at("of"), reader = j.at("reader");
    if (!d.funcs.count(name)) {
        Func copy;
        const Func *f = d.func(of);
        const auto buffer = d.buffers.find(of);
        copy.name = name;
        copy.dims = j.at("dims").get<std::vector<std::string>>();
        copy.bytes = f ? f->bytes : buffer == d.buffers.end() ? 4 : buffer->second.bytes;
        Stage s;
        Read read{of, {}};
        s.elements = 1;
        for (size_t i = 0; i < copy.dims.size(); i++) {
            const bool known = !f && buffer != d.buffers.end() && i < buffer->second.extents.size();
            s.loops.push_back({copy.dims[i], false, f ? f->extent(f->dims[i]) : known ? double(buffer->second.extents[i]) : 1});
            s.elements *= s.loops.back().extent;
            Index index;
            index.loops[copy.dims[i]] = 1;
            read.index.push_back(index);
        }
        s.reads = {read};
        copy.stages = {s};
        d.funcs[name] = copy;
    }
    for (auto &[user, other] : d.funcs) {
        for (Stage &stage : other.stages) {
            for (Read &r : stage.reads) {
                const bool meant = r.func == of && user != name && user != of && (reader.empty() || user == reader);
                r.func = meant ? name : r.func;
            }
        }
    }
}

void read_script(Description &d, const json &j) {
    for (const auto &w : j.at("wrappers")) {
        add_wrapper(d, w);
    }
    for (const auto &[name, f] : j.at("funcs").items()) {
        if (!d.funcs.count(name)) {
            continue;  // what rfactor leaves is a part of what it was said of
        }
        Fixed fixed{f.at("place"), f.value("in", ""), f.value("loop", ""), {}};
        for (const auto &s : f.at("stages")) {
            fixed.stages.push_back(read_fixed_stage(s));
        }
        d.funcs.at(name).fixed = std::move(fixed);
    }
    if (!j.at("open").is_null()) {
        d.open = OpenPlace{j.at("open").at("line"), j.at("open").at("target")};
    }
}

}  // namespace

bool Index::is(const std::string &loop) const {
    return loops.size() == 1 && uses(loop) && loops.at(loop) == 1 && exact && div == 0 && mod == 0;
}

bool Read::uses(const std::string &loop) const {
    return std::any_of(index.begin(), index.end(), [&](const Index &i) { return i.uses(loop); });
}

const Loop *Stage::loop(const std::string &name) const {
    const auto it = std::find_if(loops.begin(), loops.end(), [&](const Loop &l) { return l.name == name; });
    return it == loops.end() ? nullptr : &*it;
}

bool Stage::reduces() const {
    return std::any_of(loops.begin(), loops.end(), [](const Loop &l) { return l.rvar; });
}

bool Func::recurrence() const {
    return std::any_of(stages.begin() + 1, stages.end(), [](const Stage &s) { return s.reduces() && !s.associative; });
}

bool Func::free(size_t dim) const {
    return std::all_of(stages.begin() + 1, stages.end(),
                       [&](const Stage &s) { return dim < s.stored.size() && s.stored[dim].is(dims[dim]); });
}

double Func::extent(const std::string &dim) const {
    const Loop *l = pure().loop(dim);
    return l ? l->extent : 1;
}

double Func::size() const {
    double n = bytes;
    for (const auto &d : dims) {
        n *= extent(d);
    }
    return n;
}

const Func *Description::func(const std::string &name) const {
    const auto it = funcs.find(name);
    return it == funcs.end() ? nullptr : &it->second;
}

Description read_description(const json &j) {
    Description d;
    try {
        for (const auto &f : j.at("funcs")) {
            Func func;
            func.name = f.at("name");
            func.output = f.at("output");
            func.bytes = f.at("bytes");
            func.types = f.at("types").get<std::vector<std::string>>();
            func.dims = f.at("dims").get<std::vector<std::string>>();
            for (const auto &s : f.at("stages")) {
                func.stages.push_back(read_stage(s));
            }
            extend_by_updates(func);
            d.funcs[func.name] = std::move(func);
        }
        for (const auto &b : j.at("buffers")) {
            d.buffers[b.at("name")] = {b.at("name"), b.at("type"), b.at("bytes"), b.at("extents").get<std::vector<int64_t>>()};
        }
        d.sizes = j.at("sizes").get<std::map<std::string, std::vector<int64_t>>>();
        d.vector_bytes = j.at("vector_bytes");
        d.vector_registers = j.at("vector_registers");
        d.target = j.at("target");
        d.algorithm = Hash().add(j.at("algorithm").get<std::string>()).hex();
        if (j.contains("script")) {
            read_script(d, j.at("script"));
        }
    } catch (const json::exception &e) {
        throw Failure(std::string("the plugin's description of the pipeline cannot be read: ") + e.what());
    }
    return d;
}

}  // namespace halyard::explore
