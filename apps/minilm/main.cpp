/** \file
 * minilm: sentence embeddings with all-MiniLM-L6-v2 on Halyard's kernels.
 */

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "backend.h"
#include "bench.h"
#include "embed_lines.h"
#include "common/cut_off_file.h"
#include "common/utf8.h"

namespace {

using namespace minilm;

constexpr int exit_failure = 1, exit_usage = 2;

struct Options {
    std::string model, input = "-", check, sentences, format_name = "text";
    std::string kernels = choices().kernels.front(), type = choices().types.front();
    Format format = Format::Text;
    int threads = 0, batch = 32;
    bool similarity = false, serve_bench = false, verbose = false;
};

void declare(CLI::App *app, Options *o) {
    // As of a variable that is not set.
    const CLI::Validator named(
        [](std::string &path) { return path.empty() ? "the name is empty; give one, or leave it out" : std::string(); }, "");
    app->add_option("--model", o->model, "Directory with model.safetensors, vocab.txt and the JSON files")
        ->envname("HALYARD_MINILM_MODEL")
        ->type_name("DIR");
    app->add_option("FILE", o->input, "Sentences, one a line; - or nothing is standard input")->check(named);
    app->add_option("--threads", o->threads, "Threads; without it, one a processor")->check(CLI::Range(1, 256));
    app->add_option("--batch", o->batch, "Sentences that are computed together")->check(CLI::Range(1, 1024))->capture_default_str();
    app->add_option("--kernels", o->kernels, "Schedules of the kernels")->check(CLI::IsMember(choices().kernels))->capture_default_str();
    app->add_option("--type", o->type, "Of weights and activations; sums are f32 in both")
        ->check(CLI::IsMember(choices().types))
        ->capture_default_str();
    auto *format = app->add_option("--format", o->format_name, "f32 is raw little-endian numbers")
                       ->check(CLI::IsMember({"text", "json", "f32"}))
                       ->capture_default_str();
    auto *similarity = app->add_flag("--similarity", o->similarity,
                                     "The cosines of all pairs instead of the embeddings: a table "
                                     "for up to 16 sentences, tab-separated for more");
    auto *check = app->add_option("--check", o->check,
                                  "Compare with stored embeddings (raw f32, one a line of input); "
                                  "exit 1 if a cosine is not over 0.99999, in bf16 0.9999")
                      ->type_name("FILE.f32")
                      ->check(named)
                      ->excludes(similarity);
    auto *serve = app->add_flag("--serve-bench", o->serve_bench,
                                "Time encoding: answer each line 'run CASE SECONDS' of standard "
                                "input by a line of JSON. CASE is like 32x128 (sentences, tokens) "
                                "or 32xnatural")
                      ->excludes(similarity)
                      ->excludes(check)
                      ->excludes(format);
    app->add_option("--sentences", o->sentences, "File of sentences for the natural cases")->type_name("FILE")->check(named)->needs(serve);
    app->add_flag("--verbose", o->verbose, "Say of every line that is cut which one it is");
}

/** Standard output has to have taken everything: a full disk is a failure. */
void flush_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) || !std::cout.flush()) {
        throw std::system_error(errno, std::generic_category());
    }
}

void print_error(const std::string &message) {
    std::fputs(fmt::format("minilm: {}\n", halyard_apps::visible(message, "\n")).c_str(), stderr);
}

std::unique_ptr<Sink> make_sink(const Options &o, int width) {
    if (!o.check.empty()) {
        return make_check_sink(o.check, width, o.format, precision_of(o.type));
    }
    return o.similarity ? make_similarity_sink(o.format, width) : make_embedding_sink(o.format, width);
}

