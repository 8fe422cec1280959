#ifndef HALYARD_ARCHIVE_H
#define HALYARD_ARCHIVE_H

/** \file
 * A static library as Halide writes it (System V format), of which members are replaced.
 */

#include <string>
#include <vector>

namespace halyard {

class Archive {
public:
    /** Throws std::runtime_error where the bytes are no such archive. */
    explicit Archive(const std::string &bytes);

    std::vector<std::string> names() const;

    /** What the members hold, in the order of names(). */
    std::vector<std::string> objects() const;

    /** Replaces the contents of a member. Where it defines other symbols, set_symbols() comes next. Throws
     * std::runtime_error where there is no member of the name. */
    void replace(const std::string &name, std::string contents);

    /** The table of symbols anew: what each member defines, in the order of names(). */
    void set_symbols(const std::vector<std::vector<std::string>> &of_members);

    std::string bytes() const;

private:
    struct Member {
        std::string header;  // 60 bytes as they stand in the file, but for the size
        std::string name;    // "" for the symbol table and the table of long names
        std::string contents;
        size_t offset;  // of its header in the file it was read from
    };
    std::vector<Member> members_;
};

}  // namespace halyard

#endif
