#include "explore/measure/outputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "kernel/element.h"
#include "kernel/failure.h"

namespace halyard::explore {

namespace {

bool is_integer(const halide_type_t &type) {
    return type.code == halide_type_int || type.code == halide_type_uint;
}

// The commonest types without the switch over all of them.
double element(const halide_type_t &type, const uint8_t *at) {
    if (type.code == halide_type_bfloat) {
        uint16_t half = 0;
        std::memcpy(&half, at, sizeof(half));
        const uint32_t bits = uint32_t(half) << 16;
        float value = 0;
        std::memcpy(&value, &bits, sizeof(value));
        return double(value);
    }
    if (type.code == halide_type_float && type.bits == 32) {
        float value = 0;
        std::memcpy(&value, at, sizeof(value));
        return double(value);
    }
    return load_element(type, at);
}

std::vector<uint8_t> read_part(std::ifstream &in, const std::string &path, size_t bytes) {
    std::vector<uint8_t> content(bytes);
    if (!in.read(reinterpret_cast<char *>(content.data()), std::streamsize(bytes))) {
        throw Failure(fmt::format("{}: error: the reference has another size than the candidate's output", path));
    }
    return content;
}

double root_mean_square(const halide_type_t &type, const std::vector<uint8_t> &content, size_t count) {
    double sum = 0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = element(type, content.data() + i * size_t(type.bytes()));
        if (std::isfinite(value)) {
            sum += value * value;
            finite++;
        }
    }
    return finite == 0 ? 0 : std::sqrt(sum / double(finite));
}

std::string place(const std::string &name, size_t number, const std::vector<int> &extents) {
    std::vector<size_t> index;
    for (const int extent : extents) {
        index.push_back(number % size_t(extent));
        number /= size_t(extent);
    }
    return fmt::format("{}({})", name, fmt::join(index, ","));
}

// How far off one element is, where 1 is allowed.
double distance(double got, double want, double allowed) {
    if (std::isnan(want) || std::isnan(got)) {
        return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
    }
    return got == want ? 0 : std::isinf(want) || std::isinf(got) ? INFINITY : std::fabs(got - want) / allowed;
}

Difference compare_output(const std::string &name, HostBuffer &buffer, const std::vector<uint8_t> &want, const Tolerance &tolerance) {
    Difference d;
    const halide_type_t type = buffer.type();
    const uint8_t *got = buffer.raw()->host;
    const size_t count = buffer.size(), bytes = size_t(type.bytes());
    if (std::memcmp(got, want.data(), count * bytes) == 0) {
        return d;
    }
    const bool integer = is_integer(type);
    const double typical = integer ? 0 : root_mean_square(type, want, count);
    const bool small = integer && (type.bits == 8 || (type.bits == 16 && tolerance.jumps > 0));
    const double relative = tolerance.storage + tolerance.epsilons * 0x1p-23;
    size_t wrong = 0;
    std::string first;
    for (size_t i = 0; i < count; i++) {
        const double g = element(type, got + i * bytes), w = element(type, want.data() + i * bytes);
        const double allowed = integer ? (small ? tolerance.steps : 0) : std::max(relative * std::max(std::fabs(w), typical), 1e-30);
        const double off = integer && std::fabs(g - w) <= allowed ? 0 : distance(g, w, std::max(allowed, 1e-30));
        if (off > 1 && wrong++ == 0) {
            first = fmt::format("{}: {:.9g} instead of {:.9g}{}", place(name, i, buffer.extents()), g, w,
                                allowed > 0 ? fmt::format(" +- {:.2g}", allowed) : "");
        }
        if (!integer || (small && off <= 1)) {
            d.error = std::max(d.error, off);
        }
    }
    // Of integers above 8 bits, which are indices where floats decide, a few may differ.
    const double part = small ? tolerance.jumps : integer ? tolerance.strangers : 0;
    const double strangers = part > 0 ? std::max(2.0, part * double(count)) : 0;
    if (wrong > 0 && double(wrong) > strangers) {
        d.error = std::max(d.error, 2.0);
        d.message = fmt::format("{}; {} of {} elements are wrong", first, wrong, count);
    }
    return d;
}

}  // namespace

void write_outputs(const std::string &path, const CompiledKernel &kernel, KernelArguments &arguments) {
    std::ofstream out(path, std::ios::binary);
    for (const auto &a : kernel.arguments()) {
        if (a.is_output) {
            HostBuffer &buffer = arguments.buffer(a.name);
            out.write(reinterpret_cast<const char *>(buffer.raw()->host), std::streamsize(buffer.bytes()));
        }
    }
    out.close();
    if (!out) {
        throw Failure(fmt::format("{}: error: cannot be written: {}", path, std::strerror(errno)));
    }
}

Difference compare_outputs(const std::string &path, const CompiledKernel &kernel, KernelArguments &arguments, const Tolerance &tolerance) {
    std::ifstream in(path, std::ios::binary);
    Difference all;
    for (const auto &a : kernel.arguments()) {
        if (!a.is_output) {
            continue;
        }
        HostBuffer &buffer = arguments.buffer(a.name);
        const Difference d = compare_output(a.name, buffer, read_part(in, path, buffer.bytes()), tolerance);
        all.error = std::max(all.error, d.error);
        all.message = all.message.empty() ? d.message : all.message;
    }
    return all;
}

}  // namespace halyard::explore
