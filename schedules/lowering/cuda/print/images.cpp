#include "lowering/cuda/print/images.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "lowering/cuda/print/compile.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

std::string name_of(size_t version) {
    return "halyard_kernels" + (version == 0 ? "" : "_" + std::to_string(version)) + ".buffer";
}

}  // namespace

void Images::clear() {
    *this = Images();
}

void Images::begin_version(bool emulated) {
    if (programs_.empty() || !emulated) {
        programs_.emplace_back();
    }
}

void Images::add(const std::string &kernel) {
    programs_.back().source += kernel;
    all_ += kernel;
}

void Images::add(const std::map<std::string, std::string> &instructions, const std::string &kernels, const std::string &only) {
    const auto with_instructions = [&](std::set<std::string> &known) {
        std::string text;
        for (const auto &i : instructions) {
            text += known.insert(i.first).second ? "\n" + i.second : "";
        }
        text += kernels;
        return only.empty() ? text : "\n#ifdef " + only + "\n" + text + "\n#endif  // " + only + "\n";
    };
    programs_.back().tensor_cores = true;
    programs_.back().source += with_instructions(programs_.back().instructions);
    all_ += with_instructions(instructions_of_all_);
}

bool Images::empty() const {
    return std::all_of(programs_.begin(), programs_.end(), [](const Program &p) { return p.source.empty(); });
}

std::string Images::name() const {
    return name_of(programs_.size() - 1);
}

Stmt Images::put_into(const Stmt &host, const std::string &pipeline, const std::vector<std::string> &architectures, bool emulated,
                      const std::string &source_file) const {
    const std::string begin = "// Kernels of " + pipeline + ", printed from its schedule.\nusing namespace halyard;\n";
    std::vector<DeviceProgram> programs;
    for (const Program &p : programs_) {
        programs.push_back({p.source.empty() ? "" : begin + p.source, p.tensor_cores});
    }
    if (!source_file.empty()) {
        std::ofstream(source_file) << begin << all_;
    }
    const std::vector<std::string> images =
        emulated ? std::vector<std::string>{compile_for_emulator(programs[0])} : compile_to_fatbins(programs, architectures);
    std::map<std::string, Expr> buffers;
    for (size_t i = 0; i < images.size(); i++) {
        if (images[i].empty()) {
            continue;
        }
        const std::string name = name_of(i);
        Buffer<uint8_t> image(int(images[i].size()), name.substr(0, name.rfind('.')));
        std::memcpy(image.data(), images[i].data(), images[i].size());
        buffers[name] = Variable::make(type_of<halide_buffer_t *>(), name, Buffer<>(image));
    }
    return substitute(buffers, host);
}

}  // namespace halyard
