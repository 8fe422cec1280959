#include "kernel/turns.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "kernel/busy.h"
#include "kernel/process.h"

namespace halyard {

Timing timing_of(std::vector<double> samples) {
    Timing t;
    const size_t n = samples.size();
    t.samples = int(n);
    if (n > 0) {
        std::sort(samples.begin(), samples.end());
        t.minimum = samples[0];
        t.lower = samples[n / 4];
        t.median = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
        t.upper = samples[n * 3 / 4];
    }
    return t;
}

Ratio ratio_of(const std::vector<double> &faster, const std::vector<double> &slower) {
    std::vector<double> ratios;
    for (size_t i = 0; i < std::min(faster.size(), slower.size()); i++) {
        if (faster[i] > 0 && slower[i] > 0) {
            ratios.push_back(slower[i] / faster[i]);
        }
    }
    Ratio r;
    if (ratios.empty()) {
        return r;
    }
    std::sort(ratios.begin(), ratios.end());
    // The median of all rounds that there could be is between these ranks in 19 of 20 runs, however samples are distributed.
    const double n = double(ratios.size()), from = std::max(std::floor((n - 1) / 2 - 0.98 * std::sqrt(n)), 0.0);
    r.times = timing_of(ratios).median;
    r.low = ratios[size_t(from)];
    r.high = ratios[ratios.size() - 1 - size_t(from)];
    return r;
}

Ratio Contest::ratio(size_t a, size_t b) const {
    return ratio_of(all.at(a).rounds, all.at(b).rounds);
}

double Contest::threshold() const {
    return std::max(noise, kLeastNoise);
}

bool Contest::tie(size_t a, size_t b) const {
    const Ratio r = ratio(a, b);
    const double margin = 1 + threshold();
    return r.low <= margin && r.high >= 1 / margin;
}

std::string Contest::verdict(size_t a, size_t b, const std::string &name_a, const std::string &name_b) const {
    const Ratio r = ratio(a, b);
    const std::string range = fmt::format("{:.2f} to {:.2f}, noise {:.1f} %", r.low, r.high, 100 * threshold());
    if (tie(a, b)) {
        return fmt::format("a tie between {} and {} ({})", name_a, name_b, range);
    }
    if (r.times < 1) {
        return verdict(b, a, name_b, name_a);
    }
    return fmt::format("{} is {:.2f} times as fast as {} ({})", name_a, r.times, name_b, range);
}

nlohmann::json to_json(const Contest &c) {
    nlohmann::json all = nlohmann::json::array();
    for (const auto &one : c.all) {
        all.push_back({{"code", one.result.code}, {"message", one.result.message}, {"rounds", one.rounds}});
    }
    return {{"all", all}, {"noise", c.noise}, {"busy", c.busy}};
}

namespace {

Timing timing_of_rounds(const std::vector<double> &rounds) {
    std::vector<double> taken;
    std::copy_if(rounds.begin(), rounds.end(), std::back_inserter(taken), [](double s) { return s > 0; });
    return timing_of(std::move(taken));
}

}  // namespace

Contest contest_from_json(const nlohmann::json &json) {
    Contest c;
    for (const auto &j : json.at("all")) {
        Contest::One one;
        one.result = {j.at("code"), j.at("message")};
        one.rounds = j.at("rounds").get<std::vector<double>>();
        one.timing = timing_of_rounds(one.rounds);
        c.all.push_back(std::move(one));
    }
    c.noise = json.at("noise");
    c.busy = json.at("busy");
    return c;
}

Contest take_turns(const std::vector<Sampler *> &samplers, Sampler *again, const TurnOptions &options) {
    std::vector<Sampler *> all = samplers;
    if (again) {
        all.push_back(again);
    }
    Contest c;
    c.all.resize(all.size());
    const Watch watch;
    std::mt19937 random(1);
    std::vector<size_t> order(all.size());
    for (size_t i = 0; i < order.size(); i++) {
        order[i] = i;
    }
    // Samples are in processor time where one thread computes: where others leave it little, the clock ends the turns.
    using Clock = std::chrono::steady_clock;
    const auto end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(2 * options.seconds * double(all.size())));
    for (size_t round = 0, busy = 1; busy > 0 && round < options.most_rounds; round++) {
        if (round >= options.least_rounds && Clock::now() > end) {
            break;
        }
        check_signals();
        busy = 0;
        std::shuffle(order.begin(), order.end(), random);
        for (const size_t i : order) {
            Sampler &s = *all[i];
            const bool takes_part = s.result().ok() && (s.used() < options.seconds || round < options.least_rounds);
            if (takes_part) {
                s.warm();
                busy++;
            }
            const double seconds = takes_part ? s.sample() : 0;
            c.all[i].rounds.push_back(s.result().ok() ? seconds : 0);
        }
    }
    for (size_t i = 0; i < all.size(); i++) {
        c.all[i].result = all[i]->result();
        c.all[i].timing = timing_of_rounds(c.all[i].rounds);
    }
    c.busy = watch.sentence(options.threads);
    if (again) {
        // As far from 1 as it may be.
        const Ratio r = ratio_of(c.all.front().rounds, c.all.back().rounds);
        c.noise = std::max({r.high, 1 / r.low, 1.0}) - 1;
        c.all.pop_back();
    }
    return c;
}

}  // namespace halyard
