#include "explore/space/nest_builder.h"

#include <algorithm>
#include <cmath>

namespace halyard::explore {

namespace {

class Builder {
public:
    Builder(const Description &d, const NestRequest &r, Choices &choices) : d_(d), r_(r), choices_(choices), f_(*r.func) {
        nest_.func = f_.name;
        nest_.stage = f_.reduction() ? 1 : 0;
        // An update that stores elsewhere than where it stands has no loop over that dimension.
        for (const auto &dim : f_.dims) {
            if (f_.stages[size_t(nest_.stage)].loop(dim)) {
                dims_.push_back(dim);
            }
        }
    }

    Nest rows() {
        const bool lanes = !f_.reduction() && !(r_.statistics && dims_.size() == 1) && !dims_.empty() && !r_.natural.count(dims_[0]) &&
                           2 * extent(dims_[0]) >= d_.lanes();
        std::vector<std::string> serial, job;
        const bool along =
            !r_.strip.empty() && !r_.natural.count(r_.strip) && choices_.yes("lanes of " + f_.name + " along " + r_.strip, true);
        int64_t strip = 0;
        if (along) {
            nest_.vector = r_.strip;
            nest_.inside = r_.sum;
            const int64_t lanes_of_strip = d_.lanes();
            strip = choices_.number("strip of " + f_.name,
                                    {lanes_of_strip, 2 * lanes_of_strip, 4 * lanes_of_strip, 8 * lanes_of_strip, 16 * lanes_of_strip},
                                    4 * lanes_of_strip, int64_t(extent(r_.strip)));
            if (extent(r_.strip) < 2.0 * r_.threads * double(strip)) {
                strip = 0;  // tasks are those of other loops
            }
        }
        if (lanes) {
            nest_.vector = dims_[0];
            const double most = std::max(1.0, extent(dims_[0]) / d_.lanes());
            // Short rows that are whole half vectors: a masked rest in each row costs more.
            const auto size = int64_t(extent(dims_[0]));
            nest_.half_vectors =
                size % d_.lanes() != 0 && size % (d_.lanes() / 2) == 0 && most < 8 && choices_.yes("half vectors of " + f_.name, true);
            if (!nest_.half_vectors) {
                const int64_t guess = std::max<int64_t>(r_.cost > 8 ? 2 : 1, 4 / std::max(f_.bytes, 1));
                nest_.vectors = choices_.number("vectors of " + f_.name, {1, 2, 4}, guess, int64_t(most));
            }
        }
        const bool tiled = strip > 0 || (lanes && r_.root && r_.columns.count(nest_.vector));
        if (tiled) {
            Cut c = new_cut(nest_.vector);
            c.tile = strip > 0 ? strip : r_.columns.at(nest_.vector);
            nest_.cuts.push_back(c);
        }
        std::vector<std::string> still;
        for (const auto &dim : dims_) {
            if (dim != nest_.vector && r_.still.count(dim) && choices_.yes(dim + " of " + f_.name + " inside", true)) {
                still.push_back(dim);
            }
        }
        // Parallel from the outermost loop inwards, until there is enough for all.
        double parallel = 1;
        for (auto dim = dims_.rbegin(); dim != dims_.rend(); ++dim) {
            if (*dim == nest_.vector || std::count(still.begin(), still.end(), *dim)) {
                continue;
            }
            if (r_.root && !tiled && (parallel < 16 * r_.threads || extent(*dim) <= 1)) {
                job.insert(job.begin(), *dim);
                parallel *= std::ceil(extent(*dim) / double(natural(*dim)));
            } else {
                serial.insert(serial.begin(), *dim);
            }
        }
        if (!tiled && (parallel < 2 || (dims_.size() == 1 && extent(dims_[0]) < 4 && !r_.statistics))) {
            serial.insert(serial.end(), job.begin(), job.end());
            job.clear();
        }
        serial.insert(serial.begin(), still.begin(), still.end());
        for (const auto &dim : dims_) {
            Cut c = new_cut(dim);
            if (cut(dim)) {
                continue;
            }
            c.tile = natural(dim);
            if (!job.empty() && dim == first_wide(job)) {
                const double units = std::ceil(extent(dim) / double(c.tile));
                const double enough = std::max(1.0, parallel / (8.0 * r_.threads));
                int64_t guess = int64_t(std::min(r_.windows ? 64.0 : 8.0, enough));
                guess = r_.lanes.count(dim) && extent(dim) >= 2.0 * r_.threads * d_.lanes() ? std::max<int64_t>(guess, d_.lanes()) : guess;
                c.task = choices_.number("task of " + f_.name, {1, 2, 4, 8, 16, 32, 64, 128}, guess, int64_t(units));
                c.task = c.task == 1 ? 0 : c.task;
            }
            if (c.keeps_name && c.task == 0 && job.size() > 1 && std::count(job.begin(), job.end(), dim)) {
                c.task = 1;  // the loop itself is fused with others
            }
            if (c.tile > 1 || c.task > 0) {
                nest_.cuts.push_back(c);
            }
        }
        if (tiled) {
            const std::string dim = nest_.vector;
            nest_.vector = dim + "_in";
            add_level(nest_.vector, dim, double(cut(dim)->tile), false).vector = true;
            // Not fused with others: Halide does not see how far a panel goes then.
            job.push_back(dim);
        } else if (!nest_.vector.empty()) {
            add_level(nest_.vector, nest_.vector, extent(nest_.vector), false).vector = true;
        }
        for (const auto &dim : serial) {
            add_serial(dim);
        }
        for (const auto &dim : job) {
            const Cut *c = cut(dim);
            if (c && c->tile > 1 && dim + "_in" != nest_.vector) {
                add_level(dim + "_in", dim, double(c->tile), false);
            }
        }
        for (const auto &dim : job) {
            const Cut *c = cut(dim);
            if (c && c->task > 0) {
                add_level(c->step(), dim, std::min(double(c->task), std::ceil(extent(dim) / double(c->tile))), false);
            }
        }
        add_job(job);
        const bool large = f_.output && f_.size() >= (16 << 20);
        if (f_.output && !f_.reduction() && f_.size() >= (2 << 20)) {
            nest_.stream = choices_.yes("stream " + f_.name, large);
        }
        return nest_;
    }

