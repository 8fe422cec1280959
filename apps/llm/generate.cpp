#include "generate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "chat.h"
#include "common/read_line.h"
#include "common/utf8.h"
#include "text_stream.h"

namespace halyard_llm {

namespace {

std::atomic<bool> generating{false}, interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void on_interrupt(int) {
    // The second of two ends the program, whatever it computes.
    if (!generating || interrupted.exchange(true)) {
        _exit(130);  // as a shell reports a program that a signal ended
    }
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/** Text goes out at once. What a terminal would obey is shown instead. */
void show(const std::string &text) {
    static const bool terminal = isatty(STDOUT_FILENO) != 0;
    const std::string shown = terminal ? halyard_apps::visible(text, "\n\t") : text;
    if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size() || std::fflush(stdout) != 0) {
        throw std::system_error(errno, std::generic_category());
    }
}

void report(const char *what, int tokens, double seconds) {
    fmt::print(stderr, "{}: {} tokens in {:.2f} s, {:.1f} a second\n", what, tokens, seconds, seconds > 0 ? tokens / seconds : 0);
}

/** Reads the tokens and writes what follows; returns the last token that was drawn, which is not fed yet, or -1. */
int32_t generate(Sequence *sequence, Sampler *sampler, const Model &model, const std::vector<int32_t> &tokens,
                 const GenerateOptions &options) {
    TextStream stream(options.stops);
    interrupted = false;
    generating = true;
    const double begin = now();
    // In parts, so that a signal ends the reading of a long text.
    constexpr int kPart = 512;
    const int read = int(tokens.size());
    if (read > sequence->length() - sequence->position()) {
        sequence->feed(tokens.data(), read);  // which says that it is too long, before anything is read
    }
    for (int at = 0; at < read && !interrupted; at += kPart) {
        sequence->feed(tokens.data() + at, std::min(kPart, read - at));
    }
    const double first = now();
    if (options.report) {
        report("prompt", read, first - begin);
    }
    int32_t token = -1;
    int count = 0;
    for (; !interrupted && (options.most == 0 || count < options.most); count++) {
        token = sequence->draw(sampler);
        if (model.tokenizer.is_end(token)) {
            break;
        }
        show(stream.push(model.tokenizer.text_of(token)));
        if (stream.stopped() || sequence->position() == sequence->length()) {
            break;
        }
        sequence->feed(&token, 1);
        token = -1;
    }
    show(stream.finish());
    generating = false;
    if (options.report) {
        report("generation", count, now() - first);
    }
    return token;
}

// A vocabulary need not have a token for each text.
void require_some(const std::vector<int32_t> &tokens) {
    if (tokens.empty()) {
        throw std::runtime_error("a text without tokens has nothing that follows; give one");
    }
}

std::vector<int32_t> tokens_of_text(const Model &model, const std::string &text) {
    std::vector<int32_t> tokens;
    model.tokenizer.begin(&tokens);
    model.tokenizer.encode(text, true, &tokens);
    require_some(tokens);
    return tokens;
}

}  // namespace

void end_generations_by_signal() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
}

void continue_text(Sequence *sequence, Sampler *sampler, const Model &model, const std::string &text, const GenerateOptions &options) {
    const std::vector<int32_t> tokens = tokens_of_text(model, text);
    generate(sequence, sampler, model, tokens, options);
    show("\n");
}

void continue_together(const Model &model, const std::vector<std::string> &texts, bool chat, int context, const Precision &precision,
                       const Sampler &sampler, const GenerateOptions &options) {
    struct Answer {
        std::unique_ptr<Sequence> sequence;
        Sampler sampler;
        TextStream stream;
        std::vector<int32_t> tokens;  // to be fed
        std::string text;
        int count = 0;
    };
    std::vector<Answer> answers;
    for (const std::string &text : texts) {
        std::vector<int32_t> tokens;
        if (chat) {
            ChatFormat format(model.file, model.tokenizer);
            tokens = format.begin(options.system);
            const std::vector<int32_t> asked = format.question(text);
            tokens.insert(tokens.end(), asked.begin(), asked.end());
            require_some(tokens);
        } else {
            tokens = tokens_of_text(model, text);
        }
        answers.push_back({make_sequence(model, context, precision), sampler, TextStream(options.stops), tokens, "", 0});
    }
    interrupted = false;
    generating = true;
    const double begin = now();
    int count = 0;
    for (bool more = true; more && !interrupted;) {
        std::vector<Feed> feeds;
        for (Answer &a : answers) {
            if (!a.tokens.empty()) {
                feeds.push_back({a.sequence.get(), a.tokens.data(), int(a.tokens.size())});
            }
        }
        more = !feeds.empty();
        feed_together(feeds);
        for (Answer &a : answers) {
            if (a.tokens.empty()) {
                continue;
            }
            a.tokens.clear();
            const int32_t token = a.sequence->draw(&a.sampler);
            if (model.tokenizer.is_end(token)) {
                continue;
            }
            a.text += a.stream.push(model.tokenizer.text_of(token));
            a.count++;
            count++;
            if (!a.stream.stopped() && a.sequence->position() < a.sequence->length() && (options.most == 0 || a.count < options.most)) {
                a.tokens.push_back(token);
            }
        }
    }
    generating = false;
    for (size_t i = 0; i < texts.size(); i++) {
        show(fmt::format("[{}]\n{}{}\n", texts[i], answers[i].text, answers[i].stream.finish()));
    }
    if (options.report) {
        report("prompts and generation", count, now() - begin);
    }
}

void converse(Sequence *sequence, Sampler *sampler, const Model &model, const std::string *question, const GenerateOptions &options) {
    ChatFormat format(model.file, model.tokenizer);
    std::vector<int32_t> tokens = format.begin(options.system);
    const bool terminal = isatty(STDIN_FILENO) != 0;
    std::string line;
    for (bool more = true; more; more = question == nullptr) {
        if (question) {
            line = *question;
        } else {
            if (terminal) {
                show("> ");
            }
            if (!halyard_apps::read_line(std::cin, &line)) {
                break;
            }
            if (line.empty()) {
                continue;
            }
        }
        const std::vector<int32_t> asked = format.question(line);
        tokens.insert(tokens.end(), asked.begin(), asked.end());
        require_some(tokens);
        const int32_t last = generate(sequence, sampler, model, tokens, options);
        tokens = format.after_answer(last);
        show(terminal && !question ? "\n\n" : "\n");
    }
}

}  // namespace halyard_llm
