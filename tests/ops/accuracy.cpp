#include "accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "builds.h"
#include "kernel/process.h"
#include "kernel/text.h"

namespace ops_test {

namespace {

constexpr size_t kFew = 8;  // elements
const char *const kPage = HALYARD_SOURCE "/docs/reference/accuracy.md";
const char *const kLineAboveRows = "| --- |";

bool is_integer(const halide_type_t &type) {
    return type.code == halide_type_int || type.code == halide_type_uint;
}

std::string name_of(const halide_type_t &type) {
    return is_integer(type) ? "8 bits, in steps" : type.code == halide_type_bfloat ? "bfloat16" : type.bits == 16 ? "float16" : "float32";
}

double epsilon_of(const halide_type_t &type) {
    return type.code == halide_type_bfloat ? 0x1p-7 : type.bits == 16 ? 0x1p-10 : 0x1p-23;
}

// As a row has it, and so as it is compared.
std::string two_digits(double value) {
    return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
}

struct Row {
    std::string op, type, words, bound, seen, norm_bound, norm_seen;

    std::string text() const {
        return fmt::format("| {} | {} | {} | {} | {} | {} | {} |", op, type, words, bound, seen, norm_bound, norm_seen);
    }
    // What was seen is another processor's matter.
    bool same_kind(const Row &other) const {
        return op == other.op && type == other.type && words == other.words && norm_bound == other.norm_bound;
    }
};

Row row_of(const std::string &line) {
    std::vector<std::string> cells;
    for (size_t at = 2, end; (end = line.find(" | ", at)) != std::string::npos || at < line.size(); at = end + 3) {
        end = std::min(end, line.size() - 2);
        cells.push_back(line.substr(at, end - at));
    }
    cells.resize(7);
    return {cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]};
}

std::vector<Row> rows_of(const OpTest &test, const std::string &op, const Accuracies &all) {
    std::vector<Row> rows;
    for (const auto &a : all) {
        const Accuracy &of = a.second;
        const bool bounded = of.norm_bound > 0, rounded = of.norm_bound > 1e-3;
        rows.push_back({op, a.first.first + (rounded ? ", rounded between products" : ""), test.held_to(), two_digits(of.bound),
                        two_digits(of.seen), bounded ? two_digits(of.norm_bound) : "", bounded ? two_digits(of.norm_seen) : ""});
    }
    return rows;
}

// The page as its text above the rows, and the rows.
std::pair<std::string, std::vector<Row>> read_page() {
    const std::string page = halyard::read_file(kPage);
    const size_t line = page.find(kLineAboveRows), first = page.find('\n', line) + 1;
    std::vector<Row> rows;
    for (size_t at = first, end; at < page.size(); at = end + 1) {
        end = std::min(page.find('\n', at), page.size());
        rows.push_back(row_of(page.substr(at, end - at)));
    }
    return {page.substr(0, first), rows};
}

// In the order of the registry, without ops that are none any more.
void write_page(const std::string &op, const std::vector<Row> &rows) {
    auto [page, others] = read_page();
    for (const auto &o : halyard::registry()) {
        for (const Row &row : o.name == op ? rows : others) {
            page += row.op == o.name ? row.text() + "\n" : "";
        }
    }
    halyard::write_file(kPage, page);
}

double number_in(const std::string &cell) {
    return std::strtod(cell.c_str(), nullptr);
}

bool far_above(const std::string &seen, const std::string &page, double little) {
    return number_in(seen) > 2 * number_in(page) + little;
}

}  // namespace

void add_output(Accuracies &all, const halide_type_t &type, const std::vector<double> &got, const std::vector<Expected> &want,
                double norm_bound, double norm_seen) {
    const bool floats_of_8_bits = std::any_of(want.begin(), want.end(), [](const Expected &w) { return w.float8_exponent != 0; });
    if (got.size() < kFew || (is_integer(type) && type.bits > 8) || floats_of_8_bits) {
        return;
    }
    double top = 0;
    for (const Expected &w : want) {
        top = std::max(top, std::isfinite(w.value) ? std::fabs(w.value) : 0);
    }
    if (top == 0) {
        return;
    }
    const double lowest = type.code == halide_type_int ? -128 : 0;
    const double unit = is_integer(type) ? 1 : epsilon_of(type) * top;
    Accuracy &of = all[{name_of(type), norm_bound}];
    of.norm_bound = norm_bound;
    of.norm_seen = std::max(of.norm_seen, norm_seen);
    for (size_t i = 0; i < got.size(); i++) {
        if (std::isfinite(want[i].value)) {
            const double value = is_integer(type) ? std::clamp(want[i].value, lowest, lowest + 255) : want[i].value;
            const double storing = is_integer(type) ? 0.5 : epsilon_of(type) / 2 * std::fabs(value);
            of.bound = std::max(of.bound, (want[i].error + storing) / unit);
            of.seen = std::max(of.seen, std::fabs(got[i] - value) / unit);
        }
    }
}

std::string check_accuracy(const OpTest &test, const std::string &op, const Accuracies &all) {
    const std::vector<Row> rows = rows_of(test, op, all);
    if (std::getenv("HALYARD_UPDATE_ACCURACY")) {
        write_page(op, rows);
        return "";
    }
    std::vector<Row> of_page;
    for (const Row &row : read_page().second) {
        if (row.op == op) {
            of_page.push_back(row);
        }
    }
    std::string wrong;
    for (const Row &row : rows) {
        const auto found = std::find_if(of_page.begin(), of_page.end(), [&](const Row &r) { return r.same_kind(row); });
        // The page has the bounds of every pair of choices.
        const auto within = [&](const Row &page) {
            const bool bounded = tests_pairs() ? row.bound == page.bound : number_in(row.bound) <= number_in(page.bound);
            return bounded && !far_above(row.seen, page.seen, 0.5) && !far_above(row.norm_seen, page.norm_seen, 1e-5);
        };
        if (found == of_page.end() || !within(*found)) {
            wrong += fmt::format("\n  the page: {}\n  now:      {}", found == of_page.end() ? "nothing" : found->text(), row.text());
        }
    }
    if (tests_pairs() && rows.size() < of_page.size()) {
        wrong += fmt::format("\n  {} of its rows are of nothing that there is now", of_page.size() - rows.size());
    }
    return wrong.empty()
               ? ""
               : fmt::format("docs/reference/accuracy.md; if the change is meant: HALYARD_UPDATE_ACCURACY=1 ops_test \"{}: avx2\"{}", op,
                             wrong);
}

}  // namespace ops_test
