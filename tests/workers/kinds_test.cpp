// Which machines of a cluster measure for a search: those of one kind.

#include <catch2/catch.hpp>

#include "explore/workers/kinds.h"
#include "kernel/failure.h"
#include "support.h"

using namespace halyard::explore;

namespace {

Facts epyc() {
    Facts f;
    f.machine = "AMD EPYC 9654, 8 processors, L3 32768 KiB";
    f.level = "avx512_zen4";
    f.processors = 8;
    f.confined = true;
    return f;
}

Facts xeon(const std::string &device = "") {
    Facts f;
    f.machine = "Intel Xeon, 4 processors, L3 65536 KiB";
    f.level = "avx2";
    f.processors = 4;
    f.confined = true;
    f.device = device;
    return f;
}

std::vector<Offer> offers(const std::vector<Facts> &all) {
    std::vector<Offer> made;
    for (const Facts &f : all) {
        const int slot = int(made.size());
        made.push_back({slot, "node-" + std::to_string(slot), "", f});
    }
    return made;
}

std::vector<int> slots(const std::vector<Offer> &chosen) {
    std::vector<int> all;
    for (const Offer &o : chosen) {
        all.push_back(o.slot);
    }
    return all;
}

std::string why_not(const std::vector<Offer> &all, const Wish &wish, const Facts &here) {
    try {
        of_one_kind(all, wish, here);
    } catch (const halyard::Failure &e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("For the host those like this machine measure", "[kinds]") {
    const auto all = offers({epyc(), xeon(), epyc()});
    CHECK(slots(of_one_kind(all, {}, epyc())) == std::vector<int>{0, 2});
    CHECK(slots(of_one_kind(all, {}, xeon())) == std::vector<int>{1});
    // The same model that hides instructions is another kind.
    Facts hidden = epyc();
    hidden.level = "avx2";
    const std::string why = why_not(all, {}, hidden);
    CHECK(contains(why, "it has no machine like this one"));
    CHECK(contains(why, "2 of \"AMD EPYC 9654, 8 processors, L3 32768 KiB, avx512_zen4\""));
    CHECK(contains(why, "1 of \"Intel Xeon"));
    CHECK(contains(why, "--workers-kind NAME"));
}

TEST_CASE("A kind is named by how it begins", "[kinds]") {
    const auto all = offers({epyc(), xeon(), epyc()});
    Wish wish;
    wish.kind = "Intel";
    CHECK(slots(of_one_kind(all, wish, epyc())) == std::vector<int>{1});
    wish.kind = "ARM";
    CHECK(contains(why_not(all, wish, epyc()), "it has no machine whose name begins with \"ARM\""));
    Facts larger = epyc();
    larger.machine = "AMD EPYC 9754, 8 processors, L3 32768 KiB";
    wish.kind = "AMD";
    CHECK(contains(why_not(offers({epyc(), larger}), wish, xeon()), "its machines are of several kinds"));
}

TEST_CASE("For CUDA those with a device measure, where they are of one kind", "[kinds]") {
    Wish wish;
    wish.cuda = true;
    wish.target = "cuda";
    CHECK(slots(of_one_kind(offers({epyc(), xeon("NVIDIA H200, 132 multiprocessors")}), wish, epyc())) == std::vector<int>{1});
    const auto two = offers({xeon("NVIDIA H200, 132 multiprocessors"), xeon("NVIDIA A100, 108 multiprocessors")});
    CHECK(contains(why_not(two, wish, epyc()), "its machines are of several kinds"));
    CHECK(slots(of_one_kind(two, wish, xeon("NVIDIA A100, 108 multiprocessors"))) == std::vector<int>{1});
    wish.kind = "NVIDIA H200";
    CHECK(slots(of_one_kind(two, wish, epyc())) == std::vector<int>{0});
    wish.kind = "";
    CHECK(contains(why_not(offers({epyc()}), wish, epyc()), "it has no machine with a CUDA device"));
}

TEST_CASE("Machines that will not do are left out, or named", "[kinds]") {
    Facts few = epyc(), open = epyc();
    few.processors = 2;
    open.confined = false;
    Wish wish;
    wish.threads = 4;
    CHECK(slots(of_one_kind(offers({few, epyc(), open}), wish, epyc())) == std::vector<int>{1});
    CHECK(slots(of_one_kind(offers({open}), wish, open)) == std::vector<int>{0});
    const std::string why = why_not(offers({few, open}), wish, epyc());
    CHECK(contains(why, "node-0: it has 2 processors, and 4 threads are to be timed"));
    CHECK(contains(why, "node-1: its kernel has no Landlock"));
    wish.threads = 0;
    wish.kind = "Intel";
    wish.target = "avx512";
    CHECK(contains(why_not(offers({xeon()}), wish, epyc()), "it cannot run code for avx512: it has no avx512"));
    auto refused = offers({epyc(), epyc()});
    refused[0].refused = "its C library is too old";
    CHECK(slots(of_one_kind(refused, {}, epyc())) == std::vector<int>{1});
    CHECK(contains(why_not(refused, {}, xeon()), "node-0: its C library is too old"));
}
