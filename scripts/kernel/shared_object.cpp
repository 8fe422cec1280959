#include "kernel/shared_object.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "kernel/elf_object.h"
#include "lowering/host/archive.h"

namespace halyard {

namespace {

constexpr uint64_t kPage = 4096, kMostBytes = uint64_t(1) << 31;  // distances in code have 32 bits

uint64_t rounded_up(uint64_t value, uint64_t to) {
    return (value + to - 1) / to * to;
}

template<typename T>
std::string raw(const T &value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
}

// What is mapped alike lies together: first what is only read, then code, then what is written.
enum Part { kReadOnly, kCode, kData, kZeros, kParts };

struct Place {
    Part part = kReadOnly;
    uint64_t offset = 0;
    bool kept = false;
};

struct Definition {
    size_t object = 0, symbol = 0;
    bool weak = false;
};

class StringTable {
public:
    uint32_t add(const std::string &text) {
        const auto [found, is_new] = at_.insert({text, uint32_t(text_.size())});
        if (is_new) {
            text_ += text + '\0';
        }
        return found->second;
    }
    const std::string &text() const {
        return text_;
    }

private:
    std::string text_ = std::string(1, '\0');
    std::map<std::string, uint32_t> at_ = {{"", 0}};
};

class Linker {
public:
    Linker(const std::string &library, std::vector<std::string> needed) : needed_(std::move(needed)) {
        for (const auto &member : Archive(library).objects()) {
            objects_.push_back(ElfObject::read(member));
        }
    }

