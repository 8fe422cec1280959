#include "language/word.h"

#include <map>
#include <set>
#include <sstream>

namespace halyard {

using namespace Halide;

const std::vector<Word> &words() {
    static const std::vector<Word> all = [] {
        std::vector<Word> w;
        for (const auto *part : {&kLoopWords, &kOrderWords, &kPlaceWords, &kStorageWords, &kLoweringWords, &kBoundsWords, &kGpuWords,
                                 &kTraceWords, &kBufferWords, &kExprWords}) {
            w.insert(w.end(), part->begin(), part->end());
        }
        return w;
    }();
    return all;
}

bool Word::needs_place() const {
    static const std::set<std::string> kOfTheAlgorithm = {"has_condition", "rfactor", "unscheduled", "type", "dim"};
    return (on == Handle::kStage && kOfTheAlgorithm.count(name) == 0) || effect == Effect::kPlaced || effect == Effect::kMemory;
}

const std::vector<NamedValue> &named_values(const std::string &kind) {
    static const std::map<std::string, std::vector<NamedValue>> kValues = {
        {"tail",
         {{"auto", int(TailStrategy::Auto)},
          {"guard", int(TailStrategy::GuardWithIf)},
          {"guard_with_if", int(TailStrategy::GuardWithIf)},
          {"predicate", int(TailStrategy::Predicate)},
          {"predicate_loads", int(TailStrategy::PredicateLoads)},
          {"predicate_stores", int(TailStrategy::PredicateStores)},
          {"round_up", int(TailStrategy::RoundUp)},
          {"round_up_and_blend", int(TailStrategy::RoundUpAndBlend)},
          {"shift_inwards", int(TailStrategy::ShiftInwards)},
          {"shift_inwards_and_blend", int(TailStrategy::ShiftInwardsAndBlend)}}},
        {"memory",
         {{"auto", int(MemoryType::Auto)},
          {"heap", int(MemoryType::Heap)},
          {"stack", int(MemoryType::Stack)},
          {"register", int(MemoryType::Register)},
          {"gpu_shared", int(MemoryType::GPUShared)},
          {"gpu_texture", int(MemoryType::GPUTexture)},
          {"locked_cache", int(MemoryType::LockedCache)},
          {"vtcm", int(MemoryType::VTCM)},
          {"amx_tile", int(MemoryType::AMXTile)}}},
        {"align",
         {{"auto", int(LoopAlignStrategy::Auto)},
          {"start", int(LoopAlignStrategy::AlignStart)},
          {"end", int(LoopAlignStrategy::AlignEnd)},
          {"none", int(LoopAlignStrategy::NoAlign)}}},
        {"partition", {{"auto", int(Partition::Auto)}, {"never", int(Partition::Never)}, {"always", int(Partition::Always)}}},
        {"prefetch",
         {{"clamp", int(PrefetchBoundStrategy::Clamp)},
          {"guard_with_if", int(PrefetchBoundStrategy::GuardWithIf)},
          {"non_faulting", int(PrefetchBoundStrategy::NonFaulting)}}},
        {"device",
         {{"default_gpu", int(DeviceAPI::Default_GPU)},
          {"host", int(DeviceAPI::Host)},
          {"cuda", int(DeviceAPI::CUDA)},
          {"opencl", int(DeviceAPI::OpenCL)},
          {"metal", int(DeviceAPI::Metal)},
          {"hexagon", int(DeviceAPI::Hexagon)},
          {"hexagon_dma", int(DeviceAPI::HexagonDma)},
          {"d3d12compute", int(DeviceAPI::D3D12Compute)},
          {"vulkan", int(DeviceAPI::Vulkan)},
          {"webgpu", int(DeviceAPI::WebGPU)}}},
    };
    static const std::vector<NamedValue> kNone;
    const auto it = kValues.find(kind);
    return it == kValues.end() ? kNone : it->second;
}

std::vector<ArgSpec> parse_arg_specs(const char *specs) {
    std::vector<ArgSpec> result;
    std::istringstream in(specs);
    for (std::string item; in >> item;) {
        ArgSpec a;
        const size_t colon = item.find(':');
        a.name = item.substr(0, colon);
        a.kind = item.substr(colon + 1);
        if (const size_t open = a.kind.find('['); open != std::string::npos) {
            const size_t close = a.kind.find(']');
            a.domain = Domain::parse(a.kind.substr(open + 1, close - open - 1));
            a.kind.erase(open, close - open + 1);
        }
        if (a.kind.back() == '?') {
            a.optional = true;
            a.kind.pop_back();
        }
        if (a.kind.size() > 3 && a.kind.compare(a.kind.size() - 3, 3, "...") == 0) {
            a.repeated = true;
            a.kind.resize(a.kind.size() - 3);
        }
        result.push_back(a);
    }
    return result;
}

std::string describe_kind(const std::string &kind) {
    if (!named_values(kind).empty()) {
        std::vector<std::string> names;
        for (const auto &v : named_values(kind)) {
            names.emplace_back(v.name);
        }
        return "one of " + quoted_list(names);
    }
    static const std::map<std::string, std::string> kText = {
        {"loop", "a loop of the stage, by name or as split returns it"},
        {"loop_or_loops", "a loop or a list of loops"},
        {"loops", "a list of loops"},
        {"dim", "the name of a dimension of the Func"},
        {"level", "a loop of a consumer: as split returns it, or its Func and its name, where "
                  "\"outermost\" is around all of them"},
        {"size", "an integer or an expression"},
        {"sizes", "a list of integers or expressions"},
        {"expr", "an integer or an expression"},
        {"int", "an integer"},
        {"bool", "true or false"},
        {"string", "a string"},
        {"condition", "a condition"},
        {"func", "a Func, as in k.y"},
        {"name", "a new name"},
        {"names", "a list of new names"},
    };
    return kText.at(kind);
}

std::string describe(const ArgSpec &arg) {
    const std::string range = arg.domain ? arg.domain->text() : "";
    return describe_kind(arg.kind) + (range.empty() ? "" : ", " + range);
}

namespace {

std::string form(const Word &word, bool on_loop, const std::string &level) {
    std::string args;
    bool first = true;
    for (const auto &a : parse_arg_specs(word.args)) {
        const bool implied = first && on_loop && !a.repeated;
        first = false;
        if (!implied) {
            args += (args.empty() ? "" : ", ") + (a.kind == "level" ? level : a.name) + (a.repeated ? "..." : "") + (a.optional ? "?" : "");
        }
    }
    return std::string(word.name) + "(" + args + ")";
}

}  // namespace

std::string usage(const Word &word, bool on_loop) {
    const std::string by_handle = form(word, on_loop, "loop"), by_name = form(word, on_loop, "func, \"loop\"");
    return by_handle == by_name ? by_handle : by_handle + " or " + by_name;
}

bool word_applies(const Word &word, Handle::Kind kind) {
    if (word.on == kind) {
        return true;
    }
    if (word.on != Handle::kStage) {
        return false;
    }
    const auto specs = parse_arg_specs(word.args);
    const std::string first = specs.empty() ? "" : specs[0].kind;
    return kind == Handle::kFunc || (kind == Handle::kLoop && (first == "loop" || first == "loop_or_loops"));
}

}  // namespace halyard
