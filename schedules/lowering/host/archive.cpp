#include "lowering/host/archive.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace halyard {

namespace {

const std::string kMagic = "!<arch>\n";
constexpr size_t kHeader = 60, kNameField = 16, kSizeAt = 48, kSizeField = 10;

std::string trimmed(std::string s) {
    s.resize(s.find_last_not_of(' ') + 1);
    return s;
}

uint32_t big_endian(const std::string &s, size_t at) {
    uint32_t value = 0;
    for (size_t i = at; i < at + 4; i++) {
        value = value << 8 | static_cast<unsigned char>(s.at(i));
    }
    return value;
}

void set_big_endian(std::string &s, size_t at, uint32_t value) {
    for (size_t i = at + 4; i-- > at; value >>= 8) {
        s.at(i) = static_cast<char>(value & 255);
    }
}

size_t padded(size_t size) {
    return size + size % 2;
}

}  // namespace

Archive::Archive(const std::string &bytes) {
    if (bytes.compare(0, kMagic.size(), kMagic) != 0) {
        throw std::runtime_error("is not a static library");
    }
    std::string long_names;
    for (size_t at = kMagic.size(); at < bytes.size();) {
        Member m;
        m.offset = at;
        m.header = bytes.substr(at, kHeader);
        const size_t size = std::strtoull(m.header.substr(std::min(kSizeAt, m.header.size()), kSizeField).c_str(), nullptr, 10);
        if (m.header.size() < kHeader || at + kHeader + size > bytes.size()) {
            throw std::runtime_error("is a static library cut short");
        }
        m.contents = bytes.substr(at + kHeader, size);
        const std::string field = trimmed(m.header.substr(0, kNameField));
        if (field == "//") {
            long_names = m.contents;
        } else if (field == "/SYM64/") {
            throw std::runtime_error("is a static library of more than 4 GiB");
        } else if (field != "/" && field[0] == '/') {
            const size_t begin = std::strtoull(field.c_str() + 1, nullptr, 10);
            m.name = long_names.substr(std::min(begin, long_names.size()), long_names.find('/', begin) - begin);
        } else if (field != "/") {
            m.name = field.substr(0, field.find('/'));
        }
        members_.push_back(std::move(m));
        at += kHeader + padded(size);
    }
}

std::vector<std::string> Archive::names() const {
    std::vector<std::string> names;
    for (const auto &m : members_) {
        if (!m.name.empty()) {
            names.push_back(m.name);
        }
    }
    return names;
}

std::vector<std::string> Archive::objects() const {
    std::vector<std::string> contents;
    for (const auto &m : members_) {
        if (!m.name.empty()) {
            contents.push_back(m.contents);
        }
    }
    return contents;
}

void Archive::replace(const std::string &name, std::string contents) {
    for (auto &m : members_) {
        if (m.name == name) {
            std::string size = std::to_string(contents.size());
            size.resize(kSizeField, ' ');
            m.header.replace(kSizeAt, kSizeField, size);
            m.contents = std::move(contents);
            return;
        }
    }
    throw std::runtime_error("has no member " + name);
}

void Archive::set_symbols(const std::vector<std::vector<std::string>> &of_members) {
    const auto is_table = [](const Member &m) { return trimmed(m.header.substr(0, kNameField)) == "/"; };
    members_.erase(std::remove_if(members_.begin(), members_.end(), is_table), members_.end());
    std::string places, texts;
    size_t number = 0;
    for (auto &m : members_) {
        if (m.name.empty()) {
            continue;
        }
        for (const auto &symbol : of_members.at(number)) {
            places.resize(places.size() + 4);
            set_big_endian(places, places.size() - 4, static_cast<uint32_t>(m.offset));
            texts += symbol + '\0';
        }
        number++;
    }
    if (places.empty()) {
        return;
    }
    Member table;
    table.contents = std::string(4, '\0') + places + texts;
    set_big_endian(table.contents, 0, static_cast<uint32_t>(places.size() / 4));
    table.contents.resize(padded(table.contents.size()), '\0');
    const auto field = [&](std::string text, size_t width) {
        text.resize(width, ' ');
        table.header += text;
    };
    // As LLVM writes it: no time, no owner, no mode.
    field("/", kNameField);
    field("0", 12);
    field("0", 6);
    field("0", 6);
    field("0", 8);
    field(std::to_string(table.contents.size()), kSizeField);
    table.header += "`\n";
    table.offset = 0;  // where no member was
    members_.insert(members_.begin(), std::move(table));
}

std::string Archive::bytes() const {
    std::map<size_t, size_t> moved;  // where headers were, and where they go
    size_t end = kMagic.size();
    for (const auto &m : members_) {
        moved[m.offset] = end;
        end += kHeader + padded(m.contents.size());
    }
    std::string bytes = kMagic;
    for (const auto &m : members_) {
        std::string contents = m.contents;
        // The symbol table: a count, the place of each symbol's member, the names.
        if (trimmed(m.header.substr(0, kNameField)) == "/") {
            for (uint32_t i = 0, n = big_endian(contents, 0); i < n; i++) {
                const size_t at = 4 + 4 * size_t(i);
                set_big_endian(contents, at, static_cast<uint32_t>(moved.at(big_endian(contents, at))));
            }
        }
        bytes += m.header + contents;
        bytes.resize(bytes.size() + padded(contents.size()) - contents.size(), '\n');
    }
    return bytes;
}

}  // namespace halyard
