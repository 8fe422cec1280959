// Every scheduling directive of the Halide that is linked has a word, and every word is explained.

#include <catch2/catch.hpp>

#include <map>

#include "halide_header.h"
#include "support.h"
#include "language/word.h"

using halyard::Handle;
using halyard::Word;
using halyard::words;

namespace {

// What is no word, and why.
const std::map<std::string, std::string> kNoWords = {
    // Func
    {"compile_to", "compiles"},
    {"compile_to_assembly", "compiles"},
    {"compile_to_bitcode", "compiles"},
    {"compile_to_c", "compiles"},
    {"compile_to_conceptual_stmt", "compiles"},
    {"compile_to_file", "compiles"},
    {"compile_to_header", "compiles"},
    {"compile_to_llvm_assembly", "compiles"},
    {"compile_to_lowered_stmt", "compiles"},
    {"compile_to_multitarget_object_files", "compiles"},
    {"compile_to_multitarget_static_library", "compiles"},
    {"compile_to_object", "compiles"},
    {"compile_to_static_library", "compiles"},
    {"compile_jit", "compiles"},
    {"realize", "runs"},
    {"infer_input_bounds", "runs"},
    {"debug_to_file", "writes a file at run time; a schedule must not change what a library does"},
    {"define_extern", "algorithm"},
    {"add_custom_lowering_pass", "C++ code"},
    {"clear_custom_lowering_passes", "C++ code"},
    {"print_loop_nest", "halyard show"},
    {"allow_race_conditions", "a schedule never changes what is computed"},
    // Dimension
    {"dim", "the next dimension: buffer:dim(1)"},
    {"min_estimate", "reads what set_estimate wrote"},
    {"extent_estimate", "reads what set_estimate wrote"},
};

std::string reason(const std::string &name) {
    const auto it = kNoWords.find(name);
    return it == kNoWords.end() ? "" : it->second;
}

std::set<std::string> covered(std::initializer_list<Handle::Kind> kinds) {
    std::set<std::string> names;
    for (const Word &w : words()) {
        if (std::find(kinds.begin(), kinds.end(), w.on) != kinds.end()) {
            names.insert(w.halide ? w.halide : w.name);
        }
    }
    return names;
}

void check_covered(const std::string &class_name, const std::set<std::string> &directives, const std::set<std::string> &names) {
    CHECK(directives.size() >= 3);
    std::string missing;
    for (const auto &d : directives) {
        if (!names.count(d) && reason(d).empty()) {
            missing += " " + d;
        }
    }
    INFO("Halide::" << class_name << " has directives without a word in schedules/language/words_*.cpp");
    CHECK(missing == "");
}

std::string generated(const char *option) {
    const Finished f = run_program({HALYARD_WORDS, option});
    CHECK(f.exit_code == 0);
    return f.out;
}

}  // namespace

TEST_CASE("every directive of Halide has a word", "[words]") {
    const auto stage = public_methods("Stage", {"Stage", "Func", "void"});
    CHECK(stage.count("split") + stage.count("rfactor") + stage.count("specialize") + stage.count("specialize_fail") +
              stage.count("reorder") + stage.count("prefetch") ==
          6);
    check_covered("Stage", stage, covered({Handle::kStage}));

    const auto func = public_methods("Func", {"Stage", "Func", "void"});
    CHECK(func.count("compute_at") + func.count("in") + func.count("update") + func.count("split") + func.count("ring_buffer") +
              func.count("bound") + func.count("hoist_storage_root") ==
          7);
    check_covered("Func", func, covered({Handle::kStage, Handle::kFunc}));

    check_covered("OutputImageParam", public_methods("OutputImageParam", {"OutputImageParam"}), [] {
        auto n = covered({Handle::kFunc});
        n.insert({"set_bounds", "set_estimates", "set_host_alignment"});
        return n;
    }());
    check_covered("Dimension", public_methods("Dimension", {"Dimension", "Expr"}), [] {
        auto n = covered({Handle::kDimension});
        n.insert("max");  // min + extent - 1
        return n;
    }());
}

TEST_CASE("the reader of Halide.h is not fooled", "[words]") {
    const auto func = public_methods("Func", {"Stage", "Func", "void"});
    CHECK(func.size() > 60);
    CHECK(!func.count("name"));
    CHECK(!func.count("set_dim_type"));  // private
    CHECK(public_methods("Stage", {"Stage"}).count("never_partition"));
    CHECK(public_methods("NoSuchClass", {"Stage"}).empty());
}

TEST_CASE("no exclusion is without use", "[words]") {
    auto all = public_methods("Func", {"Stage", "Func", "void", "Realization", "Callable"});
    all.merge(public_methods("Stage", {"Stage", "Func", "void"}));
    all.merge(public_methods("Dimension", {"Dimension", "Expr"}));
    for (const auto &e : kNoWords) {
        INFO(e.first);
        CHECK(all.count(e.first) == 1);
    }
}

TEST_CASE("every word is explained", "[words]") {
    std::set<std::pair<std::string, int>> seen;
    for (const Word &w : words()) {
        INFO(w.name);
        const std::string doc = w.doc;
        CHECK(doc.size() > 4);
        CHECK((std::isupper(static_cast<unsigned char>(doc[0])) || doc.compare(0, 4, "set_") == 0 ||
               doc.find("partition") != std::string::npos || doc.find("gpu_") == 0 || doc.find("hoist_") == 0));
        CHECK(doc.back() == '.');
        CHECK(std::string(w.before) != "");
        CHECK(std::string(w.after) != "");
        CHECK(w.apply != nullptr);
        CHECK(seen.insert({w.name, w.on}).second);
        bool optional = false;
        for (const auto &a : halyard::parse_arg_specs(w.args)) {
            CHECK_NOTHROW(halyard::describe_kind(a.kind));
            CHECK((a.optional || !optional));
            // A number has a domain; but what is compared may be any.
            const bool number = a.kind == "int" || a.kind == "size" || a.kind == "sizes" ||
                                (a.kind == "expr" && w.on != Handle::kExpr && std::string(w.name) != "memoize");
            CHECK((!number || a.domain));
            optional = a.optional;
        }
    }
}

TEST_CASE("the generated files are those of the table", "[words]") {
    INFO("update them by: halyard-words --meta > schedules/meta/halyard.lua; "
         "halyard-words --reference > docs/reference/words.md");
    const std::string meta = generated("--meta"), reference = generated("--reference");
    CHECK((meta == read_file(HALYARD_SOURCE "/schedules/meta/halyard.lua")));
    CHECK((reference == read_file(HALYARD_SOURCE "/docs/reference/words.md")));
    for (const Word &w : words()) {
        INFO(w.name);
        CHECK(reference.find("\n### " + std::string(w.name) + "\n") != std::string::npos);
        const std::string owner = halyard::kind_name(w.on);
        CHECK(meta.find("\nfunction " + owner + ":" + w.name + "(") != std::string::npos);
    }
    for (const char *name : {"tail", "memory", "align", "partition", "prefetch", "device"}) {
        for (const auto &v : halyard::named_values(name)) {
            CHECK(meta.find("---| \"" + std::string(v.name) + "\"") != std::string::npos);
            CHECK(reference.find("`\"" + std::string(v.name) + "\"`") != std::string::npos);
        }
    }
}
