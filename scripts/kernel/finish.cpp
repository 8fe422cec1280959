#include "kernel/finish.h"

#include <filesystem>
#include <functional>
#include <future>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lowering/host/archive.h"
#include "kernel/elf_object.h"
#include "kernel/failure.h"
#include "lowering/host/finish_ir.h"
#include "lowering/host/llvm.h"
#include "kernel/outputs.h"
#include "kernel/paths.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

void rewrite(const fs::path &path, const std::string &contents) {
    if (fs::exists(path)) {
        write_file(path.string(), contents);
    }
}

// Finishes the bitcode and the files beside it. Returns the object, where there is one or an archive to hold it.
std::string finish_target(const Llvm &llvm, const fs::path &bitcode, bool in_archive) {
    const auto beside = [&](const char *extension) { return fs::path(bitcode).replace_extension(extension); };
    Llvm::Outputs outputs;
    outputs.object = in_archive || fs::exists(beside(".o"));
    outputs.assembly = fs::exists(beside(".s"));
    outputs.ir = fs::exists(beside(".ll"));
    outputs.bitcode = true;
    const Llvm::Code code = llvm.compile(finish_ir(llvm.disassemble(read_file(bitcode.string()))).text, outputs);
    rewrite(bitcode, code.bitcode);
    rewrite(beside(".o"), code.object);
    rewrite(beside(".s"), code.assembly);
    rewrite(beside(".ll"), code.ir);
    return code.object;
}

// As a linker looks for them: what other objects may ask this one for.
std::vector<std::string> symbols_of(const std::string &object) {
    std::vector<std::string> names;
    for (const auto &s : ElfObject::read(object).symbols) {
        const int type = ELF64_ST_TYPE(s.entry.st_info);
        if (ELF64_ST_BIND(s.entry.st_info) != STB_LOCAL && s.entry.st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE) {
            names.push_back(s.name);
        }
    }
    return names;
}

}  // namespace

void finish(const std::string &directory, const std::string &function) {
    const fs::path library = fs::path(directory) / (function + ".a");
    try {
        const Llvm &llvm = Llvm::load(require_piece(paths().llvm, "LLVM (llvmlite of third_party/requirements.txt)"));
        std::unique_ptr<Archive> archive;
        if (fs::exists(library)) {
            archive = std::make_unique<Archive>(read_file(library.string()));
        }
        std::vector<std::pair<fs::path, std::future<std::string>>> objects;
        for (const auto &bitcode : outputs_in(directory, function, ".bc")) {  // one for each target
            objects.emplace_back(bitcode, std::async(std::launch::async, finish_target, std::cref(llvm), bitcode, archive != nullptr));
        }
        for (auto &[bitcode, object] : objects) {
            const std::string contents = object.get();
            if (archive) {
                // Halide's names of members: `NAME.a-TARGET.o` for `NAME-TARGET.bc`.
                archive->replace(function + ".a" + bitcode.stem().string().substr(function.size()) + ".o", contents);
            }
        }
        if (archive) {
            // Of what came without code (late_objects.c), Halide knew no symbols.
            std::vector<std::vector<std::string>> symbols;
            for (const auto &contents : archive->objects()) {
                symbols.push_back(symbols_of(contents));
            }
            archive->set_symbols(symbols);
            write_file(library.string(), archive->bytes());
        }
    } catch (const std::runtime_error &e) {
        throw Failure(fmt::format("{}: error: cannot be finished: {}", library.filename().string(), e.what()));
    }
}

}  // namespace halyard
