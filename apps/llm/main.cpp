/** \file
 * llm: language models from GGUF files on Halyard's kernels.
 */

#include <CLI/CLI.hpp>

#include <HalideRuntime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "generate.h"
#include "measure.h"
#include "offers.h"
#include "common/cut_off_file.h"
#include "common/read_line.h"
#include "common/utf8.h"

namespace {

using namespace halyard_llm;

constexpr int kFailure = 1, kUsage = 2;

constexpr std::pair<const char *, CacheType> kCaches[] = {
    {"f32", CacheType::kF32}, {"f16", CacheType::kF16}, {"bf16", CacheType::kBF16}, {"int8", CacheType::kInt8}};

struct Options {
    std::string model, prompt, tokens, perplexity, parallel, weights, cache, kernels = "fused";
    bool has_prompt = false, chat = false, has_tokens = false, bench = false, explain = false, int8 = false;
    GenerateOptions generate;
    float temperature = 0, top_p = 1;
    int top_k = 0, context = 0, threads = 0, depth = 0;
    BenchOptions tests;
    uint64_t seed = 0;
};

void declare(CLI::App *app, Options *o) {
    app->add_option("--model", o->model, "A GGUF file")->envname("HALYARD_LLM_MODEL")->type_name("FILE");
    auto *prompt = app->add_option("--prompt", o->prompt, "Continue this text; with --chat, answer it")->type_name("TEXT");
    auto *chat = app->add_flag("--chat", o->chat, "Converse by lines of standard input. Ctrl-C ends an answer, not the conversation");
    auto *tokens =
        app->add_option("--tokens", o->tokens, "Print the tokens of this text")->type_name("TEXT")->excludes(prompt)->excludes(chat);
    auto *bench = app->add_flag("--bench", o->bench, "Measure: a prompt of 512 tokens, 128 generated ones");
    bench->excludes(prompt)->excludes(chat)->excludes(tokens);
    CLI::Option *explain = nullptr;
    if (offers().explains) {
        explain = app->add_flag("--explain", o->explain, "What a generated token reads and computes, and how long that takes");
        explain->excludes(prompt)->excludes(chat)->excludes(tokens)->excludes(bench);
    }
    auto *perplexity = app->add_option("--perplexity", o->perplexity, "How well the model predicts this text")->type_name("FILE");
    perplexity->excludes(prompt)->excludes(chat)->excludes(tokens)->excludes(bench);
    auto *parallel = app->add_option("--parallel", o->parallel,
                                     "Continue the lines of this file, or with --chat answer them, together; - is standard input");
    parallel->type_name("FILE")->excludes(prompt)->excludes(tokens)->excludes(bench)->excludes(perplexity);
    if (explain) {
        explain->excludes(perplexity)->excludes(parallel);
    }
    // What the text is not continued in, of which options of that say nothing.
    std::vector<CLI::Option *> others = {tokens, bench, perplexity};
    if (explain) {
        others.push_back(explain);
    }
    const auto of_texts = [&](CLI::Option *option) {
        for (CLI::Option *other : others) {
            option->excludes(other);
        }
        return option;
    };
    app->add_option("--system", o->generate.system, "What the model is told before a conversation")->type_name("TEXT")->needs(chat);
    of_texts(app->add_option("-n,--limit", o->generate.most, "Tokens of an answer at most"))->check(CLI::Range(1, 1 << 20));
    of_texts(app->add_option("--stop", o->generate.stops, "End before this text; may be said several times"))
        ->type_name("TEXT")
        ->take_all();
    of_texts(app->add_option("--temperature", o->temperature, "Divides the logits; 0 takes the most probable token"))
        ->capture_default_str();
    of_texts(app->add_option("--top-k", o->top_k, "Draw from so many of the most probable tokens; 0: all"))->capture_default_str();
    of_texts(app->add_option("--top-p", o->top_p, "Then from those whose probabilities reach this sum"))->capture_default_str();
    of_texts(app->add_option("--seed", o->seed, "Of the random numbers"))->capture_default_str();
    auto *context =
        app->add_option("--context", o->context, "Tokens of the sequence; without it what the model was made for, but 4096 at most");
    context->check(CLI::Range(1, 1 << 20))->excludes(tokens)->excludes(bench);
    if (explain) {
        context->excludes(explain);
    }
    CLI::Option *int8 = nullptr;
    if (offers().int8) {
        int8 = app->add_flag("--int8", o->int8, "Multiply weights by rows in 8 bits, as other programs do: faster, less exact");
    }
    auto *weights = app->add_option("--weights", o->weights, "What matrices are multiplied as; without it as the file has them");
    weights->check(CLI::IsMember({"f32", "bf16"}))->excludes(tokens);
    if (int8) {
        weights->excludes(int8);  // which is for integers
    }
    app->add_option("--cache", o->cache,
                    offers().int8 ? "What keys and values are kept as; without it f32, and with --int8 f16"
                                  : "What keys and values are kept as; without it f16")
        ->check(CLI::IsMember(offers().caches));
    if (!offers().kernels.empty()) {
        app->add_option("--kernels", o->kernels, "fused, or for comparison unfused: each step of an op in a pass of its own")
            ->check(CLI::IsMember(offers().kernels))
            ->capture_default_str();
    }
    if (offers().threads) {
        app->add_option("--threads", o->threads, "Threads; without it, one a processor")->check(CLI::Range(1, 256));
    }
    auto *depth = app->add_option("--depth", o->depth, "Tokens before what is measured")->check(CLI::Range(1, 1 << 20));
    depth->excludes(prompt)->excludes(chat)->excludes(tokens)->excludes(perplexity)->excludes(parallel);
    app->add_option("--prompt-tokens", o->tests.prompt, "Of the prompt that --bench measures; 0: it measures none")
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str()
        ->needs(bench);
    app->add_option("--generated-tokens", o->tests.generated, "The same of what is generated")
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str()
        ->needs(bench);
    app->add_option("--sequences", o->tests.sequences, "So many that generate together are measured, too")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str()
        ->needs(bench);
    app->add_option("--repetitions", o->tests.repetitions, "Of which the median is printed")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str()
        ->needs(bench);
    of_texts(app->add_flag("--report", o->generate.report, "Say on standard error how long it took"));
    app->final_callback([o, prompt, tokens] {
        o->has_prompt = prompt->count() > 0;
        o->has_tokens = tokens->count() > 0;
    });
}

void print_error(const std::string &message) {
    std::fputs(fmt::format("{}: {}\n", offers().name, halyard_apps::visible(message, "\n")).c_str(), stderr);
}

void print_tokens(const Model &model, const std::string &text) {
    std::vector<int32_t> tokens;
    model.tokenizer.encode(text, true, &tokens);
    for (const int32_t token : tokens) {
        fmt::print("{}\t{}\n", token, halyard_apps::visible(model.tokenizer.text_of(token, true), ""));
    }
}

/** Lines of a file that are not empty; together they have no more bytes than one may have. */
std::vector<std::string> lines_of(const std::string &path) {
    std::ifstream file;
    if (path != "-") {
        file.open(path);
        if (!file) {
            throw std::runtime_error(fmt::format("{}: {}", path, std::generic_category().message(errno)));
        }
    }
    std::istream &from = path == "-" ? std::cin : file;
    std::vector<std::string> lines;
    size_t bytes = 0;
    for (std::string line; halyard_apps::read_line(from, &line);) {
        bytes += line.size() + 1;
        if (bytes > halyard_apps::kMostBytesOfLine) {
            throw std::runtime_error(fmt::format("{}: its lines have more than {} MiB", path, halyard_apps::kMostBytesOfLine >> 20));
        }
        if (!line.empty()) {
            lines.push_back(line);
        }
    }
    if (lines.empty()) {
        throw std::runtime_error(fmt::format("{}: there is no line with a text", path));
    }
    return lines;
}

/** Without --cache, keys and values are what rows are: as they are, or rounded where these are. */
Precision precision_of(const Options &o) {
    Precision result;
    result.exact = !o.int8;
    const auto *found = std::find_if(std::begin(kCaches), std::end(kCaches), [&](const auto &c) { return o.cache == c.first; });
    const bool fused = o.kernels == "fused";
    result.cache = found != std::end(kCaches) ? found->second : fused ? default_cache(result.exact) : CacheType::kF32;
    if (!fused && result.cache != CacheType::kF32) {
        throw std::runtime_error(fmt::format("--kernels unfused keeps keys and values in f32, and not in {}", o.cache));
    }
    return result;
}

void run(const Options &o) {
    if (o.threads > 0) {
        halide_set_num_threads(o.threads);
    }
    Sampler sampler(o.temperature, o.top_k, o.top_p, o.seed);  // what can fail early does
    const Precision precision = precision_of(o);
    const Model model(o.model, kernels_of_kind(o.kernels),
                      o.weights == "f32"    ? MatrixType::kF32
                      : o.weights == "bf16" ? MatrixType::kBF16
                                            : MatrixType::kOfFile);
    if (o.has_tokens) {
        print_tokens(model, o.tokens);
    } else if (o.bench) {
        BenchOptions tests = o.tests;
        tests.depth = o.depth;
        bench(model, precision, tests);
    } else if (o.explain) {
        explain_token(model, precision, o.depth, o.threads > 0 ? o.threads : int(std::max(1u, std::thread::hardware_concurrency())));
    } else if (!o.perplexity.empty()) {
        perplexity(model, precision, o.perplexity, o.context > 0 ? o.context : std::min(512, model.config.context));
    } else if (!o.parallel.empty()) {
        end_generations_by_signal();
        continue_together(model, lines_of(o.parallel), o.chat, o.context, precision, sampler, o.generate);
    } else {
        const std::unique_ptr<Sequence> sequence = make_sequence(model, o.context, precision);
        end_generations_by_signal();
        if (o.chat) {
            converse(sequence.get(), &sampler, model, o.has_prompt ? &o.prompt : nullptr, o.generate);
        } else {
            continue_text(sequence.get(), &sampler, model, o.prompt, o.generate);
        }
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
        throw std::system_error(errno, std::generic_category());
    }
}

}  // namespace

