// Archives: what comes out is one that the binutils read.

#include <catch2/catch.hpp>

#include <fstream>

#include "lowering/host/archive.h"
#include "tests/language/support.h"

using halyard::Archive;

namespace {

void write(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("a member is replaced, and the symbols are found where they went", "[archive]") {
    const TempDir dir;
    const std::string a = dir.path() + "/a.a", long_name = "a_name_longer_than_sixteen-x86.o";
    write(dir.path() + "/f.c", "int f(void) { return 1; }\n");
    write(dir.path() + "/g.c", "int g(void) { return 2; }\n");
    write(dir.path() + "/f2.c", "int f(void) { return 3; } static char pad[1001] = {1}; char *p(void) { return pad; }\n");
    for (const char *name : {"f", "g", "f2"}) {
        const std::string base = dir.path() + "/" + name;
        REQUIRE(run_program({HALYARD_C_COMPILER, "-c", base + ".c", "-o", base + ".o"}).exit_code == 0);
    }
    write(dir.path() + "/" + long_name, read_file(dir.path() + "/f.o"));
    REQUIRE(run_program({HALYARD_AR, "qcD", a, dir.path() + "/" + long_name, dir.path() + "/g.o"}).exit_code == 0);

    Archive archive(read_file(a));
    CHECK(archive.names() == std::vector<std::string>{long_name, "g.o"});
    CHECK(archive.bytes() == read_file(a));
    CHECK_THROWS_WITH(archive.replace("h.o", ""), "has no member h.o");

    archive.replace(long_name, read_file(dir.path() + "/f2.o"));
    write(a, archive.bytes());
    write(dir.path() + "/main.c", "int f(void); int g(void); int main(void) { return 10 * f() + g(); }\n");
    REQUIRE(run_program({HALYARD_C_COMPILER, dir.path() + "/main.c", a, "-o", dir.path() + "/main"}).exit_code == 0);
    CHECK(run_program({dir.path() + "/main"}).exit_code == 32);
    const Finished symbols = run_program({HALYARD_NM, "-s", a});
    CHECK(symbols.out.find("g in g.o") != std::string::npos);
}

TEST_CASE("members that were empty get their symbols with their contents", "[archive]") {
    const TempDir dir;
    const std::string a = dir.path() + "/a.a", full = dir.path() + "/full.a", long_name = "a_name_longer_than_sixteen-x86.o";
    const std::string first = dir.path() + "/" + long_name, second = dir.path() + "/g.o";
    write(dir.path() + "/f.c", "int f(void) { return 1; } static int own; int *fourth(void) { return &own; }\n");
    write(dir.path() + "/g.c", "int f(void); int g(void) { return 2 + f(); }\n");
    write(first, "");
    write(second, "");
    REQUIRE(run_program({HALYARD_AR, "qcD", a, first, second}).exit_code == 0);
    REQUIRE(run_program({HALYARD_C_COMPILER, "-c", dir.path() + "/f.c", "-o", first}).exit_code == 0);
    REQUIRE(run_program({HALYARD_C_COMPILER, "-c", dir.path() + "/g.c", "-o", second}).exit_code == 0);
    REQUIRE(run_program({HALYARD_AR, "qcD", full, first, second}).exit_code == 0);

    Archive archive(read_file(a));
    archive.replace(long_name, read_file(first));
    archive.replace("g.o", read_file(second));
    archive.set_symbols({{"f", "fourth"}, {"g"}});
    CHECK((archive.bytes() == read_file(full)));
    archive.set_symbols({{"f", "fourth"}, {"g"}});
    CHECK((archive.bytes() == read_file(full)));
    archive.set_symbols({{}, {}});
    write(a, archive.bytes());
    CHECK(run_program({HALYARD_NM, "-s", a}).out.find("f in") == std::string::npos);
}

TEST_CASE("what is no archive is said to be none", "[archive]") {
    CHECK_THROWS_WITH(Archive(""), "is not a static library");
    CHECK_THROWS_WITH(Archive("!<thin>\n"), "is not a static library");
    CHECK_THROWS_WITH(Archive("!<arch>\nf.o/"), "is a static library cut short");
    CHECK_THROWS_WITH(Archive("!<arch>\n" + std::string(48, ' ') + "99        `\nabc"), "is a static library cut short");
}