    std::string link() {
        place_sections();
        define_symbols();
        plan_references();
        lay_out();
        relocate();
        return write();
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
        const Part part = (s.header.sh_flags & SHF_EXECINSTR) != 0 ? kCode
                          : (s.header.sh_flags & SHF_WRITE) == 0   ? kReadOnly
                          : s.header.sh_type == SHT_NOBITS         ? kZeros
                                                                   : kData;
        const uint64_t align = std::max<uint64_t>(1, s.header.sh_addralign);
        const bool is_empty_space = s.header.sh_type == SHT_NOBITS && part != kZeros;
        if (is_empty_space || align > kPage || (align & (align - 1)) != 0 || s.header.sh_size > kMostBytes) {
            throw std::runtime_error(fmt::format("has a section {} of a strange size or alignment", s.name));
        }
        std::string &bytes = contents_[part];
        Place result{part, 0, true};
        if (part == kZeros) {
            result.offset = rounded_up(zeros_, align);
            zeros_ = result.offset + s.header.sh_size;
        } else {
            bytes.resize(rounded_up(bytes.size(), align), part == kCode ? '\xcc' : '\0');
            result.offset = bytes.size();
            bytes += s.contents;
            bytes.resize(result.offset + s.header.sh_size);
        }
        if (zeros_ + bytes.size() > kMostBytes) {
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

    // Where a symbol of an object is defined; nullptr where that is elsewhere, and no object and symbol of a section left out.
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
                if (places_[o][i].part != kData) {
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
            e.dynamic_symbol = uint32_t(dynamic_symbols_.size());
            dynamic_symbols_.push_back({strings_.add(e.name), ELF64_ST_INFO(e.weak ? STB_WEAK : STB_GLOBAL, STT_NOTYPE), 0, 0, 0, 0});
            if (e.called) {
                contents_[kCode].resize(rounded_up(contents_[kCode].size(), kStub), '\xcc');
                e.stub = contents_[kCode].size();
                contents_[kCode] += std::string(kStub, '\xcc');
            }
        }
        for (const auto &[name, d] : defined_) {
            if (ELF64_ST_VISIBILITY(symbol(d).st_other) == STV_DEFAULT) {
                exported_.push_back({uint32_t(dynamic_symbols_.size()), d});
                dynamic_symbols_.push_back({strings_.add(name), 0, 0, 0, 0, 0});
            }
        }
        for (const auto &name : needed_) {
            needed_at_.push_back(strings_.add(name));
        }
    }

    const Elf64_Sym &symbol(const Definition &d) const {
        return objects_[d.object].symbols[d.symbol].entry;
    }

    size_t table_entries() const {
        return externals_.size() + table_here_.size();
    }

    // One hash for all: a library has few names.
    std::string hash_table() const {
        const uint32_t n = uint32_t(dynamic_symbols_.size());
        std::string bytes = raw(uint32_t(1)) + raw(n) + raw(uint32_t(n > 1 ? 1 : 0));
        for (uint32_t i = 0; i < n; i++) {
            bytes += raw(uint32_t(i == 0 || i + 1 == n ? 0 : i + 1));
        }
        return bytes;
    }

    void lay_out() {
        uint64_t at = sizeof(Elf64_Ehdr) + kHeaders * sizeof(Elf64_Phdr);
        const auto next = [&](uint64_t size, uint64_t align) {
            const uint64_t begin = rounded_up(at, align);
            at = begin + size;
            return begin;
        };
        hash_at_ = next(hash_table().size(), 8);
        symbols_at_ = next(dynamic_symbols_.size() * sizeof(Elf64_Sym), 8);
        strings_at_ = next(strings_.text().size(), 1);
        relocations_at_ = next((loader_entries_ + table_entries()) * sizeof(Elf64_Rela), 8);
        part_at_[kReadOnly] = next(contents_[kReadOnly].size(), kPage);
        part_at_[kCode] = next(contents_[kCode].size(), kPage);
        dynamic_at_ = next((needed_.size() + kDynamicEntries) * sizeof(Elf64_Dyn), kPage);
        table_at_ = next(table_entries() * 8, 8);
        part_at_[kData] = next(contents_[kData].size(), kPage);
        end_of_file_ = at;
        part_at_[kZeros] = next(zeros_, kPage);
        end_ = at;
    }

    uint64_t address(const Target &t) const {
        const Elf64_Sym &s = objects_[t.first].symbols[t.second].entry;
        const Place &p = places_[t.first][s.st_shndx];
        return part_at_[p.part] + p.offset + s.st_value;
    }

    uint64_t table_entry_of(const External &e) const {
        return table_at_ + 8 * uint64_t(&e - externals_.data());
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
        table_.assign(8 * table_entries(), '\0');
        for (const auto &e : externals_) {
            loaded_.push_back({table_entry_of(e), ELF64_R_INFO(uint64_t(e.dynamic_symbol), R_X86_64_GLOB_DAT), 0});
            if (e.called) {
                std::string &code = contents_[kCode];
                const uint64_t stub = part_at_[kCode] + e.stub;
                code[e.stub] = '\xff';  // jmp *entry(%rip)
                code[e.stub + 1] = '\x25';
                put(code, e.stub + 2, distance(table_entry_of(e), stub + 6));
            }
        }
        for (const auto &[target, number] : table_here_) {
            loaded_.push_back({table_at_ + 8 * (externals_.size() + number), ELF64_R_INFO(0, R_X86_64_RELATIVE), int64_t(address(target))});
        }
        for_each_relocation([&](size_t o, size_t i, const Elf64_Rela &r) {
            const auto type = ELF64_R_TYPE(r.r_info);
            const uint64_t number = ELF64_R_SYM(r.r_info);
            const Place &p = places_[o][i];
            if (p.part == kZeros || r.r_offset >= objects_[o].sections[i].contents.size()) {
                throw std::runtime_error("has a relocation outside of its section");
            }
            const uint64_t offset = p.offset + r.r_offset, from = part_at_[p.part] + offset;
            Target target;
            const bool here = find(o, number, target);
            if (type == R_X86_64_64) {
                const uint64_t symbol = here ? 0 : external(o, number).dynamic_symbol;
                loaded_.push_back({from, ELF64_R_INFO(symbol, here ? R_X86_64_RELATIVE : R_X86_64_64),
                                   here ? int64_t(address(target)) + r.r_addend : r.r_addend});
                return;
            }
            uint64_t to = 0;
            if (by_table(type)) {
                to = here ? table_at_ + 8 * (externals_.size() + table_here_.at(target)) : table_entry_of(external(o, number));
            } else {
                to = here ? address(target) : part_at_[kCode] + external(o, number).stub;
            }
            put(contents_[p.part], offset, distance(to + r.r_addend, from));
        });
    }

    std::string dynamic_section() const {
        std::string bytes;
        const auto add = [&](int64_t tag, uint64_t value) { bytes += raw(Elf64_Dyn{tag, {value}}); };
        for (const auto name : needed_at_) {
            add(DT_NEEDED, name);
        }
        add(DT_HASH, hash_at_);
        add(DT_STRTAB, strings_at_);
        add(DT_SYMTAB, symbols_at_);
        add(DT_STRSZ, strings_.text().size());
        add(DT_SYMENT, sizeof(Elf64_Sym));
        add(DT_RELA, relocations_at_);
        add(DT_RELASZ, loaded_.size() * sizeof(Elf64_Rela));
        add(DT_RELAENT, sizeof(Elf64_Rela));
        add(DT_FLAGS, DF_BIND_NOW);
        add(DT_FLAGS_1, DF_1_NOW);
        add(DT_NULL, 0);
        return bytes;
    }

    // The sections that programs which read the file want to see: number, name, type, flags, address, size, link, info, entry.
    enum SectionNumber : uint16_t {
        kNone,
        kRodataSection,
        kTextSection,
        kDataSection,
        kBssSection,
        kDynsym,
        kDynstr,
        kDynamic,
        kSymtab,
        kStrtab,
        kShstrtab,
        kSections
    };

    static uint16_t section_of(Part part) {
        constexpr std::array<uint16_t, kParts> sections = {kRodataSection, kTextSection, kDataSection, kBssSection};
        return sections.at(part);
    }

    Elf64_Sym final_symbol(const Definition &d, uint32_t name) const {
        Elf64_Sym s = symbol(d);
        const Place &p = places_[d.object][s.st_shndx];
        s.st_value = address({d.object, d.symbol});
        s.st_name = name;
        s.st_shndx = section_of(p.part);
        return s;
    }

    std::string write() {
        for (const auto &[number, definition] : exported_) {
            dynamic_symbols_[number] = final_symbol(definition, dynamic_symbols_[number].st_name);
        }
        std::string file(end_of_file_, '\0');
        const auto copy = [&](uint64_t at, const std::string &bytes) { file.replace(at, bytes.size(), bytes); };
        copy(hash_at_, hash_table());
        copy(symbols_at_,
             std::string(reinterpret_cast<const char *>(dynamic_symbols_.data()), dynamic_symbols_.size() * sizeof(Elf64_Sym)));
        copy(strings_at_, strings_.text());
        copy(relocations_at_, std::string(reinterpret_cast<const char *>(loaded_.data()), loaded_.size() * sizeof(Elf64_Rela)));
        copy(dynamic_at_, dynamic_section());
        copy(table_at_, table_);
        for (const Part part : {kReadOnly, kCode, kData}) {
            copy(part_at_[part], contents_[part]);
        }
        const uint64_t sections_at = append_sections(file);
        copy(0, headers(sections_at));
        return file;
    }

    uint64_t append_sections(std::string &file) const {
        StringTable names, section_names;
        std::vector<Elf64_Sym> symbols(1);
        const auto add = [&](bool local) {
            for (size_t o = 0; o < objects_.size(); o++) {
                for (size_t i = 0; i < objects_[o].symbols.size(); i++) {
                    const auto &[name, s] = objects_[o].symbols[i];
                    const auto type = ELF64_ST_TYPE(s.st_info);
                    const bool is_local = ELF64_ST_BIND(s.st_info) == STB_LOCAL;
                    if (is_local == local && is_kept(o, s) && (type == STT_FUNC || type == STT_OBJECT)) {
                        symbols.push_back(final_symbol({o, i, false}, names.add(name)));
                    }
                }
            }
        };
        add(true);
        const auto locals = uint32_t(symbols.size());
        add(false);
        file.resize(rounded_up(file.size(), 8));
        const uint64_t symbols_at = file.size();
        file.append(reinterpret_cast<const char *>(symbols.data()), symbols.size() * sizeof(Elf64_Sym));
        const uint64_t names_at = file.size();
        file += names.text();

        std::vector<Elf64_Shdr> sections(kSections);
        const auto set = [&](uint16_t number, const char *name, uint32_t type, uint64_t flags, uint64_t at, uint64_t size,
                             uint32_t linked = 0, uint32_t info = 0, uint64_t entry = 0) {
            const bool in_memory = (flags & SHF_ALLOC) != 0;
            sections[number] = {section_names.add(name), type, flags, in_memory ? at : 0, at, size, linked, info, 8, entry};
        };
        set(kRodataSection, ".rodata", SHT_PROGBITS, SHF_ALLOC, part_at_[kReadOnly], contents_[kReadOnly].size());
        set(kTextSection, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, part_at_[kCode], contents_[kCode].size());
        set(kDataSection, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, part_at_[kData], contents_[kData].size());
        set(kBssSection, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, part_at_[kZeros], zeros_);
        set(kDynsym, ".dynsym", SHT_DYNSYM, SHF_ALLOC, symbols_at_, dynamic_symbols_.size() * sizeof(Elf64_Sym), kDynstr, 1,
            sizeof(Elf64_Sym));
        set(kDynstr, ".dynstr", SHT_STRTAB, SHF_ALLOC, strings_at_, strings_.text().size());
        set(kDynamic, ".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, dynamic_at_, (needed_.size() + kDynamicEntries) * sizeof(Elf64_Dyn),
            kDynstr, 0, sizeof(Elf64_Dyn));
        set(kSymtab, ".symtab", SHT_SYMTAB, 0, symbols_at, names_at - symbols_at, kStrtab, locals, sizeof(Elf64_Sym));
        set(kStrtab, ".strtab", SHT_STRTAB, 0, names_at, names.text().size());
        section_names.add(".shstrtab");
        set(kShstrtab, ".shstrtab", SHT_STRTAB, 0, file.size(), section_names.text().size());
        file += section_names.text();
        file.resize(rounded_up(file.size(), 8));
        const uint64_t at = file.size();
        file.append(reinterpret_cast<const char *>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
        return at;
    }

    std::string headers(uint64_t sections_at) const {
        Elf64_Ehdr e = {};
        std::memcpy(e.e_ident, ELFMAG, SELFMAG);
        e.e_ident[EI_CLASS] = ELFCLASS64;
        e.e_ident[EI_DATA] = ELFDATA2LSB;
        e.e_ident[EI_VERSION] = EV_CURRENT;
        e.e_type = ET_DYN;
        e.e_machine = EM_X86_64;
        e.e_version = EV_CURRENT;
        e.e_phoff = sizeof(e);
        e.e_shoff = sections_at;
        e.e_ehsize = sizeof(e);
        e.e_phentsize = sizeof(Elf64_Phdr);
        e.e_phnum = kHeaders;
        e.e_shentsize = sizeof(Elf64_Shdr);
        e.e_shnum = kSections;
        e.e_shstrndx = kShstrtab;
        std::string bytes = raw(e);
        const auto add = [&](uint32_t type, uint32_t flags, uint64_t begin, uint64_t end_in_file, uint64_t end, uint64_t align) {
            bytes += raw(Elf64_Phdr{type, flags, begin, begin, begin, end_in_file - begin, end - begin, align});
        };
        const uint64_t code_end = part_at_[kCode] + contents_[kCode].size();
        const uint64_t dynamic_end = dynamic_at_ + (needed_.size() + kDynamicEntries) * sizeof(Elf64_Dyn);
        add(PT_LOAD, PF_R, 0, part_at_[kCode], part_at_[kCode], kPage);
        add(PT_LOAD, PF_R | PF_X, part_at_[kCode], code_end, code_end, kPage);
        add(PT_LOAD, PF_R | PF_W, dynamic_at_, end_of_file_, end_, kPage);
        add(PT_DYNAMIC, PF_R | PF_W, dynamic_at_, dynamic_end, dynamic_end, 8);
        add(PT_GNU_RELRO, PF_R, dynamic_at_, part_at_[kData], part_at_[kData], 1);
        add(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16);
        return bytes;
    }

    static constexpr uint64_t kHeaders = 6, kDynamicEntries = 11, kStub = 16;

    std::vector<std::string> needed_;
    std::vector<uint32_t> needed_at_;
    std::vector<ElfObject> objects_;
    std::vector<std::vector<Place>> places_;  // of each section of each object
    std::array<std::string, kParts> contents_;
    uint64_t zeros_ = 0;
    std::map<std::string, Definition> defined_;
    std::vector<External> externals_;
    std::map<std::string, size_t> external_of_;
    std::map<Target, size_t> table_here_;
    size_t loader_entries_ = 0;
    StringTable strings_;
    std::vector<Elf64_Sym> dynamic_symbols_ = std::vector<Elf64_Sym>(1);
    std::vector<std::pair<uint32_t, Definition>> exported_;
    std::vector<Elf64_Rela> loaded_;  // what the loader fills in
    std::string table_;
    std::array<uint64_t, kParts> part_at_ = {};
    uint64_t hash_at_ = 0, symbols_at_ = 0, strings_at_ = 0, relocations_at_ = 0, dynamic_at_ = 0, table_at_ = 0, end_of_file_ = 0,
             end_ = 0;
};

}  // namespace

std::string shared_object(const std::string &static_library, const std::vector<std::string> &needed) {
    return Linker(static_library, needed).link();
}

}  // namespace halyard
