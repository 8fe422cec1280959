// What the command says of a command line: help, and the nearest name for what it does not know.

#include <catch2/catch.hpp>

#include "support.h"

namespace {

const Arguments kSubcommands = {"list",    "build",   "compile", "library", "show",       "check", "bench",
                                "explain", "explore", "doctor",  "version", "completion", "man"};

struct Mistake {
    Arguments arguments;
    int exit_code;
    std::string hint;  // what the message must have in it
};

// 2: the command line is wrong. 1: the script or the generator, asked, says no.
const std::vector<Mistake> kMistakes = {
    {{"biuld"}, 2, "did you mean \"build\"?"},
    {{"--verson"}, 2, "did you mean \"--version\"?"},
    {{"build", "rms_norm", "--ouptut", "x"}, 2, "did you mean \"--output\"?"},
    {{"show", "rms_norm", "--stepp"}, 2, "did you mean \"--step\"?"},
    {{"check", "rms_norm", "--tarlet=avx2"}, 2, "did you mean \"--target\"?"},
    {{"bench", "rms_norm", "--thread", "1"}, 2, "did you mean \"--threads\"?"},
    {{"list", "--jsno"}, 2, "did you mean \"--json\"?"},
    {{"doctor", "--jsno"}, 2, "did you mean \"--json\"?"},
    {{"build", "rms_nrom"}, 2, "did you mean \"rms_norm\"?"},
    {{"show", "rms_nrom"}, 2, "did you mean \"rms_norm\"?"},
    {{"check", "rms_nrom"}, 2, "did you mean \"rms_norm\"?"},
    {{"bench", "rms_norm", "sotfmax"}, 2, "did you mean \"softmax\"?"},
    {{"build", "rms_norm", "--schedule", "unfsed"}, 2, "did you mean \"unfused\"?"},
    {{"build", "rms_norm", "--target", "avx3"}, 2, "did you mean \"avx2\"?"},
    {{"build", "rms_norm", "--emit", "stmtt"}, 2, "did you mean \"stmt\"?"},
    {{"build", "rms_norm", "--target", "avx512,avx2", "--emit", "static_library,object"},
     2,
     "error: --emit static_library,object is for one target: of several, object is a file for each, and static_library one of all; take "
     "one "
     "of them, or name one --target"},
    {{"build", "rms_norm", "--target", "cuda", "--emit", "pytorch_wrapper"}, 2, "error: --emit pytorch_wrapper is for processors"},
    {{"build", "rms_norm", "--target", "cuda", "--emit", "stmt,device_code"},
     2,
     "--emit device_code writes nothing for CUDA; take --emit cuda"},
    {{"build", "rms_norm", "--target", "host", "--emit", "device_code"},
     2,
     "--emit device_code writes nothing for a processor; leave it out"},
    {{"build", "rms_norm", "--target", "host", "--emit", "cuda"}, 2, "--emit cuda is for CUDA; add --target cuda"},
    {{"bench", "rms_norm", "--shape", "row=3,cols=2"}, 2, "did you mean \"rows\"?"},
    {{"build", "rms_norm", "--set", "row=4"}, 1, "did you mean \"rows\"?"},
    {{"build", "rms_norm", "--param", "tpye=float16"}, 1, "did you mean \"type\"?"},
    {{"build", "rms_norm", "--param", "type=flaot16"}, 1, "did you mean \"float16\"?"},
    {{"build", "rms_norm", "--set", "rows=5"}, 1, "\"1\", \"4\", \"8\", \"16\""},
    {{"build", "rms_norm", "--fact", "l9=1M"}, 1, "\"l1\", \"l2\", \"l3\", \"multiprocessors\", \"processors\""},
    {{"build", "rms_norm", "--schedule", "nowhere.lua"}, 1, "nowhere.lua: error: there is no such file"},
    {{"build", "rms_norm", "--target", "x86-64-linux-avx9"}, 1, "x86-64-linux-avx9"},
    {{"build", "rms_norm", "--target", "-1"}, 2, "there is no target \"-1\""},
    {{"show", "rms_norm", "--target", "rows=-1,cols=5"}, 2, "there is no target \"rows=-1\""},
    {{"bench", "rms_norm", "--target", "avx2-=x"}, 2, "there is no target \"avx2-=x\""},
    {{"build", "a=b", "--name", "f", "--generator", HALYARD_GENERATORS}, 2, "\"a=b\" is not the name of a generator"},
    {{"explore", "--generator", HALYARD_GENERATORS, "--", "-x"}, 2, "\"-x\" is not the name of a generator"},
    {{"build", "rms_norm", "--depfile", ""}, 2, "--depfile: the name is empty"},
    {{"explain", "rms_norm", "--html", ""}, 2, "--html: the name is empty"},
    {{"explore", "rms_norm", "--report", ""}, 2, "--report: the name is empty"},
    {{"explore", "rms_norm", "--export", ""}, 2, "--export: the name is empty"},
    {{"db", "export", "-o", ""}, 2, "--output: the name is empty"},
    {{"db", "import", "x", "--db", ""}, 2, "--db: the name is empty"},
    {{"build"}, 2, "OP is required: the op, as `halyard list` names it"},
    // The misspelt option, and not what it left missing.
    {{"build", "--shcedule", "x"}, 2, "did you mean \"--schedule\"?"},
    {{"build", "--shcedule=x"}, 2, "did you mean \"--schedule\"?"},
    {{"build", "--threads", "x", "--shcedule=x"}, 2, "did you mean \"--schedule\"?"},
    {{"db", "show", "--jsno"}, 2, "did you mean \"--json\"?"},
    {{"db", "imprt"}, 2, "did you mean \"import\"?"},
    {{"db"}, 2, "halyard db needs a subcommand: \"list\""},
    {{"build", "rms_norm", "softmax"}, 2, "takes no argument \"softmax\""},
    {{"build", "rms_norm", "--set", "rows"}, 2, "--set name=value"},
    {{"build", "rms_norm", "--name", "rms-norm"}, 2, "not the name of a C function"},
    {{"build", "rms_norm", "--timeout", "soon"}, 2, "--timeout"},
    {{"build", "rms_norm", "--timeout", "-1"}, 2, "--timeout"},
    {{"bench", "rms_norm", "--shape", "rows=3"}, 2, "lacks cols"},
    {{"bench", "rms_norm", "--threads", "0"}, 2, "--threads"},
    // What would be left out without a word.
    {{"build", "rms_norm", "--target", "cuda-sm_90a", "--devices", "sm_80"},
     2,
     "--target cuda-sm_90a and --devices sm_80 are different devices; leave one of them out"},
    {{"compile", "x.onnx", "--target", "cuda-sm_90a", "--devices", "sm_80"}, 2, "are different devices"},
    {{"explain", "rms_norm", "--target", "cuda-sm_90a", "--devices", "sm_80"}, 2, "are different devices"},
    {{"explore", "rms_norm", "--target", "cuda-sm_90a", "--devices", "sm_80", "--export", "x"}, 2, "are different devices"},
    {{"build", "rms_norm", "--target", "cuda-sm_80,cuda-sm_90a"}, 2, "are of one target, as cuda-sm_80-sm_90a"},
    {{"explore", "rms_norm", "--devices", "sm_80"}, 2, "--devices is for CUDA"},
    {{"build", "rms_norm", "--constant", "weight"}, 2, "--constant is for CUDA"},
    {{"build", "rms_norm", "--target", "cuda", "--gpu", "H200"}, 2, "--gpu requires --shape"},
    {{"build", "rms_norm", "--shape", "rows=4,cols=8", "--gpu", "H200"}, 2, "--gpu is for CUDA"},
    {{"build", "rms_norm", "--shape", "rows=4,cols=8", "--threads", "2", "--no-db"}, 2, "--threads and --no-db do not go together"},
    {{"build", "rms_norm", "--shape", "rows=4,cols=8", "--threads", "2", "--schedule", "unfused"}, 2, "do not go together"},
    {{"build", "rms_norm", "--db", "x"}, 2, "--db: nothing here is looked up"},
    {{"check", "rms_norm", "--db", "x"}, 2, "--db: nothing here is looked up"},
    {{"library", "rms_norm", "--shape", "rows=4,cols=8"}, 2, "--shape says for which size --schedule best is meant"},
    {{"show", "rms_norm", "--target", "cuda", "--step", "--passes"}, 2, "do not go together"},
    {{"explain", "rms_norm", "--count", "--seconds", "3"}, 2, "do not go together"},
    {{"explain", "rms_norm", "--target", "cuda-sm_90a", "--fact", "l2=1M"}, 2, "--fact"},
    {{"explain", "x.json", "--set", "rows=4"}, 2, "has its schedule and its target"},
    {{"explore", "rms_norm", "--with", "a=b"}, 2, "--with requires --guess"},
    {{"explore", "rms_norm", "--candidates", "3"}, 2, "--candidates requires --export"},
    {{"explore", "rms_norm", "--compare", "rms_norm", "--until", "2"}, 2, "do not go together"},
    {{"explore", "rms_norm", "--fact", "l2=1M"}, 2, "--fact: candidates"},
    {{"explore", "rms_norm", "--set", "rows=4"}, 2, "--set is for the parameters of"},
    {{"explore", "rms_norm", "--gpu", "H200"}, 2, "--gpu is for CUDA"},
    {{"list", "--json", "--markdown"}, 2, "do not go together"},
    {{"db", "list", "--all", "--best", "3"}, 2, "do not go together"},
};

}  // namespace

