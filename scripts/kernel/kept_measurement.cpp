#include "kernel/kept_measurement.h"

#include <filesystem>

#include <fmt/format.h>

#include "kernel/cpu.h"
#include "kernel/json_text.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string key(int threads) {
    const Cpu &c = cpu();
    return fmt::format("{}, {} processors, L3 {} KiB, {} threads", c.model, c.processors, c.l3 >> 10, threads);
}

json read_all(const std::string &file) {
    const fs::path path = fs::path(paths().cache) / file;
    json all = parse_if_json(beginning_of_file(path.string(), size_t(1) << 20));
    return all.is_object() ? all : json::object();
}

}  // namespace

json kept_measurement(const std::string &file, int threads) {
    return read_all(file).value(key(threads), json());
}

void keep_measurement(const std::string &file, int threads, const json &record) {
    json all = read_all(file);
    all[key(threads)] = record;
    const TemporaryDirectory work(paths().cache);
    const std::string part = work.path() + "/" + file;
    write_file(part, all.dump(1) + "\n");
    fs::rename(part, fs::path(paths().cache) / file);
}

}  // namespace halyard
