#include "run.h"

#include <memory>
#include <regex>

#include <Halide.h>

#include "kernel/kernel.h"

namespace fuzz {

using namespace Halide;

namespace {

// Odd ones, even ones, a window of what there could be, one element.
const std::vector<Sizes> kSizes = {{37, 13, 0, 0, 37, 13}, {64, 8, 0, 0, 64, 8}, {40, 16, 5, 3, 21, 7}, {1, 1, 0, 0, 1, 1}};

constexpr int kScale = 3, kFactorOfX = 3, kFactorOfW = 5;
constexpr int kPoison = 0x5a5a5a5a;
constexpr int kAround = 5;  // elements on each side of an output that nobody may write

Target jit_target() {
    return get_jit_target_from_environment();
}

int element(int c, int r, int factor) {
    return (c * 7 + r * 13 + c * r * factor) % 19;
}

Buffer<int> filled(int cols, int rows, int factor) {
    Buffer<int> b(cols, rows);
    b.for_each_element([&](int c, int r) { b(c, r) = element(c, r, factor); });
    return b;
}

// The message without what Halide puts before it.
std::string plain(const std::string &what) {
    const size_t begin = what.find_first_not_of('\n');
    return begin == std::string::npos ? "" : what.substr(begin);
}

bool is_clear(const std::string &message) {
    static const std::regex at_a_line("\\.lua:[0-9]+: error: .*[a-z]");
    static const std::regex internal("internal error|internal_error|Internal Error", std::regex::icase);
    return std::regex_search(message, at_a_line) && !std::regex_search(message, internal);
}

}  // namespace

Runner::Runner() {
    for (const auto &name : algorithm_names()) {
        Algorithm a = make_algorithm(name);
        for (const auto &f : Internal::build_environment([&] {
                 std::vector<Internal::Function> outputs;
                 for (const Func &o : a.pipeline.outputs()) {
                     outputs.push_back(o.function());
                 }
                 return outputs;
             }())) {
            Func(f.second).compute_root();
        }
        for (const Sizes &s : kSizes) {
            std::string error;
            right_[name].push_back(call(a, s, error));
            if (!error.empty()) {
                throw std::runtime_error(name + ": " + error);
            }
        }
    }
}

Runner::Values Runner::call(Algorithm &a, const Sizes &s, std::string &error) const {
    a.x.set(filled(s.cols, s.rows, kFactorOfX));
    a.w.set(filled(s.cols, s.cols, kFactorOfW));
    a.scale.set(kScale);
    std::vector<Buffer<int>> whole;
    std::vector<Buffer<>> views;
    for (size_t i = 0; i < a.outputs; i++) {
        whole.emplace_back(s.wide + 2 * kAround, s.high + 2 * kAround);
        whole.back().set_min(s.col - kAround, s.row - kAround);
        whole.back().fill(kPoison);
        views.emplace_back(Buffer<int>(whole.back().cropped(std::vector<std::pair<int, int>>{{s.col, s.wide}, {s.row, s.high}})));
    }
    try {
        a.pipeline.realize(Realization(std::move(views)), jit_target());
    } catch (const Error &e) {  // the plugin makes errors of the script of those at run time, too
        error = plain(e.what());
        error = error.empty() ? "an error without a message" : error;
        return {};
    }
    Values values(a.outputs);
    for (size_t i = 0; i < a.outputs; i++) {
        whole[i].for_each_element([&](int c, int r) {
            const bool inside = c >= s.col && c < s.col + s.wide && r >= s.row && r < s.row + s.high;
            if (inside) {
                values[i].push_back(whole[i](c, r));
            } else if (whole[i](c, r) != kPoison) {
                error = "writes around output " + std::to_string(i);
            }
        });
    }
    return error.empty() ? values : Values();
}

std::string Runner::compare(const std::string &algorithm, size_t size, const Values &got) const {
    const Values &right = right_.at(algorithm)[size];
    for (size_t o = 0; o < right.size(); o++) {
        for (size_t n = 0; n < right[o].size(); n++) {
            if (got[o][n] != right[o][n]) {
                return "output " + std::to_string(o) + " has " + std::to_string(got[o][n]) + " for " + std::to_string(right[o][n]) +
                       " as its element " + std::to_string(n) +
                       (got[o][n] == kPoison || got[o][n] == -1 ? ", which perhaps nobody wrote" : "");
            }
        }
    }
    return "";
}

Result Runner::run(const std::string &algorithm, const std::string &script) const {
    Algorithm a = make_algorithm(algorithm);
    try {
        a.pipeline.apply_autoscheduler(jit_target(), AutoschedulerParams("Lua", {{"script", script}}));
        a.pipeline.compile_jit(jit_target());
    } catch (const Error &e) {
        const std::string message = plain(e.what());
        return is_clear(message) ? Result{Outcome::kRefused, message} : Result{Outcome::kWrong, "is no clear error: " + message};
    }
    Result result{Outcome::kRight, ""};
    for (size_t i = 0; i < kSizes.size(); i++) {
        const Sizes &s = kSizes[i];
        const std::string size = std::to_string(s.wide) + "x" + std::to_string(s.high) + ": ";
        std::string error;
        const Values got = call(a, s, error);
        if (error.find("writes around") != std::string::npos) {
            return {Outcome::kWrong, size + error};
        }
        if (!error.empty()) {
            result = {Outcome::kRefusedAtCall, result.message + size + error + "\n"};
            continue;
        }
        if (const std::string wrong = compare(algorithm, i, got); !wrong.empty()) {
            return {Outcome::kWrong, result.message + size + wrong};
        }
    }
    return result;
}

Result Runner::run_on_device(const std::string &algorithm, const std::string &script) const {
    using namespace halyard;
    GenerateRequest request;
    request.op = algorithm;
    request.generator = HALYARD_FUZZED_GENERATOR;
    request.schedule = script;
    request.target = "cuda";
    request.devices = "emulator";
    std::unique_ptr<CompiledKernel> kernel;
    try {
        kernel = std::make_unique<CompiledKernel>(CompiledKernel::build(request));
    } catch (const std::exception &e) {
        const std::string message = plain(e.what());
        return is_clear(message) ? Result{Outcome::kRefused, message} : Result{Outcome::kWrong, "is no clear error: " + message};
    }
    Result result{Outcome::kRight, ""};
    for (size_t i = 0; i < kSizes.size(); i++) {
        const Sizes &s = kSizes[i];
        const std::string size = std::to_string(s.wide) + "x" + std::to_string(s.high) + ": ";
        KernelArguments arguments(*kernel);
        const auto fill = [&](const char *name, int cols, int rows, int factor) {
            if (kernel->argument(name)) {
                HostBuffer &b = arguments.buffer(name, Layout({cols, rows}));
                for (int r = 0; r < rows; r++) {
                    for (int c = 0; c < cols; c++) {
                        b.set({c, r}, element(c, r, factor));
                    }
                }
            }
        };
        fill("x", s.cols, s.rows, kFactorOfX);
        fill("w", s.cols, s.cols, kFactorOfW);
        arguments.scalar("scale", kScale);
        std::vector<std::string> outputs;
        for (const auto &a : kernel->arguments()) {
            if (a.is_output) {
                outputs.push_back(a.name);
                Layout view({s.wide, s.high});
                view.mins = {s.col, s.row};
                view.strides = {1, s.wide + kAround};
                arguments.buffer(a.name, view);
            }
        }
        const CallResult r = kernel->call(arguments);
        if (!r.ok()) {
            result = {Outcome::kRefusedAtCall, size + r.message};
            // The emulated device begins with the kernel what it finds a kernel do wrong.
            if (r.message.empty() || r.message.rfind("kernel ", 0) == 0) {
                return {Outcome::kWrong, size + (r.message.empty() ? "an error without a message" : r.message)};
            }
            continue;
        }
        Values got;
        for (const auto &name : outputs) {
            HostBuffer &b = arguments.buffer(name);
            if (!b.surroundings_intact()) {
                return {Outcome::kWrong, size + "writes around " + name};
            }
            const std::vector<double> values = b.values();
            got.emplace_back(values.begin(), values.end());
        }
        if (const std::string wrong = compare(algorithm, i, got); !wrong.empty()) {
            return {Outcome::kWrong, size + wrong};
        }
    }
    return result;
}

}  // namespace fuzz