TEST_CASE("--help of every subcommand", "[usage]") {
    for (const auto &name : kSubcommands) {
        const ProcessResult r = run({name, "--help"});
        INFO(name);
        CHECK(r.exit_code == 0);
        CHECK(r.err == "");
        CHECK(contains(r.out, "Usage: halyard " + name));
        CHECK(contains(r.out, "Example"));
        CHECK_FALSE(contains(r.out, "\nOptions:"));  // each option has a group
        const std::string options = r.out.substr(0, r.out.find("\nExamples:"));
        for (const auto &line : halyard::split(options, '\n')) {
            INFO(line);
            CHECK(halyard::columns(line) <= 80);
        }
    }
    const std::string build = run({"build", "--help"}).out;
    size_t last = 0;
    for (const std::string group : {"Arguments", "What is built", "Schedule", "Target", "Database", "Output", "Limits", "Help"}) {
        INFO(group);
        const size_t at = build.find("\n" + group + ":\n");
        CHECK(at != std::string::npos);
        CHECK(at > last);
        last = at;
    }
    CHECK(contains(run({"build", "--help"}, {"COLUMNS=60"}).out, "\n                          ~/.local"));
    const ProcessResult whole = run({"--help"});
    CHECK(whole.exit_code == 0);
    CHECK(whole.err == "");
    for (const auto &name : kSubcommands) {
        CHECK(contains(whole.out, "\n  " + name + " "));
    }
}