    // Tiles of a few sums each, whose reductions are in the SIMD lanes: rows in it, then down the columns.
    Nest dots() {
        const HostedProduct &hosted = r_.products.front();
        const Product &p = *hosted.product;
        std::string column, row;
        std::vector<std::string> others;
        for (const auto &dim : f_.dims) {
            const auto moves = [&](const std::set<std::string> &side) {
                return std::any_of(side.begin(), side.end(), [&](const std::string &l) {
                    const auto it = hosted.drivers.find(l);
                    return it != hosted.drivers.end() && it->second.count(dim) > 0;
                });
            };
            if (column.empty() && moves(p.columns) && extent(dim) > 1) {
                column = dim;
            } else if (row.empty() && moves(p.rows) && extent(dim) > 1) {
                row = dim;
            } else {
                others.push_back(dim);
            }
        }
        std::vector<std::string> job;
        if (!column.empty()) {
            Cut c = new_cut(column);
            c.tile = choices_.number("columns of " + f_.name, {2, 4, 8}, 4, int64_t(extent(column)));
            c.registers = true;
            c.shifted = !p.clamped;
            const auto units = int64_t(std::ceil(extent(column) / double(c.tile)));
            c.task = r_.root ? choices_.number("task of " + f_.name, {2, 4, 8, 16, 32, 64}, 4, units) : 0;
            nest_.cuts.push_back(c);
            add_level(column + "_in", column, double(c.tile), true).vector = true;
            nest_.vector = column + "_in";
            nest_.vectors = 0;
        }
        if (!row.empty()) {
            Cut c = new_cut(row);
            c.tile = choices_.number("rows of " + f_.name, {1, 2, 4}, 4, int64_t(extent(row)));
            c.registers = true;
            c.shifted = c.tile > 1;
            if (c.tile > 1) {
                nest_.cuts.push_back(c);
                add_level(row + "_in", row, double(c.tile), true);
            }
            add_level(c.tile > 1 ? c.outermost() : row, row, std::ceil(extent(row) / double(c.tile)), false);
        }
        if (const Cut *c = column.empty() ? nullptr : cut(column)) {
            const double units = std::ceil(extent(column) / double(c->tile));
            if (c->task > 0) {
                add_level(c->step(), column, std::min(double(c->task), units), false);
            }
            if (r_.root) {
                job.push_back(column);
            } else {
                add_level(c->outermost(), column, units, false);
            }
        }
        if (r_.root) {
            job.insert(job.end(), others.begin(), others.end());
            add_job(job);
        } else {
            for (const auto &dim : others) {
                add_level(dim, dim, extent(dim), false);
            }
        }
        return nest_;
    }

