#include "explore/space/cuda_numbers.h"

#include <algorithm>
#include <cmath>

namespace halyard::explore {

namespace {

using Names = std::vector<std::string>;

class Numbers {
public:
    Numbers(CudaKernel &k, const Description &d, const CudaPlaces &places, Choices &choices)
        : k_(k), d_(d), places_(places), f_(*d.func(k.func)), choices_(choices) {}

    void choose() {
        switch (k_.form) {
        case CudaKernel::kVectors: vectors(); break;
        case CudaKernel::kElements: number("threads", {64, 128, 256, 512, 1024}, 256); break;
        case CudaKernel::kRows: rows(); break;
        case CudaKernel::kReduced: reduced(); break;
        case CudaKernel::kThreads: number("threads", {32, 64, 128, 256}, elements(k_.loops) > 1e5 ? 128 : 32); break;
        case CudaKernel::kInPlace: number("threads", {32, 64, 128, 256}, 64); break;
        case CudaKernel::kTransposed:
            number("tile", {32, 64, 128}, 64);
            number("threads", {128, 256, 512}, 256);
            break;
        case CudaKernel::kTensorTiles: tensor_tiles(); break;
        case CudaKernel::kTensorWindows: tensor_windows(); break;
        case CudaKernel::kSharedTiles: shared_tiles(); break;
        case CudaKernel::kPanels:
            k_.numbers["columns"] = int64_t(d_.func(k_.products[0])->extent(product().col));
            number("rows", {64, 128}, f_.extent("row") > 64 ? 128 : 64);
            number("depth", {16, 32}, 16);
            break;
        case CudaKernel::kThreadTiles: thread_tiles(); break;
        }
        const bool streams = k_.form == CudaKernel::kVectors || k_.form == CudaKernel::kRows || k_.form == CudaKernel::kTransposed ||
                             k_.form == CudaKernel::kThreadTiles;
        k_.stream = streams && f_.output && choices_.yes("stream " + k_.func, true);
    }

private:
    int64_t number(const std::string &what, std::vector<int64_t> options, int64_t guess, int64_t most = INT64_MAX) {
        const std::string name = what == "resident" ? "resident blocks" : what;
        return k_.numbers[what] = choices_.number(k_.func + "'s " + name, std::move(options), guess, most);
    }

    double elements(const Names &dims) const {
        double n = 1;
        for (const auto &dim : dims) {
            n *= f_.extent(dim);
        }
        return n;
    }

    // What the threads of a block share of a row: its columns, else the longest sum.
    double work() const {
        double columns = 1, sums = 1;
        for (const auto &dim : f_.dims) {
            columns *= std::find(k_.loops.begin(), k_.loops.end(), dim) == k_.loops.end() ? f_.extent(dim) : 1;
        }
        Names all = k_.inside;
        all.push_back(k_.func);
        for (const auto &name : all) {
            double n = 1;
            for (const Loop &l : d_.func(name)->stages.back().loops) {
                n *= l.rvar ? l.extent : 1;
            }
            sums = std::max(sums, n);
        }
        return columns > 1 ? columns : sums;
    }

    // All of a short row at once, in whole warps.
    int64_t threads_for(double work, int64_t vector) const {
        int64_t threads = 32;
        while (threads < (work > 8192 ? 512 : 128) && double(threads * vector) < work) {
            threads *= 2;
        }
        return threads;
    }

    void vectors() {
        const int64_t threads = number("threads", {64, 128, 256, 512, 1024}, 256);
        number("lanes", {4, 8, 16, 32, 64, 128}, 32, threads);
        number("unroll", {1, 2, 4, 8}, 4);
    }

    void rows() {
        const int64_t vector = number("vector", {2, 4, 8}, std::clamp<int64_t>(16 / std::max(f_.bytes, 1), 2, 8));
        number("threads", {32, 64, 128, 256, 512, 1024}, threads_for(work(), vector));
        number("unroll", {1, 2, 4, 8}, 4);
        if (f_.dims == Names{"col", "row"} && k_.loops == Names{"row"}) {
            const Names inputs = row_inputs();
            const std::string where =
                inputs.empty() ? "registers" : choices_.pick(k_.func + "'s rows", {"registers", "shared"}, "registers");
            k_.held = where == "shared" ? inputs : Names{};
            number("resident", {0, 1, 2, 3, 4}, 0);
        }
    }

