// The manual page: made of the table of --help, and right in the eyes of programs that read such pages.

#include <regex>

#include <catch2/catch.hpp>

#include "support.h"

namespace {

bool is_there(const std::string &program) {
    return halyard::run_process({"/bin/sh", "-c", "command -v " + program}).exit_code == 0;
}

}  // namespace

TEST_CASE("The manual has every subcommand and every option", "[man]") {
    const ProcessResult r = run({"man"});
    REQUIRE(r.exit_code == 0);
    CHECK(contains(r.out, ".TH HALYARD 1 "));
    std::string plain = std::regex_replace(r.out, std::regex("\\\\-"), "-");
    for (const std::string subcommand : {"list", "build", "show", "check", "bench", "explain", "explore", "doctor", "db", "completion"}) {
        CHECK(contains(plain, "\n.SS halyard " + subcommand + "\n"));
        const std::string help = run({subcommand, "--help"}).out;
        const std::regex option("\n  (?:-\\w, )?(--[a-z-]+)");
        for (std::sregex_iterator i(help.begin(), help.end(), option), end; i != end; ++i) {
            INFO(subcommand << " " << (*i)[1]);
            CHECK(contains(plain, "\\fB" + (*i)[1].str() + "\\fR"));
        }
    }
    CHECK(contains(plain, "\n.SS halyard db import\n"));
    CHECK_FALSE(contains(plain, "halyard finish"));
    for (const std::string section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"}) {
        CHECK(contains(plain, "\n.SH " + section + "\n"));
    }
    // A line of text that begins with a dot or a quote would be a request.
    const std::regex request("\n[.'](?!TH |SH |SS |PP\n|TP\n|RS 4\n|RE\n|nf\n|fi\n|br\n)");
    CHECK_FALSE(std::regex_search(plain, request));
}

TEST_CASE("mandoc and groff read the manual without a word", "[man]") {
    const Folder folder;
    write_file(folder / "halyard.1", run({"man"}).out);
    if (is_there("mandoc")) {
        const ProcessResult r = halyard::run_process({"mandoc", "-T", "lint", "-W", "warning", folder / "halyard.1"});
        CHECK(halyard::split(r.out, '\n').size() <= 1);  // that it has no date, on purpose
        CHECK((r.out.empty() || contains(r.out, "missing date")));
    } else {
        WARN("skipped: no mandoc is installed (third_party/packages.txt)");
    }
    if (is_there("groff")) {
        const ProcessResult r = halyard::run_process({"groff", "-man", "-Tutf8", "-ww", folder / "halyard.1"});
        CHECK(r.err == "");
        CHECK(contains(r.out, "sse41, avx2"));
    }
}
