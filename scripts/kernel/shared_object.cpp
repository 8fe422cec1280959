#include "kernel/shared_object.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "kernel/elf_image.h"
#include "kernel/elf_object.h"
#include "lowering/host/archive.h"

namespace halyard {

namespace {

constexpr uint64_t kMostBytes = uint64_t(1) << 31;  // distances in code have 32 bits
constexpr uint64_t kStub = 16;

using Part = ElfImage::Part;

struct Place {
    Part part = ElfImage::kReadOnly;
    uint64_t offset = 0;
    bool kept = false;
};

struct Definition {
    size_t object = 0, symbol = 0;
    bool weak = false;
};

class Linker {
public:
    Linker(const std::string &library, const std::vector<std::string> &needed) {
        for (const auto &name : needed) {
            image_.needed.push_back(image_.strings.add(name));
        }
        for (const auto &member : Archive(library).objects()) {
            objects_.push_back(ElfObject::read(member));
        }
    }

    std::string link() {
        place_sections();
        define_symbols();
        plan_references();
        image_.lay_out(loader_entries_ + table_entries(), table_entries());
        relocate();
        finish_symbols();
        return image_.bytes();
    }

private:
    // A reference to what may lie elsewhere, or is asked for by its address.
    struct External {
        std::string name;
        bool weak = true;
        bool called = false;  // has a stub in the code, by which it is reached
        size_t stub = 0;
        uint32_t dynamic_symbol = 0;
    };
    using Target = std::pair<size_t, size_t>;  // object and symbol, of what is defined here

    void place_sections() {
        std::set<std::string> comdats;
        for (const auto &object : objects_) {
            std::vector<Place> places(object.sections.size());
            std::set<std::string> of_this;
            for (size_t i = 0; i < object.sections.size(); i++) {
                const auto &s = object.sections[i];
                if (!s.is_allocated() || s.header.sh_type == SHT_NOTE || (!s.comdat.empty() && comdats.count(s.comdat) > 0)) {
                    continue;
                }
                if ((s.header.sh_flags & SHF_TLS) != 0 || s.header.sh_type == SHT_INIT_ARRAY || s.header.sh_type == SHT_FINI_ARRAY) {
                    throw std::runtime_error(fmt::format("has a section {}, which only a linker knows what to do with", s.name));
                }
                of_this.insert(s.comdat);
                places[i] = place(s);
            }
            of_this.erase("");
            comdats.merge(of_this);
            places_.push_back(places);
        }
    }

    Place place(const ElfObject::Section &s) {
        const Part part = (s.header.sh_flags & SHF_EXECINSTR) != 0 ? ElfImage::kCode
                          : (s.header.sh_flags & SHF_WRITE) == 0   ? ElfImage::kReadOnly
                          : s.header.sh_type == SHT_NOBITS         ? ElfImage::kZeros
                                                                   : ElfImage::kData;
        const uint64_t align = std::max<uint64_t>(1, s.header.sh_addralign);
        const bool is_empty_space = s.header.sh_type == SHT_NOBITS && part != ElfImage::kZeros;
        if (is_empty_space || align > ElfImage::kPage || (align & (align - 1)) != 0 || s.header.sh_size > kMostBytes) {
            throw std::runtime_error(fmt::format("has a section {} of a strange size or alignment", s.name));
        }
        std::string &bytes = image_.contents[part];
        Place result{part, 0, true};
        if (part == ElfImage::kZeros) {
            result.offset = rounded_up(image_.zeros, align);
            image_.zeros = result.offset + s.header.sh_size;
        } else {
            bytes.resize(rounded_up(bytes.size(), align), part == ElfImage::kCode ? '\xcc' : '\0');
            result.offset = bytes.size();
            bytes += s.contents;
            bytes.resize(result.offset + s.header.sh_size);
        }
        if (image_.zeros + bytes.size() > kMostBytes) {
            throw std::runtime_error("is larger than 2 GiB");
        }
        return result;
    }

    bool is_kept(size_t object, const Elf64_Sym &s) const {
        return s.st_shndx != SHN_UNDEF && s.st_shndx < places_[object].size() && places_[object][s.st_shndx].kept;
    }

    void define_symbols() {
        for (size_t o = 0; o < objects_.size(); o++) {
            for (size_t i = 0; i < objects_[o].symbols.size(); i++) {
                const auto &[name, s] = objects_[o].symbols[i];
                if (s.st_shndx == SHN_COMMON) {
                    throw std::runtime_error(fmt::format("has a common symbol {}, which only a linker knows what to do with", name));
                }
                const auto binding = ELF64_ST_BIND(s.st_info);
                if (binding == STB_LOCAL || !is_kept(o, s)) {
                    continue;
                }
                const bool weak = binding == STB_WEAK;
                const auto [known, is_new] = defined_.insert({name, {o, i, weak}});
                if (!is_new && !weak && !known->second.weak) {
                    throw std::runtime_error(fmt::format("defines {} twice", name));
                }
                if (!is_new && !weak) {
                    known->second = {o, i, false};
                }
            }
        }
    }

