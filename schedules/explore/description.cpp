#include "description.h"

#include <algorithm>

#include "failure.h"

namespace halyard::explore {

namespace {

using nlohmann::json;

Index read_index(const json &j) {
    Index i;
    i.loops = j.at("loops").get<std::map<std::string, int64_t>>();
    i.offset = j.contains("offset") ? std::optional<int64_t>(j.at("offset").get<int64_t>()) : std::nullopt;
    i.exact = j.at("exact");
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
    s.elements = j.at("elements");
    s.instructions = j.at("instructions");
    s.flops = j.at("flops");
    return s;
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
            d.funcs[func.name] = std::move(func);
        }
        for (const auto &b : j.at("buffers")) {
            d.buffers[b.at("name")] = {b.at("name"), b.at("bytes"), b.at("extents").get<std::vector<int64_t>>()};
        }
        d.sizes = j.at("sizes").get<std::map<std::string, std::vector<int64_t>>>();
        d.vector_bytes = j.at("vector_bytes");
        d.vector_registers = j.at("vector_registers");
        d.target = j.at("target");
    } catch (const json::exception &e) {
        throw Failure(std::string("the plugin's description of the pipeline cannot be read: ") + e.what());
    }
    return d;
}

}  // namespace halyard::explore