int run(const Options &o) {
    const Config config = read_config(o.model);
    if (config.head_size() != compiled_head_size) {
        throw std::runtime_error(
            fmt::format("{}/config.json: hidden_size {} / num_attention_heads {} is {}, but the kernels of this program "
                        "are compiled for heads of {}",
                        o.model, config.hidden, config.heads, config.head_size(), compiled_head_size));
    }
    Tokenizer tokenizer(o.model + "/vocab.txt", config.max_tokens);
    const Precision precision = precision_of(o.type);
    const std::unique_ptr<Backend> backend = start_backend(o.kernels, precision, o.threads);

    // What can fail early does so before 90 MB of weights are packed.
    std::unique_ptr<LineReader> lines;
    std::unique_ptr<Sink> sink;
    if (!o.serve_bench) {
        lines = std::make_unique<LineReader>(o.input);
        sink = make_sink(o, config.hidden);
    }
    const Model model(o.model, config, backend->panel(), precision);
    if (tokenizer.vocabulary_size() > config.vocabulary) {
        throw std::runtime_error(fmt::format("{}/vocab.txt has {} lines, but the model knows {} tokens: take both from one model", o.model,
                                             tokenizer.vocabulary_size(), config.vocabulary));
    }
    const std::unique_ptr<SentenceEncoder> encoder = backend->make_encoder(model);
    if (o.serve_bench) {
        serve_bench(model, &tokenizer, encoder.get(), o.sentences, &std::cin, &std::cout);
        flush_output();
        return 0;
    }

    const LineCounts counts = embed_lines(lines.get(), &tokenizer, encoder.get(), config.hidden, o.batch, o.verbose, sink.get());
    const bool good = sink->finish();
    flush_output();
    if (counts.cut > 0) {
        fmt::print(stderr,
                   "minilm: {} of {} lines cut at {} tokens, the limit of "
                   "sentence_bert_config.json{}\n",
                   counts.cut, counts.lines, config.max_tokens, o.verbose ? "" : " (--verbose names them)");
    }
    if (counts.cut_bytes > 0) {
        fmt::print(stderr, "minilm: {} of {} lines cut at {} bytes, what is read of a line{}\n", counts.cut_bytes, counts.lines,
                   LineReader::max_bytes, o.verbose ? "" : " (--verbose names them)");
    }
    return good ? 0 : exit_failure;
}

}  // namespace

int main(int argc, char **argv) {
    std::ios::sync_with_stdio(false);  // otherwise std::cin takes a failed read for the end
    Options options;
    std::string help;
    CLI::App app("Sentence embeddings with all-MiniLM-L6-v2, computed by Halyard kernels.");
    app.get_formatter()->column_width(28);
    declare(&app, &options);
    try {
        app.parse(argc, argv);
        // Not CLI11's required(): that would hide the message on a misspelt option.
        if (options.model.empty()) {
            throw CLI::RequiredError("--model");
        }
        options.format = options.format_name == "json" ? Format::Json : options.format_name == "f32" ? Format::F32 : Format::Text;
        if (options.format == Format::F32 && isatty(STDOUT_FILENO)) {
            throw CLI::ValidationError("--format f32", "writes binary data; send standard output to a file");
        }
    } catch (const CLI::ParseError &e) {
        std::ostringstream out, message;
        if (app.exit(e, out, message) != 0) {
            std::fputs(halyard_apps::visible(message.str(), "\n").c_str(), stderr);
            return exit_usage;
        }
        help = out.str();
    }
    try {
        if (!help.empty()) {
            fmt::print("{}", help);
            flush_output();
            return 0;
        }
        const std::string cut_off =
            fmt::format("minilm: {}: a file has become shorter while it was read: put another in its place by renaming "
                        "that\n",
                        halyard_apps::visible(options.model, ""));
        halyard_apps::end_where_a_file_is_cut_off(cut_off.c_str(), exit_failure);
        return run(options);
    } catch (const std::bad_alloc &) {
        print_error("out of memory; a smaller --batch needs less");
    } catch (const std::system_error &e) {
        // Of fmt::print(), which calls it a file.
        print_error(std::ferror(stdout) || !std::cout ? fmt::format("standard output: cannot be written: {}", e.code().message())
                                                      : e.what());
    } catch (const std::exception &e) {
        print_error(e.what());
    }
    return exit_failure;
}