    // Where a symbol of an object is defined. False where that is elsewhere.
    bool find(size_t object, uint64_t number, Target &target) const {
        if (number >= objects_[object].symbols.size()) {
            throw std::runtime_error("refers to a symbol that it does not have");
        }
        const auto &[name, s] = objects_[object].symbols[number];
        if (ELF64_ST_BIND(s.st_info) == STB_LOCAL) {
            if (!is_kept(object, s)) {
                throw std::runtime_error(fmt::format("refers to {}, which lies in no section that is linked", name));
            }
            target = {object, number};
            return true;
        }
        const auto found = defined_.find(name);
        if (found == defined_.end()) {
            return false;
        }
        target = {found->second.object, found->second.symbol};
        return true;
    }

    External &external(size_t object, uint64_t number) {
        const auto &[name, s] = objects_[object].symbols[number];
        const auto [found, is_new] = external_of_.insert({name, externals_.size()});
        if (is_new) {
            externals_.push_back({name});
        }
        External &e = externals_[found->second];
        e.weak = e.weak && ELF64_ST_BIND(s.st_info) == STB_WEAK;
        return e;
    }

    template<typename Use>
    void for_each_relocation(const Use &use) {
        for (size_t o = 0; o < objects_.size(); o++) {
            for (size_t i = 0; i < objects_[o].sections.size(); i++) {
                if (!places_[o][i].kept) {
                    continue;
                }
                for (const auto &r : objects_[o].sections[i].relocations) {
                    if (ELF64_R_TYPE(r.r_info) != R_X86_64_NONE) {
                        use(o, i, r);
                    }
                }
            }
        }
    }

    static bool by_table(uint64_t type) {
        return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
    }

    // Which entries the table of addresses needs, which calls a stub, and how many addresses the loader fills in.
    void plan_references() {
        for_each_relocation([&](size_t o, size_t i, const Elf64_Rela &r) {
            const auto type = ELF64_R_TYPE(r.r_info);
            Target target;
            const bool here = find(o, ELF64_R_SYM(r.r_info), target);
            if (by_table(type)) {
                here ? void(table_here_.insert({target, table_here_.size()})) : void(external(o, ELF64_R_SYM(r.r_info)));
            } else if (type == R_X86_64_64) {
                if (places_[o][i].part != ElfImage::kData) {
                    throw std::runtime_error(fmt::format("has an address in {}, which is not written to", objects_[o].sections[i].name));
                }
                loader_entries_++;
                here ? void() : void(external(o, ELF64_R_SYM(r.r_info)));
            } else if (type == R_X86_64_PLT32 && !here) {
                external(o, ELF64_R_SYM(r.r_info)).called = true;
            } else if (type == R_X86_64_PC32 && !here) {
                throw std::runtime_error(fmt::format("expects the variable {} nearby", objects_[o].symbols[ELF64_R_SYM(r.r_info)].name));
            } else if (type != R_X86_64_PLT32 && type != R_X86_64_PC32) {
                throw std::runtime_error(fmt::format("has a relocation of type {}, which only a linker knows", type));
            }
        });
        for (auto &e : externals_) {
            e.dynamic_symbol = uint32_t(image_.dynamic_symbols.size());
            image_.dynamic_symbols.push_back(
                {image_.strings.add(e.name), ELF64_ST_INFO(e.weak ? STB_WEAK : STB_GLOBAL, STT_NOTYPE), 0, 0, 0, 0});
            if (e.called) {
                image_.contents[ElfImage::kCode].resize(rounded_up(image_.contents[ElfImage::kCode].size(), kStub), '\xcc');
                e.stub = image_.contents[ElfImage::kCode].size();
                image_.contents[ElfImage::kCode] += std::string(kStub, '\xcc');
            }
        }
        for (const auto &[name, d] : defined_) {
            if (ELF64_ST_VISIBILITY(symbol(d).st_other) == STV_DEFAULT) {
                exported_.push_back({uint32_t(image_.dynamic_symbols.size()), d});
                image_.dynamic_symbols.push_back({image_.strings.add(name), 0, 0, 0, 0, 0});
            }
        }
    }

    const Elf64_Sym &symbol(const Definition &d) const {
        return objects_[d.object].symbols[d.symbol].entry;
    }

    size_t table_entries() const {
        return externals_.size() + table_here_.size();
    }

