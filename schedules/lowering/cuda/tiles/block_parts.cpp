#include "lowering/cuda/tiles/block_text.h"

#include "lowering/cuda/tensor_cores/warps.h"

namespace halyard {

namespace {

constexpr const char *kParts = "parts";

struct SumOfThread {
    std::string name, count;
    int offset;  // in a part, elements
};

std::vector<SumOfThread> sums_of(const BlockText &text) {
    std::vector<SumOfThread> all;
    int offset = 0;
    for (const auto &name : text.launch.shared_sums()) {
        const int count = text.launch.sums_of_thread(name);
        all.push_back({text.out.name(name), number(count), offset});
        offset += count * text.launch.warps_of_tile() * kWarp;
    }
    return all;
}

}  // namespace

void print_parts_begin(const BlockText &text) {
    text.out.open("if (" + std::string(kPartOfTile) + " != 0) {");
    for (const auto &s : sums_of(text)) {
        text.out.line("#pragma unroll");
        text.out.open("for (int i = 0; i < " + s.count + "; i++) {");
        text.out.line(s.name + "[i] = 0.0f;");
        text.out.close();
    }
    text.out.close();
}

// In the order of the groups, and then of the blocks.
void print_parts_added(const BlockText &text) {
    const BlockLaunch &launch = text.launch;
    const int groups = launch.groups_of_tile(), blocks = launch.blocks_of_tile(), part = launch.bytes_of_part() / 4;
    const std::string threads = number(launch.warps_of_tile() * kWarp), thread = "thread % " + threads, group = kGroupOfTile;
    const auto place = [](const std::string &base, int offset) { return "(" + base + (offset ? " + " + number(offset) : "") + ")"; };
    text.out.open("{");
    text.out.line("const shared<float> " + std::string(kParts) + " = shared_array<float>(" + number(launch.offset_parts()) + ", " +
                  number(launch.parts() * part) + ");");
    if (groups > 1) {
        text.out.open("if (" + group + " > 0) {");
        for (const auto &s : sums_of(text)) {
            text.out.line("give_part<" + s.count + ", " + threads + ">(" + s.name + ", " +
                          place(kParts + (" + (" + group) + " - 1) * " + number(part), s.offset) + ", " + thread + ");");
        }
        text.out.close();
        print_parts_barrier(text);
        text.out.open("if (" + group + " == 0) {");
        for (const auto &s : sums_of(text)) {
            text.out.line("add_parts_of_warps<" + number(groups - 1) + ", " + s.count + ", " + threads + ", " + number(part) + ">(" +
                          s.name + ", " + place(kParts, s.offset) + ", " + thread + ");");
        }
        text.out.close();
        print_parts_barrier(text);
    }
    if (blocks > 1) {
        const int own = (groups - 1) * part;
        text.out.open("if (" + group + " == 0 && " + kBlockOfTile + " > 0) {");
        for (const auto &s : sums_of(text)) {
            text.out.line("give_part<" + s.count + ", " + threads + ">(" + s.name + ", " + place(kParts, own + s.offset) + ", " + thread +
                          ");");
        }
        text.out.close();
        print_cluster_barrier(text);
        text.out.open("if (" + std::string(kPartOfTile) + " == 0) {");
        for (const auto &s : sums_of(text)) {
            text.out.line("add_parts_of_blocks<" + number(blocks) + ", " + s.count + ", " + threads + ">(" + s.name + ", " +
                          place(kParts, own + s.offset) + ", " + thread + ");");
        }
        text.out.close();
    }
    text.out.close();
}

void print_parts_barrier(const BlockText &text) {
    text.out.line("parts_barrier<" + number(text.launch.warps(Role::kMultiply) * kWarp) + ">();");
}

void print_cluster_barrier(const BlockText &text) {
    if (text.launch.blocks_of_tile() > 1) {
        text.out.line("cluster_barrier<" + number(text.launch.threads()) + ">();");
    }
}

}  // namespace halyard