int main(int argc, char **argv) {
    Options options;
    CLI::App app(offers().description);
    app.get_formatter()->column_width(28);
    declare(&app, &options);
    try {
        app.parse(argc, argv);
        if (options.model.empty()) {
            throw CLI::RequiredError("--model");
        }
        if (!options.has_prompt && !options.chat && !options.has_tokens && !options.bench && !options.explain &&
            options.perplexity.empty() && options.parallel.empty()) {
            throw CLI::RequiredError(offers().explains
                                         ? "One of --prompt, --chat, --tokens, --parallel, --bench, --explain and --perplexity"
                                         : "One of --prompt, --chat, --tokens, --parallel, --bench and --perplexity");
        }
    } catch (const CLI::ParseError &e) {
        std::ostringstream out, message;
        const int code = app.exit(e, out, message);
        std::fputs(out.str().c_str(), stdout);
        std::fputs(halyard_apps::visible(message.str(), "\n").c_str(), stderr);
        return code == 0 ? 0 : kUsage;
    }
    const std::string cut_off = fmt::format("{}: {}: has become shorter while it was read: put another in its place by renaming that\n",
                                            offers().name, halyard_apps::visible(options.model, ""));
    halyard_apps::end_where_a_file_is_cut_off(cut_off.c_str(), kFailure);
    try {
        run(options);
        return 0;
    } catch (const std::bad_alloc &) {
        print_error("out of memory; a shorter --context needs less");
    } catch (const std::system_error &e) {
        print_error(fmt::format("standard output: cannot be written: {}", e.code().message()));
    } catch (const std::exception &e) {
        print_error(e.what());
    }
    return kFailure;
}
