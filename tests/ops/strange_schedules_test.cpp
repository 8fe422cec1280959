// Schedules in strange/ that were once taken and computed something else, read memory that is nobody's, or ended the program.
// Each says what is to come of it now:
//
//   -- params: type=float16       of the generator
//   -- target: avx512             instead of avx2, where the processor has it
//   -- refused: TEXT              what its error says
//   -- shape: rows=65536,cols=1   of a call
//   -- call: TEXT                 what the error of this call says, which writes nothing; without it, that call succeeds
//
// Where it is not refused and has no shape, it computes what the op is, in every small case of the op.

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness.h"
#include "kernel/failure.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace {

using namespace ops_test;
using namespace halyard;

struct Strange {
    std::string path, op, target;
    Assignments params;
    std::map<std::string, std::string> says;
};

std::string quoted_behind(const std::string &text, const std::string &word) {
    const size_t open = text.find('"', text.find(word)), close = text.find('"', open + 1);
    return text.substr(open + 1, close - open - 1);
}

Strange read(const std::filesystem::path &path) {
    std::ifstream in(path);
    Strange s;
    s.path = path.string();
    std::string code;
    for (std::string line; std::getline(in, line);) {
        const size_t colon = line.find(": ");
        if (line.rfind("-- ", 0) == 0 && colon != std::string::npos) {
            s.says[line.substr(3, colon - 3)] = line.substr(colon + 2);
        }
        code += line + "\n";
    }
    s.op = quoted_behind(code, "schedule ");
    s.target = quoted_behind(code, "target = ") == "cuda" ? kCudaTarget : s.says.count("target") ? s.says["target"] : "avx2";
    if (s.says.count("params")) {
        s.params = parse_options(split(s.says["params"], ','), "--param");
    }
    return s;
}

#define HALYARD_OP(name, ...) {#name, &name##_test()},
const std::map<std::string, const OpTest *> &op_tests() {
    static const std::map<std::string, const OpTest *> tests = {
#include "ops.inc"
    };
    return tests;
}
#undef HALYARD_OP

std::string error_of_build(const Strange &s) {
    GenerateRequest r;
    r.op = s.op;
    r.schedule = s.path;
    r.target = s.target;
    r.devices = s.target == kCudaTarget ? "emulator" : "";
    r.params = s.params;
    try {
        CompiledKernel::build(r);
    } catch (const Failure &e) {
        return e.what();
    }
    return "";
}

std::vector<Strange> all() {
    std::vector<Strange> schedules;
    for (const auto &entry : std::filesystem::directory_iterator(HALYARD_SOURCE "/tests/ops/strange")) {
        schedules.push_back(read(entry.path()));
    }
    return schedules;
}

// Those of which a schedule may have all rows, or all columns, in one block or in one array.
std::vector<Case> small(std::vector<Case> cases) {
    const auto large = [](const Case &c) {
        return std::any_of(c.dims.begin(), c.dims.end(), [](const auto &d) { return d.second > 512; });
    };
    cases.erase(std::remove_if(cases.begin(), cases.end(), large), cases.end());
    return cases;
}

Dims dims_of(const std::string &text) {
    Dims dims;
    for (const auto &item : split(text, ',')) {
        const size_t equals = item.find('=');
        dims[item.substr(0, equals)] = std::stoll(item.substr(equals + 1));
    }
    return dims;
}

}  // namespace

TEST_CASE("strange schedules are refused", "[strange][refused]") {
    int found = 0;
    for (const Strange &s : all()) {
        if (const auto refused = s.says.find("refused"); refused != s.says.end()) {
            CAPTURE(s.path);
            CHECK_THAT(error_of_build(s), Catch::StartsWith(s.path + ":") && Catch::Contains(refused->second));
            found++;
        }
    }
    CHECK(found > 25);
}

TEST_CASE("strange schedules compute what the op is", "[strange][computed]") {
    int found = 0;
    for (const Strange &s : all()) {
        if (s.says.count("refused") || !why_skipped(s.target).empty()) {
            continue;
        }
        CAPTURE(s.path);
        found++;
        Assignments choices = s.params;
        choices["schedule"] = s.path;
        choices["target"] = s.target;
        if (const auto shape = s.says.find("shape"); shape != s.says.end()) {
            const CompiledKernel kernel = build(s.op, choices);
            const Op &op = find_op(s.op);
            KernelArguments arguments = make_arguments(op, kernel, with_params(op, dims_of(shape->second), kernel.params()), 1);
            for (const auto &a : kernel.arguments()) {
                if (s.target != kCudaTarget && a.is_buffer && arguments.buffer(a.name).size() == 0) {
                    arguments.buffer(a.name).raw()->host = nullptr;  // what reads there ends
                }
            }
            const CallResult r = kernel.call(arguments);
            const auto call = s.says.find("call");
            CHECK(r.ok() == (call == s.says.end()));
            CHECK_THAT(r.message, Catch::Contains(call == s.says.end() ? "" : call->second));
            for (const auto &a : kernel.arguments()) {
                CHECK((r.ok() || !a.is_output || arguments.buffer(a.name).poisoned()));
            }
            continue;
        }
        const OpTest &test = *op_tests().at(s.op);
        for (const auto &choice : test.choices()) {
            choices.insert({choice.name, choice.values.front()});
        }
        test.settle(choices);
        for (auto c = choices.begin(); c != choices.end();) {  // of schedules that ship
            c = c->first.rfind("set.", 0) == 0 ? choices.erase(c) : std::next(c);
        }
        const std::vector<Case> cases = small(test.cases(choices));
        CHECK(!cases.empty());
        CHECK(check_cases(test, s.op, choices, cases, found) == "");
    }
    CHECK(found > 15);
}

TEST_CASE("no thread of a library outlives it", "[strange][threads]") {
    const auto threads = [] {
        const std::filesystem::directory_iterator tasks("/proc/self/task");
        return std::distance(begin(tasks), end(tasks));
    };
    const auto before = threads();
    {
        const CompiledKernel kernel =
            build("softmax", {{"schedule", HALYARD_SOURCE "/tests/ops/strange/buffers_of_one_size.lua"}, {"target", "avx2"}});
        KernelArguments arguments = make_arguments(find_op("softmax"), kernel, dims_of("rows=40,cols=60"), 1);
        CHECK(kernel.call(arguments).ok());
        CHECK(threads() > before);
    }
    CHECK(threads() <= before);
}
