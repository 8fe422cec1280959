// halyard completion: what may stand where the tab key is pressed, in the command and in the shells that ask it.

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "support.h"

namespace {

// The words that are offered for a command line that ends at the cursor.
std::set<std::string> offered(Arguments words) {
    words.insert(words.begin(), "--complete");
    const ProcessResult r = run(words);
    CHECK(r.exit_code == 0);
    CHECK(r.err == "");
    std::set<std::string> found;
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);) {
        const size_t tab = line.find('\t');
        REQUIRE(tab != std::string::npos);
        found.insert(tab == 0 ? line : line.substr(0, tab));
    }
    return found;
}

using Words = std::set<std::string>;

bool has(const Words &words, const Words &wanted) {
    return std::includes(words.begin(), words.end(), wanted.begin(), wanted.end());
}

bool is_installed(const std::string &program) {
    return halyard::run_process({"/bin/sh", "-c", "command -v " + program}).exit_code == 0;
}

// `program` with the command in PATH, in a folder with two files and a folder.
std::string in_shell(const Folder &folder, const Arguments &program) {
    std::filesystem::create_directory(folder / "somewhere");
    write_file(folder / "mine.lua", "");
    write_file(folder / "mine.txt", "");
    std::filesystem::create_directory(folder / "bin");
    std::filesystem::create_symlink(HALYARD_COMMAND, folder / "bin/halyard");
    const ProcessResult r = halyard::run_process(
        {"/bin/sh", "-c", "cd \"$folder\" && PATH=$folder/bin:$PATH exec \"$@\"", "sh", program.at(0), program.at(1), program.at(2)},
        {100, {"folder=" + folder.path(), "HOME=" + folder.path(), "XDG_CONFIG_HOME=" + folder.path()}});
    INFO(r.err);
    CHECK(r.exit_code == 0);
    return r.out;
}

}  // namespace

TEST_CASE("Subcommands, options and their values are completed", "[completion]") {
    CHECK(offered({"bu"}) == Words{"build"});
    CHECK(has(offered({""}), {"list", "build", "explore", "db", "completion"}));
    CHECK_FALSE(has(offered({""}), {"finish"}));  // not for people
    CHECK(offered({"db", "im"}) == Words{"import"});
    CHECK(has(offered({"build", ""}), {"rms_norm", "softmax", "gemm"}));
    CHECK(has(offered({"bench", "gemm", ""}), {"rms_norm"}));  // several ops
    CHECK(offered({"build", "gemm", ""}).empty());
    CHECK(offered({"build", "--sch"}) == Words{"--schedule"});
    CHECK(offered({"build", "rms_norm", "--schedule", "un"}) == Words{"unfused", "\tfiles .lua"});
    CHECK(has(offered({"explore", "gemm", "--target", "cuda", "--schedule", ""}), {"gemm", "skinny", "tf32"}));
    CHECK(offered({"build", "gemm", "--param", "weights="}) == Words{"weights=kn", "weights=nk", "weights=packed"});
    CHECK(offered({"build", "gemm", "--param=ty"}) == Words{"--param=type="});
    CHECK(offered({"build", "rms_norm", "--set", "rows="}) == Words{"rows=1", "rows=4", "rows=8", "rows=16"});
    CHECK(offered({"build", "--target", "avx512_z"}) == Words{"avx512_zen4", "avx512_zen5"});
    CHECK(has(offered({"build", "--target", "avx512,"}), {"avx512,avx2"}));
    CHECK_FALSE(has(offered({"build", "--target", "avx512,"}), {"avx512,avx512"}));
    CHECK(has(offered({"bench", "rms_norm", "--shape", "rows=3,"}), {"rows=3,cols="}));
    CHECK(offered({"build", "--output", ""}) == Words{"\tfolders"});
    CHECK(offered({"completion", ""}) == Words{"bash", "zsh", "fish"});
}

TEST_CASE("Where nothing can be known nothing is offered, and nothing said", "[completion]") {
    CHECK(offered({"build", "no_such_op", "--param", ""}).empty());
    CHECK(offered({"build", "rms_norm", "--schedule", "nowhere.lua", "--set", ""}).empty());
    CHECK(offered({"no_such_command", "--"}) == Words{"--help", "--version"});
    CHECK(offered({"build", "--threads", ""}).empty());
    // A generator of somebody else's is not started for a key.
    CHECK(offered({"build", "rms_norm", "--generator", "x", "--param", ""}).empty());
}

