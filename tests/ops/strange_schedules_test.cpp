// Schedules in strange/ that were once taken and computed something else, read memory that is nobody's, or ended the program.
// Each says what is to come of it now:
//
//   -- params: type=float16       of the generator
//   -- refused: TEXT              what its error says
//   -- shape: rows=65536,cols=1   of a call
//   -- call: TEXT                 what the error of this call says; without it, that call succeeds
//
// Where it is not refused and has no shape, it computes what the op is, in every case of the op.

#include <catch2/catch.hpp>

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
    s.target = quoted_behind(code, "target = ") == "cuda" ? kCudaTarget : "avx2";
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

Dims dims_of(const std::string &text) {
    Dims dims;
    for (const auto &item : split(text, ',')) {
        const size_t equals = item.find('=');
        dims[item.substr(0, equals)] = std::stoll(item.substr(equals + 1));
    }
    return dims;
}

}  // namespace

TEST_CASE("strange schedules are refused, or compute what the op is", "[strange]") {
    int found = 0;
    for (const auto &entry : std::filesystem::directory_iterator(HALYARD_SOURCE "/tests/ops/strange")) {
        const Strange s = read(entry.path());
        CAPTURE(s.path);
        found++;
        if (const auto refused = s.says.find("refused"); refused != s.says.end()) {
            const std::string error = error_of_build(s);
            CHECK_THAT(error, Catch::StartsWith(s.path + ":") && Catch::Contains(refused->second));
            continue;
        }
        Assignments choices = s.params;
        choices["schedule"] = s.path;
        choices["target"] = s.target;
        if (const auto shape = s.says.find("shape"); shape != s.says.end()) {
            const CompiledKernel kernel = build(s.op, choices);
            const Op &op = find_op(s.op);
            KernelArguments arguments = make_arguments(op, kernel, with_params(op, dims_of(shape->second), kernel.params()), 1);
            const CallResult r = kernel.call(arguments);
            const auto call = s.says.find("call");
            CHECK(r.ok() == (call == s.says.end()));
            CHECK_THAT(r.message, Catch::Contains(call == s.says.end() ? "" : call->second));
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
        CHECK(check_build(test, s.op, choices, found) == "");
    }
    CHECK(found > 25);
}

TEST_CASE("no thread of a library outlives it", "[strange]") {
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