    uint64_t address(const Target &t) const {
        const Elf64_Sym &s = objects_[t.first].symbols[t.second].entry;
        const Place &p = places_[t.first][s.st_shndx];
        return image_.address(p.part) + p.offset + s.st_value;
    }

    uint64_t table_entry_of(const External &e) const {
        return image_.table_address(size_t(&e - externals_.data()));
    }

    template<typename T>
    static void put(std::string &bytes, uint64_t offset, T value) {
        if (offset > bytes.size() || sizeof(value) > bytes.size() - offset) {
            throw std::runtime_error("has a relocation outside of its section");
        }
        std::memcpy(&bytes[offset], &value, sizeof(value));
    }

    static int32_t distance(uint64_t to, uint64_t from) {
        const auto d = int64_t(to - from);
        if (d != int32_t(d)) {
            throw std::runtime_error("has a distance of more than 2 GiB");
        }
        return int32_t(d);
    }

    void relocate() {
        for (const auto &e : externals_) {
            image_.relocations.push_back({table_entry_of(e), ELF64_R_INFO(uint64_t(e.dynamic_symbol), R_X86_64_GLOB_DAT), 0});
            if (e.called) {
                std::string &code = image_.contents[ElfImage::kCode];
                const uint64_t stub = image_.address(ElfImage::kCode) + e.stub;
                code[e.stub] = '\xff';  // jmp *entry(%rip)
                code[e.stub + 1] = '\x25';
                put(code, e.stub + 2, distance(table_entry_of(e), stub + 6));
            }
        }
        for (const auto &[target, number] : table_here_) {
            image_.relocations.push_back(
                {image_.table_address(externals_.size() + number), ELF64_R_INFO(0, R_X86_64_RELATIVE), int64_t(address(target))});
        }
        for_each_relocation([&](size_t o, size_t i, const Elf64_Rela &r) {
            const auto type = ELF64_R_TYPE(r.r_info);
            const uint64_t number = ELF64_R_SYM(r.r_info);
            const Place &p = places_[o][i];
            if (p.part == ElfImage::kZeros || r.r_offset >= objects_[o].sections[i].contents.size()) {
                throw std::runtime_error("has a relocation outside of its section");
            }
            const uint64_t offset = p.offset + r.r_offset, from = image_.address(p.part) + offset;
            Target target;
            const bool here = find(o, number, target);
            if (type == R_X86_64_64) {
                const uint64_t symbol = here ? 0 : external(o, number).dynamic_symbol;
                image_.relocations.push_back({from, ELF64_R_INFO(symbol, here ? R_X86_64_RELATIVE : R_X86_64_64),
                                              here ? int64_t(address(target)) + r.r_addend : r.r_addend});
                return;
            }
            uint64_t to = 0;
            if (by_table(type)) {
                to = here ? image_.table_address(externals_.size() + table_here_.at(target)) : table_entry_of(external(o, number));
            } else {
                to = here ? address(target) : image_.address(ElfImage::kCode) + external(o, number).stub;
            }
            put(image_.contents[p.part], offset, distance(to + r.r_addend, from));
        });
    }

    Elf64_Sym final_symbol(const Definition &d) const {
        Elf64_Sym s = symbol(d);
        const Place &p = places_[d.object][s.st_shndx];
        s.st_value = address({d.object, d.symbol});
        s.st_shndx = ElfImage::section_of(p.part);
        return s;
    }

    void finish_symbols() {
        for (const auto &[number, definition] : exported_) {
            const auto name = image_.dynamic_symbols[number].st_name;
            image_.dynamic_symbols[number] = final_symbol(definition);
            image_.dynamic_symbols[number].st_name = name;
        }
        for (const bool local : {true, false}) {
            for (size_t o = 0; o < objects_.size(); o++) {
                for (size_t i = 0; i < objects_[o].symbols.size(); i++) {
                    const auto &[name, s] = objects_[o].symbols[i];
                    const auto type = ELF64_ST_TYPE(s.st_info);
                    const bool is_local = ELF64_ST_BIND(s.st_info) == STB_LOCAL;
                    if (is_local == local && is_kept(o, s) && (type == STT_FUNC || type == STT_OBJECT)) {
                        image_.add_symbol(name, final_symbol({o, i, false}));
                    }
                }
            }
        }
    }

    ElfImage image_;
    std::vector<ElfObject> objects_;
    std::vector<std::vector<Place>> places_;  // of each section of each object
    std::map<std::string, Definition> defined_;
    std::vector<External> externals_;
    std::map<std::string, size_t> external_of_;
    std::map<Target, size_t> table_here_;
    size_t loader_entries_ = 0;
    std::vector<std::pair<uint32_t, Definition>> exported_;
};

}  // namespace

std::string shared_object(const std::string &static_library, const std::vector<std::string> &needed) {
    return Linker(static_library, needed).link();
}

}  // namespace halyard