    // Square tiles that are read along one dimension and stored along the other.
    Nest turned() {
        const Product &p = *r_.products.front().product;
        const auto moved = r_.products.front().drivers.find(p.vector);
        const std::string inner = f_.dims[0];
        const std::string line = moved == r_.products.front().drivers.end() || moved->second.empty() ? f_.dims[1] : *moved->second.begin();
        const int64_t size = choices_.number("tile of " + f_.name, {4, 8, 16}, 8);
        std::vector<std::string> others;
        for (const auto &dim : f_.dims) {
            if (dim != inner && dim != line) {
                others.push_back(dim);
            }
        }
        for (const std::string &dim : {inner, line}) {
            Cut c = new_cut(dim);
            c.tile = size;
            c.registers = c.shifted = true;
            const auto units = int64_t(std::ceil(extent(dim) / double(size)));
            c.task = choices_.number((dim == inner ? "block of " : "task of ") + f_.name, {2, 4, 8, 16, 32}, dim == inner ? 16 : 4, units);
            nest_.cuts.push_back(c);
            add_level(dim + "_in", dim, double(size), true).vector = dim == inner;
        }
        for (const Cut &c : nest_.cuts) {
            add_level(c.step(), c.dim, double(c.task), false);
        }
        add_level(nest_.cuts[0].outermost(), inner, std::ceil(extent(inner) / double(size * nest_.cuts[0].task)), false);
        nest_.vector = inner + "_in";
        nest_.vectors = 0;
        std::vector<std::string> job = {line};
        job.insert(job.end(), others.begin(), others.end());
        add_job(job);
        if (f_.output && f_.size() >= (2 << 20)) {
            nest_.stream = choices_.yes("stream " + f_.name, f_.size() >= (16 << 20));
        }
        return nest_;
    }

