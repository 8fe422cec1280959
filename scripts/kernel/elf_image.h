#ifndef HALYARD_COMMAND_ELF_IMAGE_H
#define HALYARD_COMMAND_ELF_IMAGE_H

/** \file
 * The file of a shared object for x86-64: where its parts lie, and the tables by which the loader, debuggers and profilers read it.
 */

#include <elf.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace halyard {

uint64_t rounded_up(uint64_t value, uint64_t to);

/** Names one after the other, each once. */
class StringTable {
public:
    uint32_t add(const std::string &text);
    const std::string &text() const {
        return text_;
    }

private:
    std::string text_ = std::string(1, '\0');
    std::map<std::string, uint32_t> at_ = {{"", 0}};
};

class ElfImage {
public:
    static constexpr uint64_t kPage = 4096;

    /** What is mapped alike lies together: first what is only read, then code, then what is written. */
    enum Part { kReadOnly, kCode, kData, kZeros, kParts };

    std::array<std::string, kParts> contents;  // none of kZeros
    uint64_t zeros = 0;                        // bytes of that
    StringTable strings;                       // of the names that the loader reads
    std::vector<uint32_t> needed;              // libraries that it loads too, by their names in `strings`
    std::vector<Elf64_Sym> dynamic_symbols = std::vector<Elf64_Sym>(1);
    std::vector<Elf64_Rela> relocations;  // what it fills in

    /** Fixes where everything lies: the parts above have their sizes, and so have the relocations and the table of addresses. */
    void lay_out(size_t relocation_count, size_t table_entries);

    uint64_t address(Part part) const {
        return part_at_.at(part);
    }
    uint64_t table_address(size_t entry) const {
        return table_at_ + 8 * entry;
    }

    /** A symbol of debuggers and profilers. All local ones come first. */
    void add_symbol(const std::string &name, Elf64_Sym symbol);
    /** The number of a part's section, for symbols. */
    static uint16_t section_of(Part part);

    /** The whole file. */
    std::string bytes() const;

private:
    uint64_t dynamic_size() const;
    std::string hash_table() const;
    std::string dynamic_section() const;
    uint64_t append_sections(std::string &file) const;
    std::string headers(uint64_t sections_at) const;

    StringTable names_;
    std::vector<Elf64_Sym> symbols_ = std::vector<Elf64_Sym>(1);
    std::array<uint64_t, kParts> part_at_ = {};
    uint64_t hash_at_ = 0, symbols_at_ = 0, strings_at_ = 0, relocations_at_ = 0, dynamic_at_ = 0, table_at_ = 0, end_of_file_ = 0,
             end_ = 0;
};

}  // namespace halyard

#endif
