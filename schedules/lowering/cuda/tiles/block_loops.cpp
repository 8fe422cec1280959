#include "lowering/cuda/tiles/block_text.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "lowering/cuda/tensor_cores/warpgroups.h"
#include "lowering/cuda/tiles/row_numbers.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class LoopsOfRole {
public:
    LoopsOfRole(const BlockText &text, Role role) : text_(text), role_(role) {}

    // Of a tile. What is not in a loop whose steps are shared is done by the first part.
    void tile(const TileBody &all) {
        const auto shared = text_.launch.shared_loops();
        if (role_ != Role::kMultiply || shared.end == 0) {
            body(all, 0, all.size());
            return;
        }
        by_first_part(all, 0, shared.first);
        print_parts_begin(text_);
        body(all, shared.first, shared.end);
        print_parts_added(text_);
        by_first_part(all, shared.end, all.size());
    }

private:
    void by_first_part(const TileBody &all, size_t first, size_t end) {
        if (first < end) {
            text_.out.open("if (" + std::string(kPartOfTile) + " == 0) {");
            body(all, first, end);
            text_.out.close();
        }
    }

    void body(const TileBody &body, size_t first, size_t end) {
        for (size_t i = first; i < end; i++) {
            if (role_ == Role::kCompute) {
                compute_for(body, i);
                if (concerns(body[i])) {
                    node(body[i]);
                }
                continue;
            }
            for_each_use(body, [&](const Stream &s, const StreamUse &use) {
                if (use.first == i && s.to == role_) {
                    text_.out.line("warp_wait(&" + full(s) + "[" + stage(s) + "], " + phase(s) + ");");
                    if (text_.launch.by_wgmma() && is_engine() && text_.launch.threads_fetch(s, text_.fetching)) {
                        text_.out.line("fence_received();");
                    }
                }
            });
            for_each_use(body, [&](const Stream &s, const StreamUse &use) {
                if (use.first == i && s.from == role_) {
                    fill(s, use);
                }
            });
            if (concerns(body[i])) {
                node(body[i]);
            }
            for_each_use(body, [&](const Stream &s, const StreamUse &use) {
                if (use.last == i && s.to == role_) {
                    drained(s);
                }
            });
        }
        if (!in_pipelined_loop_) {
            finish_products();
        }
    }

    bool is_engine() const {
        return text_.fetching == Fetching::kEngine;
    }

    bool concerns(const TileNode &n) const {
        if (role_ == Role::kMultiply) {
            return true;
        }
        if (!n.body) {
            return false;
        }
        const auto &all = text_.launch.streams().all();
        const bool own = std::any_of(all.begin(), all.end(), [&](const Stream &s) {
            return (s.from == role_ || s.to == role_) &&
                   std::any_of(s.uses.begin(), s.uses.end(), [&](const StreamUse &use) { return use.level == n.body.get(); });
        });
        return own || std::any_of(n.body->begin(), n.body->end(), [&](const TileNode &inner) { return concerns(inner); });
    }

    static bool has_only_products(const TileBody &body) {
        return std::all_of(body.begin(), body.end(),
                           [](const TileNode &n) { return n.kind == TileNode::kProduct || n.kind == TileNode::kPromise; });
    }

    void for_each_use(const TileBody &body, const std::function<void(const Stream &, const StreamUse &)> &act) const {
        for (const auto &s : text_.launch.streams().all()) {
            for (const auto &use : s.uses) {
                if (use.level == &body) {
                    act(s, use);
                }
            }
        }
    }

    // A group whose turn it is not goes on to the next slot, and waits for nothing.
    void compute_for(const TileBody &body, size_t i) {
        std::vector<const Stream *> sources;
        for_each_use(body, [&](const Stream &s, const StreamUse &use) {
            if (use.first == i && s.to == role_) {
                sources.push_back(&s);
            }
        });
        for_each_use(body, [&](const Stream &s, const StreamUse &use) {
            if (use.first != i || s.from != role_) {
                return;
            }
            const int groups = text_.launch.groups_of_compute();
            text_.out.open("if (" + (groups > 1 ? stage(s) + " % " + number(groups) : "0") + " == compute_group) {");
            for (const auto *source : sources) {
                text_.out.line("warp_wait(&" + full(*source) + "[" + stage(*source) + "], " + phase(*source) + ");");
            }
            fill(s, use);
            for (const auto *source : sources) {
                give_back(*source, stage(*source));
            }
            text_.out.close();
            next(s);
            for (const auto *source : sources) {
                next(*source);
            }
        });
    }

    void node(const TileNode &n) {
        switch (n.kind) {
        case TileNode::kLoop: loop(n); break;
        case TileNode::kIf:
            finish_products();
            text_.out.open("if (" + text_.e(n.condition) + ") {");
            print_numbers(text_, n.numbers);
            body(*n.body, 0, n.body->size());
            text_.out.close();
            break;
        case TileNode::kPromise:
            if (role_ == Role::kMultiply) {
                text_.out.line("expect(" + text_.e(n.condition) + ");");
            }
            break;
        case TileNode::kProduct:
            if (role_ == Role::kMultiply) {
                multiply(n);
            }
            break;
        case TileNode::kNest:
            finish_products();
            print_nest(text_, n.nest);
            break;
        }
    }

    // Where a loop has products alone, those of a turn are still under way in the next: its slots are given back one turn later, if there are
    // others to fill meanwhile.
    void loop(const TileNode &n) {
        finish_products();
        const bool computed = std::any_of(n.body->begin(), n.body->end(), [](const TileNode &p) { return p.product.a.value.defined(); });
        const auto products = std::count_if(n.body->begin(), n.body->end(), [](const TileNode &p) { return p.kind == TileNode::kProduct; });
        std::vector<const Stream *> &own = streams_of_loop_;
        own.clear();
        for_each_use(*n.body, [&](const Stream &s, const StreamUse &) {
            if (s.to == role_) {
                own.push_back(&s);
            }
        });
        const bool shared = text_.launch.is_shared(n);
        const int blocks = shared ? text_.launch.blocks_of_tile() : 1, groups = shared ? text_.launch.groups_of_tile() : 1;
        const bool can_wait = std::all_of(own.begin(), own.end(), [&](const Stream *s) { return s->slots > groups; });
        const bool pipelined =
            role_ == Role::kMultiply && text_.launch.by_wgmma() && can_wait && has_only_products(*n.body) && (!computed || products == 1);
        takes_turns_ = role_ == Role::kMultiply && groups > 1;
        if (takes_turns_) {
            if (&n != &text_.program.body[text_.launch.shared_loops().first]) {
                print_parts_barrier(text_);  // slots of the loop before may become another group's
            }
            to_own_turn(own);
        }
        if (pipelined) {
            text_.out.open("{");
            for (const auto *s : own) {
                text_.out.line("int " + before(*s) + " = -1;  // the slot of the turn before, which may still be read");
            }
        }
        const bool has_lines = know_lines(n);
        const std::string v = text_.out.name(n.loop), min = text_.e(n.min), end = text_.e(simplify(n.min + n.extent));
        const std::string first = blocks > 1 ? in_parentheses(min) + " + " + kBlockOfTile : min;
        if (role_ == Role::kMultiply && computed && products == 1 && has_only_products(*n.body)) {
            numbers_before(n, blocks, groups);
        }
        const int each = takes_turns_ ? blocks * groups : blocks;
        const std::string own_first =
            takes_turns_ ? in_parentheses(first) + " + " + kGroupOfTile + (blocks > 1 ? " * " + number(blocks) : "") : first;
        text_.out.open("for (int " + v + " = " + own_first + "; " + v + " < " + end + "; " + v + (each > 1 ? " += " + number(each) : "++") +
                       ") {");
        in_pipelined_loop_ = pipelined;
        body(*n.body, 0, n.body->size());
        in_pipelined_loop_ = false;
        if (pipelined) {
            text_.out.line("wgmma_commit();");
            if (!computed) {
                text_.out.line("wgmma_wait<1>();");
            }
            for (const auto *s : own) {
                if (!computed) {
                    give_back(*s, before(*s), before(*s) + " >= 0 && ");
                }
                text_.out.line(before(*s) + " = " + stage(*s) + ";");
                done_with(*s);
            }
            begun_ = false;
        }
        if (takes_turns_) {
            for (const auto *s : own) {
                forward(*s, groups);
            }
        }
        text_.out.close();
        rows_.reset();
        if (pipelined) {
            text_.out.line("wgmma_wait<0>();");
            for (const auto *s : own) {
                give_back(*s, before(*s), before(*s) + " >= 0 && ");
            }
            text_.out.close();
        }
        if (has_lines) {
            text_.out.close();
        }
        if (takes_turns_) {
            behind_all_turns(own, "turns_of_loop(" + first + ", " + end + ", " + number(blocks) + ")");
            takes_turns_ = false;
        }
    }

    // Lines that are taken by an index which the loop does not change.
    bool know_lines(const TileNode &n) {
        if (role_ != Role::kFetch) {
            return false;
        }
        const auto by_index = [&](const StagedTile &t) { return t.operand->line.defined(); };
        const auto changes = [&](const StagedTile &t) { return by_index(t) && expr_uses_var(t.operand->line, n.loop); };
        bool any = false;
        for_each_use(*n.body, [&](const Stream &, const StreamUse &use) {
            const auto &tiles = use.tiles;
            if (std::any_of(tiles.begin(), tiles.end(), by_index) && std::none_of(tiles.begin(), tiles.end(), changes)) {
                if (!any) {
                    text_.out.open("{");
                }
                any = true;
                print_lines(text_, use);
                lines_known_.insert(&use);
            }
        });
        return any;
    }

    // Groups of warps that take turns go from one of their own to the next: the slots between are others'.
    void to_own_turn(const std::vector<const Stream *> &own) {
        text_.out.open("{");
        for (const auto *s : own) {
            text_.out.line("const int " + first_of(stage(*s)) + " = " + stage(*s) + ", " + first_of(phase(*s)) + " = " + phase(*s) + ";");
            forward_by(*s, kGroupOfTile);
        }
    }

    void behind_all_turns(const std::vector<const Stream *> &own, const std::string &turns) {
        for (const auto *s : own) {
            text_.out.line(stage(*s) + " = " + first_of(stage(*s)) + ";");
            text_.out.line(phase(*s) + " = " + first_of(phase(*s)) + ";");
            forward_by(*s, turns);
        }
        text_.out.close();
    }

    static std::string first_of(const std::string &name) {
        return name + "_first";
    }

    void forward_by(const Stream &s, const std::string &turns) {
        text_.out.line("ring_forward<" + number(s.slots) + ">(" + stage(s) + ", " + phase(s) + ", " + turns + ");");
    }

    // By no more turns than there are slots.
    void forward(const Stream &s, int turns) {
        text_.out.line(stage(s) + " += " + number(turns) + ";");
        text_.out.open("if (" + stage(s) + " >= " + number(s.slots) + ") {");
        text_.out.line(stage(s) + " -= " + number(s.slots) + ";");
        text_.out.line(phase(s) + " ^= 1;");
        text_.out.close();
    }

    void next(const Stream &s) {
        if (s.slots == 1) {
            text_.out.line(phase(s) + " ^= 1;");
            return;
        }
        text_.out.open("if (++" + stage(s) + " == " + number(s.slots) + ") {");
        text_.out.line(stage(s) + " = 0;");
        text_.out.line(phase(s) + " ^= 1;");
        text_.out.close();
    }

    // The next turn has the next slot. Who takes turns goes on behind those of others.
    void done_with(const Stream &s) {
        if (!takes_turns_) {
            next(s);
        }
    }

    void give_back(const Stream &s, const std::string &slot, const std::string &condition = "") {
        const bool by_wgmma = text_.launch.is_read_by_wgmma(s);
        if (!by_wgmma && is_engine()) {
            text_.out.line("fence_shared();");  // what was read is read before TMA writes there
        }
        if (!by_wgmma) {
            text_.out.line("__syncwarp();");
        }
        text_.out.open("if (" + condition + (by_wgmma ? "thread % " + number(kWarpgroup) + " == 0" : "lane == 0") + ") {");
        text_.out.line("barrier_arrive(&" + empty(s) + "[" + slot + "]);");
        text_.out.close();
    }

    // Nobody reads the slot any more, but for products that are under way.
    void drained(const Stream &s) {
        if (role_ == Role::kMultiply && text_.launch.by_wgmma()) {
            if (!in_pipelined_loop_) {
                if (begun_) {
                    waiting_.push_back(&s);
                } else {
                    give_back(s, stage(s));
                    done_with(s);
                }
            }
            return;
        }
        give_back(s, stage(s));
        done_with(s);
    }

    void finish_products() {
        if (!begun_) {
            return;
        }
        text_.out.line("wgmma_commit();");
        text_.out.line("wgmma_wait<0>();");
        begun_ = false;
        for (const auto *s : waiting_) {
            give_back(*s, stage(*s));
            done_with(*s);
        }
        waiting_.clear();
    }

    // ---- Filling slots ----

    void fill(const Stream &s, const StreamUse &use) {
        text_.out.line("barrier_wait(&" + empty(s) + "[" + stage(s) + "], " + phase(s) + " ^ 1);");
        if (s.from == Role::kFetch) {
            print_fetches(text_, s, use, lines_known_.count(&use) > 0);
        }
        for (const auto &t : use.tiles) {
            if (s.from == Role::kCompute) {
                print_computed(text_, s, t);
            }
        }
        const bool by_threads = text_.launch.threads_fetch(s, text_.fetching);
        if (s.from == Role::kFetch && !by_threads) {
            next(s);
            return;
        }
        if (by_threads && text_.fetching != Fetching::kElements) {
            text_.out.line("copies_arrive(&" + full(s) + "[" + stage(s) + "]);");
        } else {
            if (text_.launch.by_wgmma() && s.to == Role::kMultiply) {
                text_.out.line("fence_shared();");
            }
            text_.out.line("barrier_arrive(&" + full(s) + "[" + stage(s) + "]);");
        }
        if (s.from == Role::kFetch) {
            next(s);
        }
    }

    // ---- Products ----

    void multiply(const TileNode &n) {
        if (n.product.a.value.defined()) {
            take_rows(n.product);
        }
        if (text_.launch.by_wgmma() && !begun_) {  // products that follow one another are one group
            text_.out.line("wgmma_fence();");
            begun_ = true;
        }
        print_product(text_, n.product, n.begins);
    }

    // In a loop the rows of a turn are computed while those before them are multiplied, and take their place then.
    void take_rows(const TileOfProduct &t) {
        if (!in_pipelined_loop_) {
            finish_products();
            print_rows(text_, rows_ ? rows_->tile : computed_tile(text_, t.a), rows_of(t));
            numbers_of_next_turn();
            return;
        }
        print_rows(text_, rows_->tile, next_rows_of(t));
        numbers_of_next_turn();
        text_.out.line("wgmma_wait<0>();");
        for (const auto *s : streams_of_loop_) {
            give_back(*s, before(*s), before(*s) + " >= 0 && ");
        }
        text_.out.line("replace_registers(" + text_.out.name(rows_of(t)) + ", " + text_.out.name(next_rows_of(t)) + ", none);");
    }

    // Numbers that no turn changes, and those of the first turn.
    void numbers_before(const TileNode &n, int blocks, int groups) {
        const auto product = std::find_if(n.body->begin(), n.body->end(), [](const TileNode &p) { return p.kind == TileNode::kProduct; });
        rows_ = RowsOfLoop{computed_tile(text_, product->product.a), {}, &n, blocks * groups};
        rows_->numbers = take_row_numbers(rows_->tile, rows_of(product->product) + ".number", n.loop, n.min, text_.launch.fragments());
        for (const auto &number : rows_->numbers) {
            declare_row_number(number, text_.out);
        }
        if (rows_->numbers.empty()) {
            return;
        }
        text_.out.open("if (" + text_.e(n.extent > 0) + ") {");
        for (const auto &number : rows_->numbers) {
            if (!number.of_turn) {
                print_row_number(number, rows_->tile, rows_->tile.left, kFirstRow, text_.out);
            }
        }
        numbers_of_turn(in_parentheses(text_.e(n.min)) + (blocks > 1 ? std::string(" + ") + kBlockOfTile : "") +
                        (groups > 1 ? std::string(" + ") + kGroupOfTile + " * " + number(blocks) : ""));
        text_.out.close();
    }

    void numbers_of_next_turn() {
        if (rows_) {
            numbers_of_turn(text_.out.name(rows_->loop->loop) + " + " + number(rows_->turns_apart));
        }
    }

    // Behind the last turn those of the last are loaded once more.
    void numbers_of_turn(const std::string &turn) {
        const auto of_turn = [](const RowNumber &n) { return n.of_turn; };
        if (std::none_of(rows_->numbers.begin(), rows_->numbers.end(), of_turn)) {
            return;
        }
        const TileNode &n = *rows_->loop;
        const Expr next = Variable::make(Int(32), "operand_turn");
        text_.out.open("{");
        text_.out.line("const int " + text_.out.name("operand_turn") + " = minimum(" + turn + ", " +
                       text_.e(simplify(n.min + n.extent - 1)) + ");");
        for (RowNumber number : rows_->numbers) {
            if (number.of_turn) {
                number.load = substitute(n.loop, next, number.load);
                const Expr &left = rows_->tile.left;
                print_row_number(number, rows_->tile, left.defined() ? substitute(n.loop, next, left) : left, kFirstRow, text_.out);
            }
        }
        text_.out.close();
    }

    struct RowsOfLoop {
        ComputedTile tile;
        std::vector<RowNumber> numbers;
        const TileNode *loop = nullptr;
        int turns_apart = 1;  // those of a group of warps
    };

    const BlockText &text_;
    const Role role_;
    std::set<const StreamUse *> lines_known_;
    std::optional<RowsOfLoop> rows_;  // that the loop which is printed computes and multiplies
    bool begun_ = false;              // products by wgmma, which nobody has waited for
    bool in_pipelined_loop_ = false;
    bool takes_turns_ = false;                     // with other groups of warps, in the loop that is printed
    std::vector<const Stream *> waiting_;          // to be given back when they are done
    std::vector<const Stream *> streams_of_loop_;  // that has products alone
};

}  // namespace

void print_numbers(const BlockText &text, const std::vector<NumberOfTile> &numbers) {
    for (const auto &n : numbers) {
        text.out.line("const int " + text.out.name(n.name) + " = " + (is_const_one(n.needed) ? "" : text.e(n.needed) + " ? ") +
                      text.e(n.load) + (is_const_one(n.needed) ? "" : " : 0") + ";");
    }
}

void print_loops(const BlockText &text, Role role) {
    LoopsOfRole(text, role).tile(text.program.body);
}

}  // namespace halyard