    Nest tiles() {
        const HostedProduct &hosted = r_.products.front();
        const Product &p = *hosted.product;
        const Func &acc = *d_.func(p.func);
        const auto moved_by = [&](const std::string &dim) {
            const auto it = hosted.drivers.find(dim);
            return it == hosted.drivers.end() || it->second.empty() ? std::string() : *it->second.begin();
        };
        const std::string column = p.vector.empty() ? "" : moved_by(p.vector);
        std::vector<std::string> rows, others;
        for (const auto &dim : f_.dims) {
            if (dim == column) {
                continue;
            }
            const bool row = std::any_of(p.rows.begin(), p.rows.end(), [&](const std::string &l) {
                const auto it = hosted.drivers.find(l);
                return it != hosted.drivers.end() && it->second.count(dim) > 0;
            });
            (row && extent(dim) > 1 && !p.columns.count(dim) ? rows : others).push_back(dim);
        }
        // Columns: whole panels, or some vectors.
        const int lanes = d_.lanes();
        double wide = p.vector.empty() ? 1 : acc.extent(p.vector);
        if (!column.empty()) {
            Cut c = new_cut(column);
            const int64_t all = int64_t(extent(column));
            c.tile = p.panel > 0 ? p.panel : columns_of(column, all);
            if (p.stencil) {
                c.tile = lanes;
            }
            c.registers = true;
            c.shifted = p.panel == 0 && !p.clamped && all >= c.tile && !p.mma;
            wide = double(c.tile);
            nest_.cuts.push_back(c);
            nest_.vector = column + "_in";
            nest_.whole_vectors = true;
        }
        const double vectors = std::max(1.0, std::ceil(wide / lanes));
        // With 16 registers, two rows of 48 columns are slower than one, although their number would allow them. Part of a panel and more
        // rows, as lib/gemm.lua has it there, are faster than both; these rules have no parts of panels.
        const int64_t registers = d_.vector_registers - 3;
        const int64_t most = std::max<int64_t>(1, int64_t((double(registers) - (vectors > 3 ? vectors - 3 : 0)) / vectors));
        nest_.mma = p.mma;
        if (p.mma && !rows.empty()) {
            // Tiles have 16 rows; of two by two of them the rows of weights that are loaded are used twice.
            Cut c = new_cut(rows[0]);
            c.tile = r_.natural.count(c.dim) ? r_.natural.at(c.dim)
                                             : choices_.number("rows of " + f_.name, {16, 32, 64, 128}, 32, int64_t(extent(c.dim)));
            nest_.cuts.push_back(c);
        } else if (!rows.empty()) {
            Cut c = new_cut(rows[0]);
            const double units = extent(c.dim);
            c.tile = r_.natural.count(c.dim)
                         ? r_.natural.at(c.dim)
                         : choices_.number("rows of " + f_.name, {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16},
                                           best_rows(units, vectors, p.stencil ? 4 : most), std::min<int64_t>(most, int64_t(units)));
            c.registers = true;
            c.shifted = !r_.natural.count(c.dim);
            nest_.cuts.push_back(c);
            if (p.stencil && rows.size() > 1) {
                Cut second = new_cut(rows[1]);
                second.tile = choices_.number("second rows of " + f_.name, {1, 2, 3, 4}, 2,
                                              std::min<int64_t>(most / c.tile, int64_t(extent(rows[1]))));
                second.registers = second.shifted = second.tile > 1;
                nest_.cuts.push_back(second);
            }
        }
        nest_.unroll_rows = !p.mma && choices_.yes("unroll rows of " + f_.name, rows.size() > 1);
        nest_.one_piece = p.stencil && choices_.yes("borders of " + f_.name + " in one piece", true);
        // A task takes some of the last rows, while the panel of columns stays in cache.
        std::vector<std::string> steps, job;
        if (r_.root && !rows.empty()) {
            const std::string last = rows.size() > 1 ? rows[1] : rows[0];
            Cut *c = cut(last);
            if (!c) {
                nest_.cuts.push_back(new_cut(last));
                c = &nest_.cuts.back();
            }
            const double units = std::ceil(extent(last) / double(c->tile));
            double jobs = units;
            for (const auto &dim : others) {
                jobs *= extent(dim);
            }
            jobs *= column.empty() ? 1 : std::ceil(extent(column) / wide);
            const int64_t guess = int64_t(std::min({16.0, units, std::max(1.0, jobs / (4.0 * r_.threads))}));
            c->task =
                choices_.number("task of " + f_.name, {1, 2, 4, 8, 16, 32, 64, 128, 256}, guess, std::max<int64_t>(1, int64_t(units)));
            c->task = c->task == 1 ? 0 : c->task;
        }
        if (!column.empty()) {
            add_level(column + "_in", column, wide, true).vector = true;
        }
        for (const auto &dim : rows) {
            if (const Cut *c = cut(dim); c && c->tile > 1) {
                add_level(dim + "_in", dim, double(c->tile), true);
            }
        }
        for (size_t i = 0; i < rows.size(); i++) {
            const Cut *c = cut(rows[i]);
            const double units = std::ceil(extent(rows[i]) / double(c ? c->tile : 1));
            const bool last = i == (rows.size() > 1 ? 1 : 0);
            if (c && c->task > 0) {
                add_level(c->step(), rows[i], std::min(double(c->task), units), false);
                job.push_back(rows[i]);
            } else if (r_.root && (last || i > 1)) {
                job.push_back(rows[i]);
            } else {
                add_level(c && c->tile > 1 ? c->outermost() : rows[i], rows[i], units, false);
            }
        }
        // What only rows move, then columns, then what moves both: weights of a group of channels are others.
        const auto moves_rows = [&](const std::string &dim) {
            return std::any_of(p.rows.begin(), p.rows.end(), [&](const std::string &l) {
                const auto it = hosted.drivers.find(l);
                return it != hosted.drivers.end() && it->second.count(dim) > 0;
            });
        };
        std::vector<std::string> rest, batch;
        for (const auto &dim : others) {
            (moves_rows(dim) ? rest : batch).push_back(dim);
        }
        const bool inside = !column.empty() && (p.stencil || (r_.statistics && extent(column) <= 256));
        if (inside && r_.root && choices_.yes("columns of " + f_.name + " inside", true)) {
            // The columns of a pixel lie together; what belongs to rows is computed once for all columns.
            const auto steps = std::find_if(nest_.levels.begin(), nest_.levels.end(), [&](const Level &l) { return !l.inside_tile; });
            nest_.levels.insert(
                p.stencil ? nest_.levels.end() : steps,
                {cut(column)->outermost(), {column}, std::ceil(extent(column) / wide), {std::ceil(extent(column) / wide)}, false, false});
        } else if (!column.empty()) {
            if (Cut *c = cut(column); p.mma && r_.root && c) {
                // Each task configures the tiles. Of float32 it makes the parts of its rows, too, once for all of its panels.
                const double panels = std::ceil(extent(column) / wide);
                c->task = choices_.number("panels of a task of " + f_.name, {1, 2, 4, 8, 16, 32}, p.group == 1 ? 16 : 2, int64_t(panels));
                c->task = c->task == 1 ? 0 : c->task;
                if (c->task > 0) {
                    add_level(c->step(), column, std::min(double(c->task), panels), false);
                }
            }
            const bool first = !r_.root || choices_.pick("order of " + f_.name, {"rows", "columns"}, "rows") == "rows";
            rest.insert(first ? rest.end() : rest.begin(), column);
        }
        rest.insert(rest.end(), batch.begin(), batch.end());
        if (r_.root) {
            job.insert(job.end(), rest.begin(), rest.end());
            add_job(job);
        } else {
            for (const auto &dim : rest) {
                const Cut *c = cut(dim);
                add_level(c && c->tile > 1 ? c->outermost() : dim, dim, std::ceil(extent(dim) / double(c ? c->tile : 1)), false);
            }
        }
        return nest_;
    }

private:
    double extent(const std::string &dim) const {
        const auto it = r_.region.find(dim);
        return it == r_.region.end() ? f_.extent(dim) : it->second;
    }

