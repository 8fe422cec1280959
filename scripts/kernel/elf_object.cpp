#include "kernel/elf_object.h"

#include <cstring>
#include <stdexcept>

namespace halyard {

namespace {

// Whoever wrote the bytes may have meant no good: nothing is read beyond them.
class Bytes {
public:
    explicit Bytes(const std::string &bytes) : bytes_(bytes) {}

    std::string range(uint64_t offset, uint64_t size) const {
        if (offset > bytes_.size() || size > bytes_.size() - offset) {
            throw std::runtime_error("is an object cut short");
        }
        return bytes_.substr(offset, size);
    }

    template<typename T>
    T at(uint64_t offset) const {
        T value;
        std::memcpy(&value, range(offset, sizeof(T)).data(), sizeof(T));
        return value;
    }

    // A table of entries of one kind.
    template<typename T>
    std::vector<T> table(const Elf64_Shdr &header) const {
        const std::string raw = range(header.sh_offset, header.sh_size);
        std::vector<T> entries(raw.size() / sizeof(T));
        std::memcpy(entries.data(), raw.data(), entries.size() * sizeof(T));
        return entries;
    }

private:
    const std::string &bytes_;
};

std::string text_at(const std::string &table, uint64_t offset) {
    if (offset >= table.size()) {
        throw std::runtime_error("has a name that is not in its table of names");
    }
    return table.substr(offset, table.find('\0', offset) - offset);
}

}  // namespace

ElfObject ElfObject::read(const std::string &text) {
    const Bytes bytes(text);
    const auto file = bytes.at<Elf64_Ehdr>(0);
    if (std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_type != ET_REL ||
        file.e_machine != EM_X86_64 || file.e_shentsize != sizeof(Elf64_Shdr)) {
        throw std::runtime_error("is no object for x86-64");
    }
    ElfObject object;
    object.sections.resize(file.e_shnum);
    for (size_t i = 0; i < object.sections.size(); i++) {
        object.sections[i].header = bytes.at<Elf64_Shdr>(file.e_shoff + i * sizeof(Elf64_Shdr));
    }
    const auto section = [&](uint64_t number) -> Section & {
        if (number >= object.sections.size()) {
            throw std::runtime_error("names a section that it does not have");
        }
        return object.sections[number];
    };
    const auto contents = [&](uint64_t number) { return bytes.range(section(number).header.sh_offset, section(number).header.sh_size); };
    const std::string names = contents(file.e_shstrndx);
    for (auto &s : object.sections) {
        s.name = text_at(names, s.header.sh_name);
        if (s.header.sh_type == SHT_SYMTAB) {
            const std::string strings = contents(s.header.sh_link);
            for (const auto &entry : bytes.table<Elf64_Sym>(s.header)) {
                object.symbols.push_back({text_at(strings, entry.st_name), entry});
            }
        } else if (s.is_allocated() && s.header.sh_type != SHT_NOBITS) {
            s.contents = bytes.range(s.header.sh_offset, s.header.sh_size);
        }
    }
    for (const auto &s : object.sections) {
        if (s.header.sh_type == SHT_RELA) {
            section(s.header.sh_info).relocations = bytes.table<Elf64_Rela>(s.header);
        } else if (s.header.sh_type == SHT_GROUP && s.header.sh_info < object.symbols.size()) {
            const auto members = bytes.table<Elf32_Word>(s.header);
            for (size_t i = 1; i < members.size() && members[0] == GRP_COMDAT; i++) {
                section(members[i]).comdat = object.symbols[s.header.sh_info].name;
            }
        }
    }
    return object;
}

}  // namespace halyard
