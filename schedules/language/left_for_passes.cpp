// What words leave for passes that run when the script has ended, and for the call of the library.

#include "language/binding.h"

#include <algorithm>

namespace halyard {

using namespace Halide;

void Binding::require(const Expr &condition, const Expr &value, const std::string &message) {
    std::string file;
    int line = 0;
    host_.where(file, line);
    // The name alone: the bytes of a library do not depend on the folder of its script.
    const std::string where = file.substr(file.rfind('/') + 1) + ":" + std::to_string(line) + ": ";
    requirements_.push_back({condition, value, where + message});
}

void Binding::add_requirements(Pipeline pipeline) const {
    for (const Requirement &r : requirements_) {
        pipeline.add_requirement(r.condition, std::vector<Expr>{Expr(r.message + ", not"), r.value});
    }
}

void Binding::stream(const Halide::Internal::Function &output, int64_t above) {
    for (auto &s : streamed_) {
        if (s.func.same_as(output)) {
            s.above = above;
            return;
        }
    }
    streamed_.push_back({output, above});
}

void Binding::fetch(const Halide::Internal::Function &f, int ahead) {
    for (auto &other : fetched_) {
        if (other.func.same_as(f)) {
            other.ahead = ahead;
            return;
        }
    }
    fetched_.push_back({f, ahead});
}

namespace {

// Null where mma was not said of the stage.
TileProduct *product_of(std::vector<TileProduct> &products, const Halide::Internal::Function &f, int stage) {
    const auto it = std::find_if(products.begin(), products.end(), [&](const auto &p) { return p.func.same_as(f) && p.stage == stage; });
    return it == products.end() ? nullptr : &*it;
}

}  // namespace

bool Binding::pipeline(const Halide::Internal::Function &f, int stage, int stages, int raster, bool ping_pong) {
    TileProduct *const p = product_of(tile_products_, f, stage);
    if (p) {
        p->stages = stages;
        p->raster = raster;
        p->ping_pong = ping_pong;
    }
    return p != nullptr;
}

bool Binding::split_k_cluster(const Halide::Internal::Function &f, int stage, int blocks) {
    TileProduct *const p = product_of(tile_products_, f, stage);
    if (p) {
        p->cluster = blocks;
    }
    return p != nullptr;
}

bool Binding::split_k_warps(const Halide::Internal::Function &f, int stage, int warps) {
    TileProduct *const p = product_of(tile_products_, f, stage);
    if (p) {
        p->warps = warps;
    }
    return p != nullptr;
}

// For a pass that runs when the script has ended: raises an error at the line of the script that is being run now.
std::function<void(const std::string &)> Binding::late_error(const std::string &word) {
    const LuaHost::Place p = host_.place();
    Diagnostic d;
    d.file = p.file;
    d.line = p.line;
    d.inside = p.inside;
    d.word = word;
    return [this, d](const std::string &message) {
        Diagnostic here = d;
        here.message = message;
        if (on_late_error) {
            on_late_error(here);
        }
        throw Halide::CompileError("\n" + here.text());
    };
}

void Binding::multiply_in_tiles(const Halide::Internal::Function &f, int stage) {
    tile_products_.push_back({f, stage, 4, 8, 1, 1, false, late_error("mma")});
}

void Binding::put_side_by_side(std::vector<Halide::Internal::Function> funcs, std::vector<std::string> names) {
    side_by_side_.push_back({std::move(funcs), std::move(names), late_error("side_by_side")});
}

}  // namespace halyard
