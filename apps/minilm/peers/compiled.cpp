/** \file
 * The encoder of apps/minilm beside the same model by `halyard compile`, in turns in one process, on the same threads and words.
 *
 *   compiled MODEL_DIR THREADS ROUNDS CASE... -- NAME.weights...
 *
 * CASE is SENTENCESxTOKENS. The names of the compiled models, in the order of their weights, are given when it is built:
 * -DMODELS='X(one) X(two)' (apps/minilm/peers/compiled). A line for each case and contestant says its least time, and the median and
 * the quartiles of how many times as fast as the first one it is in the same round. All sentences are of one length, and each result is
 * compared with that of the first.
 */

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <halyard/runtime.h>

#include "config.h"
#include "encoder.h"
#include "kernels.h"
#include "model.h"

// The functions of a compiled model; sizes and arrays are structures of integers and of pointers, in this order.
#define X(name)                                                                                                                            \
    extern "C" int name##_load(const char *path, void **model);                                                                            \
    extern "C" int name##_measure(const int32_t *sizes, size_t *bytes);                                                                    \
    extern "C" int name##_run(const void *model, const int32_t *sizes, void *const *arrays, void *workspace);
MODELS
#undef X

namespace {

constexpr double kSecondsOfATurn = 0.02;
constexpr float kMostOff = 1e-5F;  // of an embedding of length 1: other sums
constexpr int32_t kFirstWord = 999, kWords = 1000;

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Contestant {
    std::string name;
    std::function<void()> call;
    std::vector<float> result;
    std::vector<double> times;  // the least of a round
    int calls = 1;
};

void check(int code) {
    if (code != 0) {
        throw std::runtime_error(halyard_last_error());
    }
}

struct Compiled {
    const char *name;
    int (*load)(const char *, void **);
    int (*measure)(const int32_t *, size_t *);
    int (*run)(const void *, const int32_t *, void *const *, void *);
    void *model = nullptr;
};

double of_call(Contestant &c) {
    const double begin = seconds_now();
    c.call();
    return seconds_now() - begin;
}

double quantile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[size_t(part * double(values.size() - 1) + 0.5)];
}

// Rounds in which all take turns, the first one last in every second.
void take_turns(std::vector<Contestant> &all, int rounds) {
    for (auto &c : all) {
        c.call();
        c.calls = std::max(1, int(kSecondsOfATurn / std::max(std::min(of_call(c), of_call(c)), 1e-6)));
    }
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < all.size(); i++) {
            Contestant &c = all[round % 2 ? all.size() - 1 - i : i];
            double least = 1e9;
            for (int n = 0; n < c.calls; n++) {
                least = std::min(least, of_call(c));
            }
            c.times.push_back(least);
        }
    }
}

void report(const std::string &title, const std::vector<Contestant> &all) {
    for (const auto &c : all) {
        std::vector<double> ratios;
        for (size_t i = 0; i < c.times.size(); i++) {
            ratios.push_back(all[0].times[i] / c.times[i]);
        }
        float off = 0;
        for (size_t i = 0; i < c.result.size(); i++) {
            off = std::max(off, std::abs(c.result[i] - all[0].result[i]));
        }
        std::printf("%-8s %-20s %9.4f ms, of the first %.3f (%.3f to %.3f), least %.3f, off %.1e%s\n", title.c_str(), c.name.c_str(),
                    1e3 * quantile(c.times, 0), quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75),
                    quantile(all[0].times, 0) / quantile(c.times, 0), off, off <= kMostOff ? "" : " WRONG");
    }
    std::fflush(stdout);
}

int run(int argc, char **argv) {
    const std::string folder = argv[1];
    const int threads = std::atoi(argv[2]), rounds = std::atoi(argv[3]);
    std::vector<std::string> cases;
    int at = 4;
    for (; at < argc && std::strcmp(argv[at], "--") != 0; at++) {
        cases.push_back(argv[at]);
    }
    minilm::report_kernel_errors();
    minilm::set_kernel_threads(threads);
    const minilm::Config config = minilm::read_config(folder);
    const minilm::Kernels &kernels = minilm::find_kernels("fused");
    const minilm::Model model(folder, config, kernels.panel);
    minilm::Encoder encoder(model, kernels);
    std::vector<Compiled> compiled = {
#define X(name) {#name, name##_load, name##_measure, name##_run},
        MODELS
#undef X
    };
    for (auto &m : compiled) {
        if (++at >= argc) {
            throw std::runtime_error(std::string(m.name) + " has no weights");
        }
        check(m.load(argv[at], &m.model));
    }
    for (const auto &text : cases) {
        int sizes[2] = {0, 0};
        if (std::sscanf(text.c_str(), "%dx%d", &sizes[0], &sizes[1]) != 2) {
            throw std::runtime_error("no case " + text);
        }
        const int sentences = sizes[0], tokens = sizes[1];
        minilm::TokenBatch batch;
        std::vector<int64_t> ids, mask(size_t(sentences) * size_t(tokens), 1);
        for (int b = 0; b < sentences; b++) {
            for (int t = 0; t < tokens; t++) {
                batch.ids.push_back(kFirstWord + (b * tokens + t) * 7919 % kWords);
                ids.push_back(batch.ids.back());
            }
            batch.end_sentence();
        }
        std::vector<Contestant> all(compiled.size() + 1);
        all[0].name = "apps/minilm";
        all[0].result.resize(size_t(sentences) * size_t(config.hidden));
        all[0].call = [&] { encoder.encode(batch, all[0].result.data()); };
        std::vector<std::vector<char>> workspaces(compiled.size());
        for (size_t i = 0; i < compiled.size(); i++) {
            const Compiled &m = compiled[i];
            Contestant &c = all[i + 1];
            size_t bytes[4];
            check(m.measure(sizes, bytes));
            workspaces[i].resize(bytes[0] + 64);
            char *workspace = workspaces[i].data() + (64 - reinterpret_cast<uintptr_t>(workspaces[i].data()) % 64) % 64;
            c.name = m.name;
            c.result.resize(all[0].result.size());
            c.call = [&ids, &mask, &c, &sizes, m, workspace] {
                void *const arrays[] = {ids.data(), mask.data(), c.result.data()};
                check(m.run(m.model, sizes, arrays, workspace));
            };
        }
        take_turns(all, rounds);
        report(text, all);
    }
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 6) {
        std::fputs("compiled MODEL_DIR THREADS ROUNDS CASE... -- NAME.weights...\n", stderr);
        return 2;
    }
    try {
        return run(argc, argv);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "compiled: %s\n", e.what());
        return 1;
    }
}