    // Inputs with the rows of f, which may be held where all stages find them.
    Names row_inputs() const {
        Names found, all = k_.inside;
        all.push_back(k_.func);
        for (const auto &b : d_.buffers) {
            const bool rows = b.second.extents.size() == 2 && double(b.second.extents[0]) == f_.extent("col") &&
                              double(b.second.extents[1]) == f_.extent("row");
            size_t readers = 0;
            for (const auto &name : all) {
                for (size_t stage = 0; stage < d_.func(name)->stages.size(); stage++) {
                    for (const Read &r : places_.graph->reads(name, int(stage))) {
                        readers += r.func == b.first;
                    }
                }
            }
            if (rows && readers > 1) {
                found.push_back(b.first);
            }
        }
        return found;
    }

    void reduced() {
        const int64_t vector = k_.numbers["vector"] = 4;
        const int64_t threads = std::max<int64_t>(threads_for(work(), vector), work() > 1024 ? 256 : 32);
        number("threads", {32, 64, 128, 256, 512, 1024}, threads);
        number("unroll", {1, 2, 4, 8}, work() > 1024 ? 4 : 1);
    }

    void tensor_tiles() {
        const bool many = f_.extent("row") > 64;
        const int64_t products = int64_t(k_.products.size());
        number("rows", {64, 128, 192}, many ? 128 : 64);
        const int64_t most = product().float8 ? 192 : 256 / products;  // a thread has sums of 8-bit numbers twice
        number("columns", {64, 128, 192, 256}, many ? std::min<int64_t>(most, product().float8 ? 128 : 256) : 64, most);
        number("stages", {2, 3, 4, 5, 6}, many ? 3 : 6);
        number("raster", {4, 8, 16}, 16);
    }

    // A box of 128 pixels, of which little sticks out of the image.
    void tensor_windows() {
        int64_t best[3] = {8, 8, 2};
        double least = 1e30;
        for (const int64_t w : {16, 8, 4}) {
            for (const int64_t h : {8, 16, 4}) {
                const int64_t n = std::max<int64_t>(1, 128 / (w * h));
                const double computed = padded("w", w) * padded("h", h) * padded("n", n);
                if (w * h * n == 128 && computed < least) {
                    least = computed;
                    best[0] = w, best[1] = h, best[2] = n;
                }
            }
        }
        number("tile_w", {1, 2, 4, 8, 16}, best[0]);
        number("tile_h", {1, 2, 4, 8, 16}, best[1]);
        number("tile_n", {1, 2, 3, 4, 6, 8, 12, 16}, best[2]);
        number("columns", {64, 128, 256}, f_.extent("o") > 128 ? 128 : 64);
        number("stages", {2, 3, 4, 5, 6}, 4);
        number("raster", {1, 4, 8, 16}, 4);
    }

    double padded(const std::string &dim, int64_t tile) const {
        return std::ceil(f_.extent(dim) / double(tile)) * double(tile);
    }

    const CudaProduct &product() const {
        return places_.products.at(k_.products[0]);
    }

    // Smaller tiles where large ones leave multiprocessors idle or stick out.
    void shared_tiles() {
        const double rows = f_.extent(product().row), columns = f_.extent(product().col);
        const double tiles = std::ceil(rows / 128) * std::ceil(columns / 128) * elements(product().others);
        const int64_t large = tiles >= 132 && k_.products.size() == 1 ? 128 : 64;
        number("rows", {64, 128}, rows > 64 ? large : 64);
        number("columns", {64, 128}, columns > 64 ? large : 64, product().panel % 128 == 0 ? 128 : 64);
        number("depth", {16, 32}, 16);
    }

    void thread_tiles() {
        const CudaProduct &p = product();
        const auto most = [&](const std::string &dim, bool inside) {
            return inside ? INT64_MAX : std::max<int64_t>(1, int64_t(f_.extent(dim)));
        };
        const int64_t in_panel = p.panel & -p.panel;  // a power of two that divides it
        const int64_t columns =
            number("columns", {1, 2, 4, 8}, p.windows ? 16 / std::max(f_.bytes, 2) : 8, p.panel > 0 ? in_panel : most(p.col, p.col_inside));
        number("rows", {1, 2, 4, 8}, 4, most(p.row, p.row_inside));
        const int64_t threads = number("threads", {64, 128, 256}, 128);
        int64_t lanes = 4;
        while (lanes < 32 && double(lanes * columns) < f_.extent(p.col)) {
            lanes *= 2;
        }
        number("lanes", {4, 8, 16, 32}, lanes, threads);
    }

    CudaKernel &k_;
    const Description &d_;
    const CudaPlaces &places_;
    const Func &f_;
    Choices &choices_;
};

}  // namespace

void choose_numbers(CudaKernel &kernel, const Description &d, const CudaPlaces &places, Choices &choices) {
    Numbers(kernel, d, places, choices).choose();
}

}  // namespace halyard::explore
