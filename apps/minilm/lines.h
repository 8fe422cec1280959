#ifndef MINILM_LINES_H
#define MINILM_LINES_H

/** \file
 * Sentences, one a line, from a file or from standard input.
 */

#include <fstream>
#include <istream>
#include <string>
#include <utility>

namespace minilm {

class LineReader {
public:
    /** Bytes of a line that are read; the rest of it is passed over, so that no input needs more memory. */
    static constexpr size_t max_bytes = 1 << 20;

    /** "-" is standard input. Throws std::runtime_error if the file cannot be opened. */
    explicit LineReader(const std::string &path);

    /** Of a stream that outlives it; errors call it by the name. */
    LineReader(std::istream *input, std::string name) : path_(std::move(name)), input_(input) {}

    /** The next line without its end (LF or CRLF); false after the last one. Throws std::runtime_error if reading
     * fails. was_cut() is whether it had over max_bytes. */
    bool next(std::string *line);
    bool was_cut() const {
        return was_cut_;
    }

private:
    std::string path_;
    std::ifstream file_;
    std::istream *input_;
    bool was_cut_ = false;
};

}  // namespace minilm

#endif
