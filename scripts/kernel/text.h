#ifndef HALYARD_COMMAND_TEXT_H
#define HALYARD_COMMAND_TEXT_H

/** \file
 * Small helpers for strings and for whole files.
 */

#include <cstdint>
#include <string>
#include <vector>

namespace halyard {

/** The items between separators, without surrounding blanks; empty items are dropped. */
std::vector<std::string> split(const std::string &text, char separator);

std::string join(const std::vector<std::string> &items, const std::string &separator);

std::string trim(const std::string &text);

bool starts_with(const std::string &text, const std::string &prefix);
bool ends_with(const std::string &text, const std::string &suffix);

/** Number of code points, which is how many columns a terminal shows for the texts used here. */
size_t columns(const std::string &text);

/** The text cut or filled with blanks to `width` columns; a cut text ends with an ellipsis. */
std::string fit(const std::string &text, size_t width);

/** The bytes of a file, which may be a pipe on which somebody still writes. Throws Failure where it cannot be read or has more than
 * `most` bytes, Interrupted where a signal comes first. */
std::string read_file(const std::string &path, size_t most = size_t(1) << 30);

/** All of standard input, likewise. */
std::string read_standard_input();

/** At most `most` bytes of a regular file, and not more than it says that it has: it never waits for any, as files of /proc may.
 * "" for what is no such file. */
std::string beginning_of_file(const std::string &path, size_t most);

/** Throws Failure where the file cannot be written to its last byte; `name` is what the message calls it, if not by its path. */
void write_file(const std::string &path, const std::string &content, const std::string &name = "");

/** 128 bits of FNV-1a in hex: the name of a cache entry. */
class Hash {
public:
    Hash &add(const std::string &text);
    /** The bytes of a file, eight in a step: another hash than add() of them, and quicker. */
    Hash &add_bytes(const std::string &bytes);
    std::string hex() const;

private:
    void step(uint64_t word);

    unsigned __int128 state_ = (static_cast<unsigned __int128>(0x6c62272e07bb0142) << 64) | 0x62b821756295c58d;
};

}  // namespace halyard

#endif
