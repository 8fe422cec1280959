#include "kernel/elf_image.h"

#include <algorithm>
#include <cstring>

namespace halyard {

namespace {

constexpr uint64_t kHeaders = 6, kDynamicEntries = 11;

template<typename T>
std::string raw(const T &value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
}

template<typename T>
std::string raw(const std::vector<T> &table) {
    return std::string(reinterpret_cast<const char *>(table.data()), table.size() * sizeof(T));
}

// The sections that programs which read the file want to see.
enum Section : uint16_t { kNone, kRodata, kText, kDataSection, kBss, kDynsym, kDynstr, kDynamic, kSymtab, kStrtab, kShstrtab, kSections };

}  // namespace

uint64_t rounded_up(uint64_t value, uint64_t to) {
    return (value + to - 1) / to * to;
}

uint32_t StringTable::add(const std::string &text) {
    const auto [found, is_new] = at_.insert({text, uint32_t(text_.size())});
    if (is_new) {
        text_ += text + '\0';
    }
    return found->second;
}

uint64_t ElfImage::dynamic_size() const {
    return (needed.size() + kDynamicEntries) * sizeof(Elf64_Dyn);
}

// One hash for all: a library has few names.
std::string ElfImage::hash_table() const {
    const auto n = uint32_t(dynamic_symbols.size());
    std::string bytes = raw(uint32_t(1)) + raw(n) + raw(uint32_t(n > 1 ? 1 : 0));
    for (uint32_t i = 0; i < n; i++) {
        bytes += raw(uint32_t(i == 0 || i + 1 == n ? 0 : i + 1));
    }
    return bytes;
}

void ElfImage::lay_out(size_t relocation_count, size_t table_entries) {
    uint64_t at = sizeof(Elf64_Ehdr) + kHeaders * sizeof(Elf64_Phdr);
    const auto next = [&](uint64_t size, uint64_t align) {
        const uint64_t begin = rounded_up(at, align);
        at = begin + size;
        return begin;
    };
    hash_at_ = next(hash_table().size(), 8);
    symbols_at_ = next(dynamic_symbols.size() * sizeof(Elf64_Sym), 8);
    strings_at_ = next(strings.text().size(), 1);
    relocations_at_ = next(relocation_count * sizeof(Elf64_Rela), 8);
    part_at_[kReadOnly] = next(contents[kReadOnly].size(), kPage);
    part_at_[kCode] = next(contents[kCode].size(), kPage);
    dynamic_at_ = next(dynamic_size(), kPage);
    table_at_ = next(8 * table_entries, 8);
    part_at_[kData] = next(contents[kData].size(), kPage);
    end_of_file_ = at;
    part_at_[kZeros] = next(zeros, kPage);
    end_ = at;
}

void ElfImage::add_symbol(const std::string &name, Elf64_Sym symbol) {
    symbol.st_name = names_.add(name);
    symbols_.push_back(symbol);
}

uint16_t ElfImage::section_of(Part part) {
    constexpr std::array<uint16_t, kParts> sections = {kRodata, kText, kDataSection, kBss};
    return sections.at(part);
}

std::string ElfImage::dynamic_section() const {
    std::string bytes;
    const auto add = [&](int64_t tag, uint64_t value) { bytes += raw(Elf64_Dyn{tag, {value}}); };
    for (const auto name : needed) {
        add(DT_NEEDED, name);
    }
    add(DT_HASH, hash_at_);
    add(DT_STRTAB, strings_at_);
    add(DT_SYMTAB, symbols_at_);
    add(DT_STRSZ, strings.text().size());
    add(DT_SYMENT, sizeof(Elf64_Sym));
    add(DT_RELA, relocations_at_);
    add(DT_RELASZ, relocations.size() * sizeof(Elf64_Rela));
    add(DT_RELAENT, sizeof(Elf64_Rela));
    add(DT_FLAGS, DF_BIND_NOW);
    add(DT_FLAGS_1, DF_1_NOW);
    add(DT_NULL, 0);
    return bytes;
}

std::string ElfImage::bytes() const {
    std::string file(end_of_file_, '\0');
    const auto copy = [&](uint64_t at, const std::string &part) { file.replace(at, part.size(), part); };
    copy(hash_at_, hash_table());
    copy(symbols_at_, raw(dynamic_symbols));
    copy(strings_at_, strings.text());
    copy(relocations_at_, raw(relocations));
    copy(dynamic_at_, dynamic_section());
    for (const Part part : {kReadOnly, kCode, kData}) {
        copy(part_at_[part], contents[part]);
    }
    const uint64_t sections_at = append_sections(file);
    copy(0, headers(sections_at));
    return file;
}

uint64_t ElfImage::append_sections(std::string &file) const {
    const auto is_local = [](const Elf64_Sym &s) { return ELF64_ST_BIND(s.st_info) == STB_LOCAL; };
    const auto locals = uint32_t(std::count_if(symbols_.begin(), symbols_.end(), is_local));
    file.resize(rounded_up(file.size(), 8));
    const uint64_t symbols_at = file.size();
    file += raw(symbols_);
    const uint64_t names_at = file.size();
    file += names_.text();

    StringTable section_names;
    std::vector<Elf64_Shdr> sections(kSections);
    const auto set = [&](Section number, const char *name, uint32_t type, uint64_t flags, uint64_t at, uint64_t size, uint32_t linked = 0,
                         uint32_t info = 0, uint64_t entry = 0) {
        const bool in_memory = (flags & SHF_ALLOC) != 0;
        sections[number] = {section_names.add(name), type, flags, in_memory ? at : 0, at, size, linked, info, 8, entry};
    };
    set(kRodata, ".rodata", SHT_PROGBITS, SHF_ALLOC, part_at_[kReadOnly], contents[kReadOnly].size());
    set(kText, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, part_at_[kCode], contents[kCode].size());
    set(kDataSection, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, part_at_[kData], contents[kData].size());
    set(kBss, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, part_at_[kZeros], zeros);
    set(kDynsym, ".dynsym", SHT_DYNSYM, SHF_ALLOC, symbols_at_, dynamic_symbols.size() * sizeof(Elf64_Sym), kDynstr, 1, sizeof(Elf64_Sym));
    set(kDynstr, ".dynstr", SHT_STRTAB, SHF_ALLOC, strings_at_, strings.text().size());
    set(kDynamic, ".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, dynamic_at_, dynamic_size(), kDynstr, 0, sizeof(Elf64_Dyn));
    set(kSymtab, ".symtab", SHT_SYMTAB, 0, symbols_at, names_at - symbols_at, kStrtab, locals, sizeof(Elf64_Sym));
    set(kStrtab, ".strtab", SHT_STRTAB, 0, names_at, names_.text().size());
    section_names.add(".shstrtab");
    set(kShstrtab, ".shstrtab", SHT_STRTAB, 0, file.size(), section_names.text().size());
    file += section_names.text();
    file.resize(rounded_up(file.size(), 8));
    const uint64_t at = file.size();
    file += raw(sections);
    return at;
}

std::string ElfImage::headers(uint64_t sections_at) const {
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
    const uint64_t code_end = part_at_[kCode] + contents[kCode].size(), dynamic_end = dynamic_at_ + dynamic_size();
    add(PT_LOAD, PF_R, 0, part_at_[kCode], part_at_[kCode], kPage);
    add(PT_LOAD, PF_R | PF_X, part_at_[kCode], code_end, code_end, kPage);
    add(PT_LOAD, PF_R | PF_W, dynamic_at_, end_of_file_, end_, kPage);
    add(PT_DYNAMIC, PF_R | PF_W, dynamic_at_, dynamic_end, dynamic_end, 8);
    add(PT_GNU_RELRO, PF_R, dynamic_at_, part_at_[kData], part_at_[kData], 1);
    add(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16);
    return bytes;
}

}  // namespace halyard
