#ifndef HALYARD_TESTS_TILES_DRAWN_PIPELINE_H
#define HALYARD_TESTS_TILES_DRAWN_PIPELINE_H

/** \file
 * Pipelines with parameters and a schedule that a test draws, built for an emulated device.
 */

#include <cstdlib>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "draw.h"
#include "kernel/failure.h"
#include "kernel/kernel.h"
#include "tests/language/support.h"

namespace tiles_test {

class DrawnPipeline {
public:
    /** Builds `op` of tile_pipelines.generator with the naive schedule and with `schedule`, which may be refused, by an error that says why. */
    DrawnPipeline(const std::string &op, const halyard::Assignments &params, const std::string &schedule, int seed) : op_(op), seed_(seed) {
        using namespace halyard;
        GenerateRequest request;
        request.op = op;
        request.generator = HALYARD_TILE_PIPELINES;
        request.params = params;
        GenerateRequest naive = request;
        naive.target = "host";
        build_shared_object(make_plan(naive), folder_.path() + "/naive.so");
        request.schedule = folder_.write(fmt::format("{}_{}.lua", op, seed), schedule);
        request.target = "cuda";
        request.devices = "emulator";
        try {
            build_shared_object(make_plan(request), library());
        } catch (const std::exception &e) {
            const std::string refused = e.what();
            CHECK(refused.find("error: ") != std::string::npos);
            CHECK(refused.find("do not compile") == std::string::npos);
            CHECK(refused.find("signal") == std::string::npos);
            if (std::getenv("HALYARD_RANDOM_VERBOSE")) {
                WARN("seed " << seed << " " << assignments_text(params) << " refused: " << refused);
            }
            is_built_ = false;
        }
    }

    bool is_built() const {
        return is_built_;
    }
    halyard::CompiledKernel naive() const {
        return halyard::CompiledKernel::load(folder_.path() + "/naive.so", op_);
    }
    /** For the device of so much capability, which calls have from now on. */
    halyard::CompiledKernel on(int capability) const {
        const std::string own = fmt::format("{}/of_{}_{}.so", folder_.path(), seed_, capability);
        std::filesystem::copy_file(library(), own);
        set_capability(capability);
        return halyard::CompiledKernel::load(own, op_);
    }

private:
    std::string library() const {
        return fmt::format("{}/{}.so", folder_.path(), seed_);
    }

    const TempDir folder_;
    const std::string op_;
    const int seed_;
    bool is_built_ = true;
};

}  // namespace tiles_test

#endif