TEST_CASE("Every option of --help is offered", "[completion]") {
    for (const std::string subcommand : {"list", "build", "show", "check", "bench", "explain", "explore", "library", "doctor"}) {
        const std::string help = run({subcommand, "--help"}).out;
        for (const auto &option : offered({subcommand, "--"})) {
            INFO(subcommand << " " << option);
            CHECK(contains(help, option));
        }
        CHECK(offered({subcommand, "--"}).size() == count(help, "\n  -"));
    }
}

TEST_CASE("bash completes by it", "[completion]") {
    const Folder folder;
    const std::string script = "source <(halyard completion bash)\n"
                               "compopt() { echo \"compopt $*\"; }\n"
                               "try() { COMP_LINE=$1 COMP_POINT=${#1}; shift; COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)); _halyard\n"
                               "    echo \"${COMPREPLY[*]}\"; }\n"
                               "try 'halyard bu' halyard bu\n"
                               "try 'halyard build gemm --param weights=p' halyard build gemm --param weights = p\n"
                               "try 'halyard build gemm --param=wei' halyard build gemm --param = wei\n"
                               "try 'halyard build rms_norm --schedule mi' halyard build rms_norm --schedule mi\n"
                               "try 'halyard build -o some' halyard build -o some\n";
    CHECK(in_shell(folder, {"bash", "-c", script}) == "build\n"
                                                      "packed\n"
                                                      "compopt -o nospace\nweights=\n"
                                                      "compopt -o filenames\nmine.lua\n"
                                                      "compopt -o filenames\nsomewhere\n");
}

TEST_CASE("fish completes by it", "[completion]") {
    if (!is_installed("fish")) {
        WARN("skipped: no fish is installed (third_party/packages.txt)");
        return;
    }
    const Folder folder;
    const std::string script = "halyard completion fish | source\n"
                               "complete -C 'halyard build rms_norm --schedule unf'\n"
                               "complete -C 'halyard build gemm --param weights=p'\n"
                               "complete -C 'halyard build -o some'\n"
                               "complete -C 'halyard check min'";
    const std::string text = in_shell(folder, {"fish", "-c", script});
    CHECK(contains(text, "unfused\t"));
    CHECK(contains(text, "\nweights=packed"));
    CHECK(contains(text, "\nsomewhere/"));
    CHECK(contains(text, "\nmine.lua"));
}

TEST_CASE("zsh completes by it", "[completion]") {
    if (!is_installed("zsh")) {
        WARN("skipped: no zsh is installed (third_party/packages.txt)");
        return;
    }
    const Folder folder;
    // A zsh of its own on a pseudo-terminal, to which keys are sent. Control-T writes down what the line has become.
    const std::string script = "zmodload zsh/zpty; zpty z zsh -f -i\n"
                               "zpty -w z 'autoload -Uz compinit; compinit -u -D; source <(halyard completion zsh)'\n"
                               "zpty -w z 'down() { print -r -- \"$BUFFER\" >>lines }; zle -N down; bindkey \"^T\" down'\n"
                               // Before the line is being edited Control-U is the terminal's.
                               "zpty -w z 'ready() { touch ready }; zle -N zle-line-init ready'\n"
                               "wait_for() { repeat 200; do zpty -r -t z REPLY 2>/dev/null; eval \"$1\" && return; sleep 0.05; done; }\n"
                               "wait_for '[[ -e ready ]]'\n"
                               "type_in() { zpty -w -n z $1$'\\t\\x14\\x15'; wait_for \"[[ -e lines && \\$(wc -l <lines) -eq $2 ]]\"; }\n"
                               "type_in 'halyard build rms_norm --schedule unf' 1\n"
                               "type_in 'halyard build --target avx512_sap' 2\n"
                               "type_in 'halyard build gemm --param=wei' 3\n"
                               "type_in 'halyard check mine.l' 4\n"
                               "zpty -d z; cat lines";
    CHECK(in_shell(folder, {"zsh", "-fc", script}) == "halyard build rms_norm --schedule unfused \n"
                                                      "halyard build --target avx512_sapphirerapids \n"
                                                      "halyard build gemm --param=weights=\n"
                                                      "halyard check mine.lua \n");
}

TEST_CASE("A shell that is not known", "[completion]") {
    const ProcessResult r = run({"completion", "fihs"});
    CHECK(r.exit_code == 2);
    CHECK(contains(r.err, "did you mean \"fish\"?"));
}
