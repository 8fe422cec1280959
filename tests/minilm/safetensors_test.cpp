#include "safetensors.h"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "half.h"
#include "support.h"

namespace {

using namespace minilm;

std::string floats(std::initializer_list<float> values) {
    return std::string(reinterpret_cast<const char *>(values.begin()), values.size() * sizeof(float));
}

/** The message of opening a file with the given bytes. */
std::string error_of(const std::string &bytes) {
    const ScratchFolder folder;
    const std::string path = folder.write("broken.safetensors", bytes);
    const std::string message = message_of([&] { SafeTensors file(path); });
    if (!message.empty()) {
        CHECK_THAT(message, Catch::StartsWith(path + ": "));
        CHECK_THAT(message, Catch::Contains("get the model again"));
    }
    return message;
}

std::string error_of(const std::string &header, const std::string &values) {
    return error_of(safetensors_bytes(header, values));
}

}  // namespace

TEST_CASE("F32, F16 and BF16 tensors read as f32") {
    const std::string header = R"({"__metadata__":{"format":"pt"},
        "a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},
        "h":{"dtype":"F16","shape":[4],"data_offsets":[8,16]},
        "b":{"dtype":"BF16","shape":[2],"data_offsets":[16,20]},
        "none":{"dtype":"F32","shape":[0,7],"data_offsets":[20,20]}})";
    const uint16_t bits[] = {0x3C00, 0xC100, 0x0001, 0x7BFF, 0x3FC0, 0xC2F7};
    const std::string values = floats({1.5f, -2.25f}) + std::string(reinterpret_cast<const char *>(bits), sizeof(bits));
    // Four header lengths, so that the values are aligned in one file only.
    for (const char *padding : {"", " ", "  ", "   "}) {
        const ScratchFolder folder;
        const SafeTensors file(folder.write("good.safetensors", safetensors_bytes(header + padding, values)));
        const FloatTensor a = file.floats("a", {2, 1});
        CHECK((a.data[0] == 1.5f && a.data[1] == -2.25f));
        const FloatTensor h = file.floats("h", {4});
        CHECK((h.data[0] == 1.0f && h.data[1] == -2.5f));
        CHECK((h.data[2] == std::ldexp(1.0f, -24) && h.data[3] == 65504.0f));
        const FloatTensor b = file.floats("b", {2});
        CHECK((b.data[0] == 1.5f && b.data[1] == -123.5f));
        CHECK_NOTHROW(file.floats("none", {0, 7}));
        CHECK((file.has("a") && !file.has("__metadata__")));
    }
}

TEST_CASE("16-bit infinities, NaN and zeros") {
    CHECK(float_from_half(0x7C00) == INFINITY);
    CHECK(float_from_half(0xFC00) == -INFINITY);
    CHECK(std::isnan(float_from_half(0x7E00)));
    CHECK((float_from_half(0x8000) == 0.0f && std::signbit(float_from_half(0x8000))));
    CHECK(float_from_bfloat(0x7F80) == INFINITY);
    CHECK(std::isnan(float_from_bfloat(0x7FC0)));
}