    // Of a tile of registers. One that goes on from one group of columns to the next, as from head to head, would need the sums of both.
    int64_t columns_of(const std::string &column, int64_t all) {
        const int64_t lanes = d_.lanes(), group = natural(column);
        std::vector<int64_t> options;
        for (const int64_t n : {lanes, 2 * lanes, 3 * lanes, 4 * lanes}) {
            if (group == 1 || group % n == 0) {
                options.push_back(n);
            }
        }
        options = options.empty() ? std::vector<int64_t>{lanes} : options;
        const int64_t guess = group > 1 ? options.back() : all % (3 * lanes) == 0 || all > 12 * lanes ? 3 * lanes : 4 * lanes;
        return choices_.number("columns of " + f_.name, options, guess, std::max<int64_t>(all, lanes));
    }

    int64_t natural(const std::string &dim) const {
        const auto it = r_.natural.find(dim);
        return it == r_.natural.end() || double(it->second) > extent(dim) ? 1 : it->second;
    }

    Cut new_cut(const std::string &dim) const {
        Cut c{dim};
        c.keeps_name = r_.named.count(dim) > 0;
        return c;
    }

    Cut *cut(const std::string &dim) {
        for (Cut &c : nest_.cuts) {
            if (c.dim == dim) {
                return &c;
            }
        }
        return nullptr;
    }

    std::string first_wide(const std::vector<std::string> &job) const {
        for (const auto &dim : job) {
            if (extent(dim) / double(natural(dim)) > 1) {
                return dim;
            }
        }
        return "";
    }

    // Many sums for what is loaded, and few that are computed twice at the end.
    static int64_t best_rows(double extent, double vectors, int64_t most) {
        int64_t best = 1;
        double best_score = 0;
        for (int64_t r = 1; r <= std::min<int64_t>(most, 16); r++) {
            const double used = extent / (std::ceil(extent / double(r)) * double(r));
            const double score = used * (vectors * double(r)) / (vectors + double(r));
            if (score > best_score * 1.001) {
                best = r;
                best_score = score;
            }
        }
        return best;
    }

    Level &add_level(const std::string &name, const std::string &dim, double extent, bool inside) {
        nest_.levels.push_back({name, {dim}, extent, {extent}, inside, false});
        return nest_.levels.back();
    }

    void add_serial(const std::string &dim) {
        const Cut *c = cut(dim);
        if (c && c->tile > 1) {
            add_level(dim + "_in", dim, double(c->tile), false);
            add_level(c->outermost(), dim, std::ceil(extent(dim) / double(c->tile)), false);
        } else {
            add_level(dim, dim, extent(dim), false);
        }
    }

    void add_job(const std::vector<std::string> &dims) {
        if (dims.empty()) {
            return;
        }
        Level l;
        for (const auto &dim : dims) {
            const Cut *c = cut(dim);
            const bool split = c && (c->tile > 1 || c->task > 0);
            nest_.job.push_back(split ? c->outermost() : dim);
            l.dims.push_back(dim);
            l.extents.push_back(std::ceil(extent(dim) / double((c ? c->tile : 1) * (c && c->task > 0 ? c->task : 1))));
            l.extent *= l.extents.back();
        }
        l.name = nest_.job.size() == 1 ? nest_.job[0] : "job";
        nest_.levels.push_back(l);
    }

    const Description &d_;
    const NestRequest &r_;
    Choices &choices_;
    const Func &f_;
    std::vector<std::string> dims_;  // with loops
    Nest nest_;
};

}  // namespace

Nest build_nest(const Description &d, const NestRequest &r, Choices &choices) {
    Builder builder(d, r, choices);
    return r.products.empty()                           ? builder.rows()
           : r.products.front().product->turned         ? builder.turned()
           : r.products.front().product->vector.empty() ? builder.dots()
                                                        : builder.tiles();
}

}  // namespace halyard::explore
