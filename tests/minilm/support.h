#ifndef MINILM_TEST_SUPPORT_H
#define MINILM_TEST_SUPPORT_H

/** \file
 * What several tests of minilm need: a scratch folder, the real model, a tiny one.
 */

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "batch.h"
#include "config.h"

/** A new folder, gone with the object. */
class ScratchFolder {
public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder &) = delete;
    ScratchFolder &operator=(const ScratchFolder &) = delete;

    std::string path() const {
        return path_;
    }

    /** Write a file, making its folder; returns its path. */
    std::string write(const std::string &name, const std::string &contents) const;

private:
    std::string path_;
};

/** The folder of the real model, from HALYARD_MINILM_MODEL; fails the test without. */
std::string model_directory();

/** A safetensors file: length, header, values. */
std::string safetensors_bytes(const std::string &header, const std::string &values);

/** The text that an exception of f carries; "" if there is none. */
template<typename F>
std::string message_of(F f) {
    try {
        f();
    } catch (const std::exception &e) {
        return e.what();
    }
    return "";
}

/** A BERT of two small layers with random weights, in torch's layout. */
class TinyModel {
public:
    explicit TinyModel(int hidden = 24, int intermediate = 40);

    const std::vector<float> &operator[](const std::string &name) const {
        return tensors_.at(name);
    }
    std::string directory() const {
        return folder_.path();
    }

    /** The embedding of one sentence: BERT as its paper has it, in f64, with
     * nothing packed, fused or shared with the application. */
    std::vector<double> embedding(const std::vector<int32_t> &ids) const;

    minilm::Config config;

private:
    void add(const std::string &name, std::vector<int64_t> shape, float around, float spread);

    ScratchFolder folder_;
    std::map<std::string, std::vector<float>> tensors_;
    std::string header_, values_;
};

/** Sentences of ids from 1 to 49, with the given lengths. */
minilm::TokenBatch tiny_batch(const std::vector<int> &lengths);

#endif
