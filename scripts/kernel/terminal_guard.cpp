#include "kernel/terminal_guard.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>

#include <fmt/format.h>
#include <unistd.h>

namespace halyard {

namespace {

bool guarded = false;

// Begins and ends a sequence of our own. Nobody who writes a script knows it.
const std::string &mark() {
    static const std::string made = [] {
        std::random_device random;
        return fmt::format("\x1b<{:08x}{:08x}>", random(), random());
    }();
    return made;
}

// The length of the UTF-8 character that begins there; 1 for a byte that begins none.
size_t length_at(const std::string &text, size_t at) {
    const auto c = static_cast<unsigned char>(text[at]);
    const size_t length = c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
    for (size_t i = 1; i < length; i++) {
        if (at + i >= text.size() || (static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) {
            return 1;
        }
    }
    return c < 0xf8 ? length : 1;
}

unsigned code_point(const std::string &text, size_t at, size_t length) {
    const auto byte = [&](size_t i) { return unsigned(static_cast<unsigned char>(text[at + i])); };
    switch (length) {
    case 2: return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    case 3: return (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    case 4: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    default: return byte(0);
    }
}

// What takes no room: two names that differ by it look the same, and a text may be hidden in it.
bool is_invisible(unsigned c) {
    return c == 0xad || c == 0x115f || c == 0x1160 || c == 0x180e || (c >= 0x200b && c <= 0x200d) || (c >= 0x2060 && c <= 0x206f) ||
           c == 0x3164 || c == 0xfeff || c == 0xffa0 || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

// Control characters of either kind, lone bytes, and what turns the order of what is read.
bool controls(unsigned c, size_t length) {
    return (c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || (length == 1 && c >= 0x80) || c == 0x61c || c == 0x200e ||
           c == 0x200f || (c >= 0x2028 && c <= 0x202e) || is_invisible(c);
}

struct Stream {
    int fd;
    std::string pending;  // of which the rest has not come
};

// Where the end of the text may be half of a mark or of a character.
size_t whole(const std::string &text) {
    const size_t escape = text.rfind('\x1b');
    if (escape != std::string::npos && text.size() - escape < mark().size() && mark().compare(0, text.size() - escape, text, escape) == 0) {
        return escape;
    }
    size_t last = text.size();
    while (last > 0 && text.size() - last < 3 && (static_cast<unsigned char>(text[last - 1]) & 0xc0) == 0x80) {
        last--;
    }
    const unsigned lead = last > 0 ? static_cast<unsigned char>(text[last - 1]) : 0;
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    return length > text.size() - last + 1 ? last - 1 : text.size();
}

// Sequences of our own between marks, everything else made visible. What is not whole yet stays in `text`.
std::string guarded_text(std::string &text) {
    std::string result;
    size_t at = 0;
    for (const size_t end_of_text = whole(text); at < end_of_text;) {
        const size_t begin = text.find(mark(), at);
        result += visible(text.substr(at, std::min(begin, end_of_text) - at));
        if (begin == std::string::npos) {
            at = end_of_text;
            break;
        }
        const size_t from = begin + mark().size(), end = text.find(mark(), from);
        if (end == std::string::npos) {
            at = begin;
            break;
        }
        result += text.substr(from, end - from);
        at = end + mark().size();
    }
    text.erase(0, at);
    return result;
}

ssize_t write_guarded(void *cookie, const char *data, size_t size) {
    auto &stream = *static_cast<Stream *>(cookie);
    stream.pending.append(data, size);
    const std::string text = guarded_text(stream.pending);
    for (size_t done = 0; done < text.size();) {
        const ssize_t n = write(stream.fd, text.data() + done, text.size() - done);
        if (n < 0 && errno != EINTR) {
            return 0;  // as the C library wants it: an error
        }
        done += n > 0 ? size_t(n) : 0;
    }
    return ssize_t(size);
}

// Whole lines, as a terminal gets them.
FILE *guard(FILE *stream) {
    const int fd = fileno(stream);
    if (!isatty(fd)) {
        return stream;
    }
    std::fflush(stream);
    cookie_io_functions_t functions = {};
    functions.write = write_guarded;
    auto *const own = new Stream{fd, ""};  // used until the process ends
    FILE *const guarded_stream = fopencookie(own, "w", functions);
    if (!guarded_stream) {
        return stream;
    }
    std::setvbuf(guarded_stream, nullptr, _IOLBF, size_t(1) << 16);
    guarded = true;
    return guarded_stream;
}

}  // namespace

void guard_terminal() {
    stdout = guard(stdout);
    stderr = guard(stderr);
}

std::string own_control(const std::string &sequence) {
    return guarded ? mark() + sequence + mark() : sequence;
}

std::string as_on_terminal(std::string text) {
    return guarded_text(text);
}

std::string visible(const std::string &text) {
    std::string result;
    for (size_t at = 0; at < text.size();) {
        const size_t length = length_at(text, at);
        const unsigned c = code_point(text, at, length);
        result += !controls(c, length) ? text.substr(at, length) : c < 0x100 ? fmt::format("\\x{:02x}", c) : fmt::format("\\u{:04x}", c);
        at += length;
    }
    return result;
}

}  // namespace halyard