TEST_CASE("The version", "[usage]") {
    const ProcessResult option = run({"--version"}), subcommand = run({"version"});
    CHECK(option.exit_code == 0);
    CHECK(option.out == subcommand.out);
    CHECK(contains(option.out, "halyard 0."));
}

TEST_CASE("No arguments at all", "[usage]") {
    const ProcessResult r = run({});
    CHECK(r.exit_code == 2);
    CHECK(r.out == "");
    CHECK(contains(r.err, "Usage: halyard"));
}

TEST_CASE("A mistake on the command line names the nearest and leaves standard output empty", "[usage]") {
    const Folder folder;
    for (const auto &mistake : kMistakes) {
        Arguments arguments = mistake.arguments;
        if (arguments.front() == "build") {
            arguments.insert(arguments.end(), {"-o", folder / "out"});
        }
        const ProcessResult r = run(arguments);
        INFO(halyard::join(arguments, " ") << "\n" << r.err);
        CHECK(r.exit_code == mistake.exit_code);
        CHECK(r.out == "");
        CHECK(contains(r.err, "error: "));
        CHECK(contains(r.err, mistake.hint));
        CHECK(contains(r.err, "for help: halyard") == (mistake.exit_code == 2));
        // Every line has a place on a screen: no dump of a type's limits, of a usage text or of a stack.
        for (const auto &line : halyard::split(r.err, '\n')) {
            CHECK(line.size() < 600);
        }
        CHECK(halyard::split(r.err, '\n').size() <= 3);
    }
    // build -o is the only writer, and it must not have kept anything.
    for (const auto &name : names_in(folder.path())) {
        CHECK(names_in(folder / name) == std::vector<std::string>{});
    }
}
