// halyard explore: looks for the fastest schedule of an op at a size, and writes it as Lua. Its options; explore_op.cpp does it.

#include <memory>

#include "command/commands.h"
#include "command/explore_op.h"
#include "command/option_table.h"

namespace halyard {

void add_explore(CLI::App &app) {
    auto o = std::make_shared<ExploreOptions>();
    CLI::App *cmd = app.add_subcommand("explore", "Look for the fastest schedule, and write it as Lua");
    cmd->add_option("op", o->op, "The op, as `halyard list` names it, or an ONNX file: then what is computed together, too")
        ->required()
        ->type_name("OP|MODEL.onnx");
    cmd->add_option("--shape", o->shape,
                    "A size, as rows=64,cols=4096, or of the arrays of your --generator, as x=4096x64,y=4096x64 [the registry's first, or "
                    "what it estimates]")
        ->type_name("DIMS");
    cmd->add_option("--threads", o->threads, "Number of threads [all processors]")->type_name("N");
    cmd->add_option("--budget", o->budget, "Time for all of it, builds and the comparison at the end too, as 90s, 10m or 1h")
        ->type_name("TIME")
        ->capture_default_str();
    cmd->add_option("--seed", o->seed, "Of the random part of the search")->type_name("N")->capture_default_str();
    cmd->add_option("--most", o->most, "Schedules to try at most")->type_name("N");
    add_output(*cmd, "-o,--output", o->output,
               "Where the best goes [standard output]; of a model a folder, for what `halyard compile` writes [.]");
    add_repeated(*cmd, "--dim", o->dims, "Of a model, as of `halyard compile`: a free dimension and its size or range")
        ->type_name("NAME=SIZES");
    cmd->add_option("--type", o->type, "Of a model, as of `halyard compile`: bfloat16 or float16")
        ->type_name("TYPE")
        ->check(CLI::IsMember({"float32", "bfloat16", "float16"}));
    cmd->add_option("--name", o->name, "Of a model: of its C functions and its files [that of the model]")->type_name("NAME");
    cmd->add_flag("--measure-again", o->again, "Also what is in the database");
    cmd->add_option("--schedule", o->schedule,
                    "Search only what this Lua file, or schedule that ships, leaves open: tune{} and k:open(...)")
        ->type_name("FILE|NAME");
    add_repeated(*cmd, "--compare", o->compare,
                 "Instead of a search: a Lua file or the name of a schedule that ships; several are put side by side")
        ->type_name("FILE|NAME");
    add_output(*cmd, "--html", o->html, "The table of fusions as a page with pictures");
    cmd->add_flag("--json", o->json, "The table of fusions as JSON");
    add_output(*cmd, "--export", o->folder,
               "For CUDA: do not measure, but build candidates into a folder for a machine with a "
               "GPU; ./measure there, then `halyard db import` here and the same command again")
        ->type_name("FOLDER");
    cmd->add_option("--candidates", o->candidates, "With --export: so many")
        ->type_name("N")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    cmd->add_option("--gpu", o->machine,
                    "Whose measurements count: how the name begins [this machine's, else the last "
                    "imported]")
        ->type_name("NAME");
    cmd->add_option("--workers", o->workers,
                    "Measure on the machines of a Ray cluster: auto for the one that this machine is in, or HOST:PORT")
        ->type_name("ADDRESS");
    cmd->add_option("--workers-kind", o->workers_kind,
                    "Which of them: how the name begins of their processor or device [for the host those like this machine, for CUDA "
                    "those with a device]")
        ->type_name("KIND");
    add_repeated(*cmd, "--beside", o->beside,
                 "A Lua file or the name of a schedule that ships, to time in turns with what was found; the first says "
                 "which arguments the op has. own is what your --generator schedules itself, in C++")
        ->type_name("FILE|NAME");
    cmd->add_flag("--halide", o->halide, "Begin with what Halide's own autoschedulers make of it, and time it in turns too");
    cmd->add_option("--translate", o->translate,
                    "Instead of a search: write what this autoscheduler of Halide makes of it in words; own is what your "
                    "--generator schedules itself")
        ->type_name("SCHEDULER");
    cmd->add_option("--until", o->until,
                    "End as soon as it is so many times as fast as the first of --beside [the one "
                    "that ships; for a --generator the best of Halide's], in turns; "
                    "with --halide it is faster than those too")
        ->type_name("RATIO")
        ->check(CLI::Range(0.01, 100.0));
    add_output(*cmd, "--report", o->report, "What came out, as JSON, in place of the table of fusions");
    cmd->add_flag("--guess", o->guess, "Print what the search would begin with, and its decisions");
    add_repeated(*cmd, "--with", o->with, "With --guess: another answer to a decision")->type_name("DECISION=ANSWER");
    o->add(*cmd, "The instruction set [host]");
    const std::vector<std::string> of_search = {"--budget", "--seed",  "--most",   "--measure-again", "--schedule", "--beside",
                                                "--halide", "--until", "--report", "--candidates",    "--with"};
    needs(*cmd, "--with", "--guess");
    needs(*cmd, "--candidates", "--export");
    leaves_out(*cmd, "--compare", of_search);
    leaves_out(*cmd, "--compare", {"--output", "--guess", "--translate"});
    leaves_out(*cmd, "--translate", of_search);
    leaves_out(*cmd, "--translate", {"--guess", "--export", "--json", "--html"});
    leaves_out(*cmd, "--guess", {"--output", "--report", "--json", "--html", "--export", "--until"});
    leaves_out(*cmd, "--export", {"--report", "--until"});
    put_in_group(*cmd, group::kOp, {"--dim", "--name", "--type"});
    put_in_group(*cmd, group::kSchedule, {"--schedule"});
    put_in_group(*cmd, group::kTarget, {"--gpu"});
    put_in_group(*cmd, group::kMeasurement, {"--shape", "--threads", "--measure-again", "--workers", "--workers-kind"});
    put_in_group(*cmd, group::kSearch,
                 {"--budget", "--seed", "--most", "--until", "--beside", "--halide", "--compare", "--translate", "--guess", "--with",
                  "--export", "--candidates"});
    put_in_group(*cmd, group::kOutput, {"--output", "--html", "--report", "--json"});
    cmd->footer("\nNumbers among the generator's parameters on which the result does not depend are chosen too; give\n"
                "the others, as weights=packed, by --param. The same command finds its measurements in the database\n"
                "and goes on from there.\n"
                "\nExamples:\n"
                "  halyard explore rms_norm --shape rows=64,cols=4096 --budget 2m -o mine.lua\n"
                "  halyard explore gemm --param weights=packed --threads 1\n"
                "  halyard explore softmax --until 0.9 --halide\n"
                "  halyard explore softmax --translate Adams2019 -o softmax.adams.lua\n"
                "  halyard explore blur --generator ./blur --translate own -o blur.lua\n"
                "  halyard explore blur --generator ./blur --beside own --halide -o mine.lua\n"
                "  halyard explore conv2d --schedule mine.lua --budget 2m -o mine.lua\n"
                "  halyard explore softmax --target cuda --param type=bfloat16 -o mine.lua\n"
                "  halyard explore gemm --target cuda-sm_90a --export pack --candidates 20\n"
                "  halyard explore gemm --workers auto --workers-kind \"AMD EPYC\" -o mine.lua\n"
                "  halyard explore swiglu --compare swiglu --compare partly --compare unfused --html page.html\n"
                "  halyard explore model.onnx --shape batch=1,tokens=128 --budget 5m -o out\n"
                "  halyard explore softmax --target cuda-sm_90a --compare softmax --compare unfused --gpu H200");
    cmd->callback([o] { explore_op(*o); });
}

}  // namespace halyard
