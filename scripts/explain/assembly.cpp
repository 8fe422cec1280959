#include "explain/assembly.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "kernel/text.h"

namespace halyard {

namespace {

bool all_digits(const std::string &s) {
    return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c); });
}

// `"2_for_y.s0.col.col.us"` of a block's comment: number and name, without what LLVM appends to copies.
bool loop_of_block_name(const std::string &block, int &number, std::string &name) {
    const std::string mark = "_for_";
    const size_t at = block.find(mark);
    if (at == std::string::npos || !all_digits(block.substr(0, at))) {
        return false;
    }
    number = std::atoi(block.c_str());
    name = block.substr(at + mark.size());
    for (bool more = true; more;) {
        more = false;
        const size_t dot = name.rfind('.');
        const std::string last = dot == std::string::npos ? "" : name.substr(dot + 1);
        if (last == "preheader" || last == "split" || last == "loopexit" ||
            (starts_with(last, "us") && (last.size() == 2 || all_digits(last.substr(2))))) {
            name.resize(dot);
            more = true;
        }
    }
    return true;
}

// The text between `begin` and the next blank.
std::string word_after(const std::string &text, const std::string &begin) {
    const size_t at = text.find(begin);
    if (at == std::string::npos) {
        return "";
    }
    const size_t from = at + begin.size();
    return text.substr(from, text.find_first_of(" \t,", from) - from);
}

struct Block {
    std::string label, name, in_loop;  // "BB0_9"; the IR's name; the header of the loop around
    bool header = false, inner = false;
    std::vector<std::string> parents;  // headers of loops around a header, outermost first
    std::vector<std::string> instructions;
};

}  // namespace

Assembly read_assembly(const std::string &text) {
    std::vector<Block> blocks;
    std::string labelled;
    std::istringstream in(text);
    int fallthrough = 0;
    for (std::string line; std::getline(in, line);) {
        const size_t hash = line.find('#');
        const std::string code = trim(line.substr(0, hash)), comment = hash == std::string::npos ? "" : line.substr(hash);
        std::string label;
        if (starts_with(code, ".LBB") && ends_with(code, ":")) {
            label = code.substr(2, code.size() - 3);
        } else if (starts_with(comment, "# %bb.") && code.empty()) {
            label = "fallthrough_" + std::to_string(++fallthrough);
            labelled += "L" + label + ":\n";
        }
        if (!label.empty()) {
            blocks.emplace_back();
            blocks.back().label = label;
            const size_t percent = comment.find("# %", label[0] == 'f' ? 3 : 0);
            std::string name = percent == std::string::npos ? "" : trim(comment.substr(percent + 3));
            if (name.size() > 1 && name[0] == '"') {
                name = name.substr(1, name.size() - 2);
            }
            blocks.back().name = name;
        } else if (!blocks.empty()) {
            Block &b = blocks.back();
            if (code.empty() && !comment.empty()) {
                if (comment.find("Loop Header: Depth") != std::string::npos) {
                    b.header = true;
                    b.inner = comment.find("Inner Loop Header") != std::string::npos;
                } else if (const std::string around = word_after(comment, "in Loop: Header="); !around.empty()) {
                    b.in_loop = around;
                } else if (const std::string parent = word_after(comment, "Parent Loop "); !parent.empty()) {
                    b.parents.push_back(parent);
                }
            } else if (starts_with(code, ".Lfunc_end") || starts_with(code, ".section")) {
                blocks.emplace_back();  // what follows is no block's
            } else if (!code.empty() && code[0] != '.' && code.back() != ':') {
                b.instructions.push_back(code);
            }
        }
        // .LBB0_9 is a label for the assembler only; without the dot it becomes a symbol.
        for (size_t at = line.find(".LBB"); at != std::string::npos; at = line.find(".LBB", at)) {
            line.erase(at, 1);
        }
        labelled += line + "\n";
    }

    Assembly result;
    result.labelled = std::move(labelled);
    std::map<std::string, int> loop_at;  // by header
    std::map<std::string, std::string> parent_of;
    for (const Block &b : blocks) {
        int number = 0;
        std::string name;
        if (b.header && !b.parents.empty()) {
            parent_of[b.label] = b.parents.back();
        }
        if (b.header && loop_of_block_name(b.name, number, name)) {
            loop_at[b.label] = int(result.loops.size());
            result.loops.push_back({b.label, number, name, 0, b.inner, {}});
        }
    }
    // Loops that LLVM made itself, or left without a name, belong to the one around.
    const auto named = [&](std::string header) {
        for (int i = 0; i < 64 && !header.empty() && !loop_at.count(header); i++) {
            header = parent_of.count(header) ? parent_of[header] : "";
        }
        return loop_at.count(header) ? loop_at[header] : -1;
    };
    for (const Block &b : blocks) {
        const std::string header = b.header ? b.label : b.in_loop;
        const int loop = named(header);
        if (!b.label.empty()) {
            result.blocks.push_back({"L" + b.label, loop});
        }
        if (loop >= 0 && result.loops[size_t(loop)].header == header) {
            auto &all = result.loops[size_t(loop)].instructions;
            all.insert(all.end(), b.instructions.begin(), b.instructions.end());
        }
    }
    // Copies that LLVM made of a loop have its number.
    std::map<std::string, std::vector<int>> numbers;
    for (const auto &l : result.loops) {
        auto &n = numbers[l.name];
        if (std::find(n.begin(), n.end(), l.number) == n.end()) {
            n.push_back(l.number);
        }
    }
    for (auto &n : numbers) {
        std::sort(n.second.begin(), n.second.end());
    }
    for (auto &l : result.loops) {
        const auto &n = numbers[l.name];
        l.occurrence = int(std::find(n.begin(), n.end(), l.number) - n.begin());
    }
    return result;
}

}  // namespace halyard
