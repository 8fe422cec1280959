// Words on where a Func is computed and stored.

#include "language/word.h"

namespace halyard {

using namespace Halide;

namespace {

void wrap(Call &c) {
    const auto &consumers = c.args[0].handles;
    std::vector<Func> fs;
    for (const auto &h : consumers) {
        fs.push_back(h.func);
    }
    const Func f = fs.empty() ? c.func().in() : c.func().in(fs);
    c.push_func(f, fs.size() == 1 ? c.self.func_name + "_in_" + consumers[0].func_name : c.self.func_name + "_in");
}

void clone_in(Call &c) {
    std::vector<Func> fs;
    for (const auto &h : c.args[0].handles) {
        fs.push_back(h.func);
    }
    c.push_func(c.func().clone_in(fs), c.self.func_name + "_clone");
}

DeviceAPI device(const Argument &a) {
    return a.present ? DeviceAPI(a.integer) : DeviceAPI::Default_GPU;
}

}  // namespace

const std::vector<Word> kPlaceWords = {
    {"compute_at", Handle::kFunc, "level:level", "self", "Computes what one iteration of the consumer's loop needs, inside that loop.",
     "for row: f(row)\nfor row: g(row) = f(row)", "for row\n  f(row)\n  g(row) = f(row)",
     [](Call &c) { c.func().compute_at(*c.args[0].level); }, nullptr, Effect::kInside},
    {"compute_root", Handle::kFunc, "", "self", "Computes the whole Func before its consumers: no fusion.", "for row\n  f(row)\n  g(row)",
     "for row: f(row)\nfor row: g(row)", [](Call &c) { c.func().compute_root(); }},
    {"compute_inline", Handle::kFunc, "", "self", "Computes the value wherever it is used, which is the default.",
     "for row: f(row)\nfor row: g(row) = f(row) + 1", "for row: g(row) = (value of f) + 1", [](Call &c) { c.func().compute_inline(); },
     nullptr, Effect::kInside},
    {"store_at", Handle::kFunc, "level:level", "self",
     "Allocates the Func at an outer loop, while it is computed further in: results of earlier iterations stay.",
     "for y: for x: alloc f; f", "for y: alloc f\n  for x: f", [](Call &c) { c.func().store_at(*c.args[0].level); }, nullptr,
     Effect::kInside},
    {"store_root", Handle::kFunc, "", "self", "Allocates the Func outside all loops.", "for y: alloc f", "alloc f\nfor y",
     [](Call &c) { c.func().store_root(); }},
    {"hoist_storage", Handle::kFunc, "level:level", "self",
     "Moves the allocation out to a loop without changing what is kept between iterations.", "for y: alloc f", "alloc f\nfor y",
     [](Call &c) { c.func().hoist_storage(*c.args[0].level); }, nullptr, Effect::kInside},
    {"hoist_storage_root", Handle::kFunc, "", "self", "hoist_storage outside all loops.", "for y: alloc f", "alloc f\nfor y",
     [](Call &c) { c.func().hoist_storage_root(); }, nullptr, Effect::kInside},
    {"in_", Handle::kFunc, "consumers:func...?", "wrapper:Func",
     "A copy of the Func that the consumers read instead of it: a place for staging or packing. Without consumers, "
     "all of them.",
     "g reads f", "wrapper = f; g reads wrapper", wrap, "in"},
    {"clone_in", Handle::kFunc, "consumers:func...", "clone:Func",
     "A second Func with the same definition for these consumers, to be scheduled on its own.", "g and h read f",
     "g reads f; h reads clone", clone_in},
    {"copy_to_device", Handle::kFunc, "device:device?", "self", "Computes the Func as a copy to device memory.", "f", "copy f",
     [](Call &c) { c.func().copy_to_device(device(c.args[0])); }},
    {"copy_to_host", Handle::kFunc, "", "self", "Computes the Func as a copy to host memory.", "f", "copy f",
     [](Call &c) { c.func().copy_to_host(); }},
    {"async", Handle::kFunc, "", "self", "Computes the Func on another thread, ahead of its consumers.", "for y: f; g",
     "thread: for y: f\nthread: for y: g", [](Call &c) { c.func().async(); }, nullptr, Effect::kMemory},
    {"ring_buffer", Handle::kFunc, "extent:size[1..64,asked]", "self",
     "Gives an async or hoisted Func so many buffers in turn, so that producer and consumer can overlap. An async Func takes two or "
     "more; a Func with updates takes one.",
     "f", "f[extent]", [](Call &c) { c.func().ring_buffer(c.args[0].expr); }, nullptr, Effect::kMemory},
    {"memoize", Handle::kFunc, "key:expr?", "self", "Caches results between calls, in Halide's memoization cache.", "f",
     "f, or its cached result", [](Call &c) { c.func().memoize(c.args[0].present ? EvictionKey(c.args[0].expr) : EvictionKey()); }, nullptr,
     Effect::kMemory},
};

}  // namespace halyard
