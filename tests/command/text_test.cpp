// Strings and whole files.

#include <catch2/catch.hpp>

#include "kernel/failure.h"
#include "support.h"
#include "kernel/text.h"

using namespace halyard;

TEST_CASE("Splitting and fitting", "[text]") {
    CHECK(split(" a, b ,,c", ',') == std::vector<std::string>{"a", "b", "c"});
    CHECK(split("", ',').empty());
    CHECK(trim(" \t a b\n") == "a b");
    CHECK(fit("abc", 5) == "abc  ");
    CHECK(fit("abcdef", 4) == "abc…");
    CHECK(fit("äöüß", 4) == "äöüß");
    CHECK(fit("äöüßx", 4) == "äöü…");  // no code point is cut in two
    CHECK(columns("äöü…") == 4);
    CHECK(fit("abc", 0) == "");
}

TEST_CASE("Files, byte by byte", "[text]") {
    const Folder folder;
    const std::string bytes("a\0\r\nb", 5);
    write_file(folder / "file", bytes);
    CHECK(read_file(folder / "file") == bytes);
    write_file(folder / "file", "");
    CHECK(read_file(folder / "file") == "");
    CHECK_THROWS_AS(read_file(folder / "nowhere"), Failure);
    CHECK_THROWS_AS(read_file(folder.path()), Failure);
    CHECK_THROWS_AS(write_file("/dev/full", "x"), Failure);
    CHECK_THROWS_AS(write_file(folder / "no/where", "x"), Failure);
}

TEST_CASE("A hash of parts is not one of their concatenation", "[text]") {
    CHECK(Hash().add("ab").add("c").hex() != Hash().add("a").add("bc").hex());
    CHECK(Hash().add("ab").hex() == Hash().add("ab").hex());
    CHECK(Hash().hex().size() == 32);
    // Of a file, eight bytes a step: each byte counts, those of an unfinished step and their number too.
    const std::string file = "a file of 21 bytes...";
    for (size_t i = 0; i < file.size(); i++) {
        std::string changed = file;
        changed[i] ^= 1;
        CHECK(Hash().add_bytes(changed).hex() != Hash().add_bytes(file).hex());
        CHECK(Hash().add_bytes(file.substr(0, i)).hex() != Hash().add_bytes(file).hex());
    }
    CHECK(Hash().add_bytes(file + std::string(1, '\0')).hex() != Hash().add_bytes(file).hex());
}