TEST_CASE("a missing tensor, a wrong shape and a wrong dtype name the tensor") {
    const ScratchFolder folder;
    const SafeTensors file(folder.write(
        "ids.safetensors", safetensors_bytes(R"({"ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", std::string(8, '\0'))));
    CHECK_THROWS_WITH(file.floats("x", {1}), Catch::Contains("tensor 'x' is missing"));
    CHECK_THROWS_WITH(file.floats("ids", {2, 1}), Catch::Contains("has shape [1], but config.json asks for [2, 1]"));
    CHECK_THROWS_WITH(file.floats("ids", {1}), Catch::Contains("dtype I64. Store it as F32"));
}

TEST_CASE("a file that is not there or no file says why") {
    const ScratchFolder folder;
    CHECK_THROWS_WITH(SafeTensors(folder.path() + "/none"), Catch::Contains("No such file"));
    CHECK_THROWS_WITH(SafeTensors(folder.path()), Catch::Contains("not a regular file"));
    // Nobody ever writes into this pipe.
    const std::string pipe = folder.path() + "/pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH(SafeTensors(pipe), Catch::Contains("not a regular file"));
}

TEST_CASE("a broken header is one clear error") {
    const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    const std::string values = floats({1, 2});
    REQUIRE(error_of(good, values) == "");

    SECTION("every truncation") {
        const std::string whole = safetensors_bytes(good, values);
        for (size_t size = 0; size < whole.size(); size++) {
            CAPTURE(size);
            CHECK(error_of(whole.substr(0, size)) != "");
        }
    }
    SECTION("lengths") {
        CHECK_THAT(error_of(std::string(8, '\xFF')), Catch::Contains("over the limit"));
        std::string bytes = safetensors_bytes(good, values);
        bytes[1] = 1;
        CHECK_THAT(error_of(bytes), Catch::Contains("the header should have"));
        CHECK_THAT(error_of(std::string(8, '\0')), Catch::Contains("not JSON"));
    }
    SECTION("JSON") {
        CHECK_THAT(error_of("{\"a\":", values), Catch::Contains("not JSON"));
        CHECK_THAT(error_of("[1]", values), Catch::Contains("not a JSON object"));
        CHECK_THAT(error_of("{\"a\":\"\xFF\"}", values), Catch::Contains("not JSON"));
        CHECK_THAT(error_of(std::string(1 << 20, '['), values), Catch::Contains("not JSON"));
        CHECK_THAT(error_of(good.substr(0, good.size() - 1) + "," + good.substr(1), values), Catch::Contains("'a': listed twice"));
    }
    const auto record = [&](const std::string &text) { return error_of("{\"a\":" + text + "}", values); };
    SECTION("records") {
        for (const char *text :
             {"1", "{}", R"({"dtype":1,"shape":[2],"data_offsets":[0,8]})", R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})",
              R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})", R"({"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]})",
              R"({"dtype":"F32","shape":[[2]],"shape":[2],"data_offsets":[0,8]})", "[[{}]]"}) {
            CAPTURE(text);
            CHECK_THAT(record(text), Catch::Contains("'a': its record needs"));
        }
        CHECK_THAT(record(R"({"dtype":"F3","shape":[2],"data_offsets":[0,8]})"), Catch::Contains("unknown dtype 'F3'"));
        for (const char *shape :
             {"[-2]", "[2.0]", "[\"2\"]", "[9223372036854775808]", "[4294967296,4294967296]", "[18446744073709551616]"}) {
            CAPTURE(shape);
            CHECK_THAT(record(std::string(R"({"dtype":"F32","shape":)") + shape + R"(,"data_offsets":[0,8]})"),
                       Catch::Contains("impossible shape"));
        }
    }
    SECTION("what is long is not repeated whole") {
        const std::string word(1 << 20, 'w');
        for (const std::string &text :
             {"\"" + word, "{\"" + word + "\":1}", R"({"a":{"dtype":")" + word + R"(","shape":[],"data_offsets":[0,0]}})"}) {
            const std::string message = error_of(text, values);
            CHECK(message != "");
            CHECK(message.size() < 1000);
        }
        std::string ones = "1";
        for (int i = 0; i < 64; i++) {
            ones += ",1";
        }
        CHECK_THAT(record(R"({"dtype":"F32","shape":[)" + ones + R"(],"data_offsets":[0,4]})"), Catch::Contains("over 64 dimensions"));
    }
    SECTION("offsets") {
        const auto offsets = [&](const std::string &text) { return record(R"({"dtype":"F32","shape":[2],"data_offsets":)" + text + "}"); };
        CHECK_THAT(offsets("[8,0]"), Catch::Contains("impossible data_offsets"));
        CHECK_THAT(offsets("[-8,0]"), Catch::Contains("impossible data_offsets"));
        CHECK_THAT(offsets("[8,16]"), Catch::Contains("ends at byte 16"));
        CHECK_THAT(offsets("[0,18446744073709551615]"), Catch::Contains("ends at byte"));
        CHECK_THAT(offsets("[0,4]"), Catch::Contains("needs 8 bytes, but data_offsets give 4"));
    }
}

TEST_CASE("tensors that overlap or leave holes are refused") {
    const auto two = [](const std::string &b_offsets, size_t bytes) {
        return error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
                            "b":{"dtype":"F32","shape":[1],"data_offsets":)" +
                            b_offsets + "}}",
                        std::string(bytes, '\0'));
    };
    CHECK(two("[4,8]", 8) == "");
    CHECK_THAT(two("[2,6]", 6), Catch::Contains("'b': begins at byte 2 of the values, overlapping"));
    CHECK_THAT(two("[6,10]", 10), Catch::Contains("leaving a hole"));
    CHECK_THAT(two("[4,8]", 9), Catch::Contains("1 bytes follow the last tensor"));
}

TEST_CASE("a header is read in time proportional to its length") {
    std::string header = "{";
    for (int i = 0; i < 80000; i++) {
        header += (i ? ",\"t" : "\"t") + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
    }
    const auto begin = std::chrono::steady_clock::now();
    CHECK(error_of(header + "}", "") == "");
    // A second is hundreds of times what it takes; each tensor looking at all before it takes a minute.
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("a value that is no finite number names its tensor and its index") {
    const uint16_t half[] = {0x3C00, 0x7C00}, bfloat[] = {0x7FC0, 0x3F80};
    const auto bytes = [](const uint16_t *bits) { return std::string(reinterpret_cast<const char *>(bits), 4); };
    std::vector<float> many(5000, 1.0f);
    many[4999] = -INFINITY;
    const std::string values = floats({1, 2, 3, NAN}) + bytes(half) + bytes(bfloat) +
                               std::string(reinterpret_cast<const char *>(many.data()), many.size() * sizeof(float));
    const ScratchFolder folder;
    const SafeTensors file(folder.write("nan.safetensors", safetensors_bytes(R"({
        "f":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},
        "h":{"dtype":"F16","shape":[2],"data_offsets":[16,20]},
        "b":{"dtype":"BF16","shape":[1,2],"data_offsets":[20,24]},
        "m":{"dtype":"F32","shape":[50,100],"data_offsets":[24,20024]}})",
                                                                             values)));
    CHECK_THROWS_WITH(file.floats("f", {2, 2}), Catch::Contains("tensor 'f': element [1, 1] is nan, not a finite number"));
    CHECK_THROWS_WITH(file.floats("h", {2}), Catch::Contains("tensor 'h': element [1] is inf"));
    CHECK_THROWS_WITH(file.floats("b", {1, 2}), Catch::Contains("tensor 'b': element [0, 0] is nan"));
    CHECK_THROWS_WITH(file.floats("m", {50, 100}), Catch::Contains("tensor 'm': element [49, 99] is -inf"));
}
