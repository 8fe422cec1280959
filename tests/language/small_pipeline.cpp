#include "small_pipeline.h"

#include <Halide.h>

using namespace Halide;

void load_small_plugin() {
    static const bool loaded = [] {
        load_plugin(HALYARD_PLUGIN);
        return true;
    }();
    (void)loaded;
}

std::string schedule_small_pipeline(const std::string &script) {
    load_small_plugin();

    ImageParam x(Float(32), 2, "x");
    Param<float> scale("scale");
    Var col("col"), row("row"), i("i");
    Func f("f"), sum("sum"), hist("hist"), g("g"), y("y");
    RDom r(0, x.width(), "r"), box(0, x.width(), 0, x.height(), "box");
    f(col, row) = x(col, row) + 1.0f;
    sum(row) += f(r, row);
    hist(i) = 0;
    hist(clamp(cast<int>(sum(box.y)), 0, 15)) += box.x;
    g(col, row) = f(col, row) * sum(row) * scale + hist(col % 16);
    y(col, row) = g(col, row) * 2.0f;

    Pipeline pipeline(y);
    const Target target("x86-64-linux-avx2-fma-no_runtime");
    try {
        pipeline.apply_autoscheduler(target, AutoschedulerParams("Lua", {{"script", script}}));
        pipeline.compile_to_module({x, scale}, "small", target);
    } catch (const Halide::Error &e) {
        const std::string what = e.what();
        const size_t begin = what.find_first_not_of('\n');
        return begin == std::string::npos ? "an empty message" : what.substr(begin);
    }
    return "";
}
