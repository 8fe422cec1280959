#ifndef MINILM_LINES_H
#define MINILM_LINES_H

/** \file
 * Sentences, one a line, from a file or from standard input.
 */

#include <fstream>
#include <istream>
#include <string>

namespace minilm {

class LineReader {
public:
    /** "-" is standard input. Throws std::runtime_error if the file cannot be opened. */
    explicit LineReader(const std::string &path);

    /** The next line without its end (LF or CRLF); false after the last one.
     * Throws std::runtime_error if reading fails. */
    bool next(std::string *line);

private:
    std::string path_;
    std::ifstream file_;
    std::istream *input_;
};

}  // namespace minilm

#endif
