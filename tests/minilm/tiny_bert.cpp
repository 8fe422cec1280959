#include <fmt/format.h>

#include <cmath>

#include "support.h"

namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

Row linear(const TinyModel &model, const std::string &name, const Row &x) {
    const auto &weight = model[name + ".weight"], &bias = model[name + ".bias"];
    Row y(bias.begin(), bias.end());
    for (size_t n = 0; n < y.size(); n++) {
        for (size_t k = 0; k < x.size(); k++) {
            y[n] += double(weight[n * x.size() + k]) * x[k];
        }
    }
    return y;
}

Row normalized(const TinyModel &model, const std::string &name, const Row &x) {
    const double count = double(x.size());
    double mean = 0, variance = 0;
    for (double v : x) {
        mean += v / count;
    }
    for (double v : x) {
        variance += (v - mean) * (v - mean) / count;
    }
    Row y;
    for (size_t i = 0; i < x.size(); i++) {
        y.push_back((x[i] - mean) / std::sqrt(variance + double(model.config.layer_norm_eps)) * double(model[name + ".weight"][i]) +
                    double(model[name + ".bias"][i]));
    }
    return y;
}

Row sum(const Row &a, const Row &b) {
    Row y;
    for (size_t i = 0; i < a.size(); i++) {
        y.push_back(a[i] + b[i]);
    }
    return y;
}

/** One query row against all keys, head by head. */
Row attention(const TinyModel &model, const Row &q, const Rows &keys, const Rows &values) {
    const size_t size = size_t(model.config.head_size());
    Row y(q.size(), 0.0);
    for (size_t head = 0; head < q.size(); head += size) {
        Row weights;
        double total = 0;
        for (const Row &key : keys) {
            double dot = 0;
            for (size_t d = head; d < head + size; d++) {
                dot += q[d] * key[d];
            }
            weights.push_back(std::exp(dot / std::sqrt(double(size))));
            total += weights.back();
        }
        for (size_t j = 0; j < values.size(); j++) {
            for (size_t d = head; d < head + size; d++) {
                y[d] += weights[j] / total * values[j][d];
            }
        }
    }
    return y;
}

}  // namespace

std::vector<double> TinyModel::embedding(const std::vector<int32_t> &ids) const {
    const TinyModel &model = *this;
    const size_t h = size_t(config.hidden);
    Rows x;
    for (size_t t = 0; t < ids.size(); t++) {
        Row row;
        for (size_t i = 0; i < h; i++) {
            row.push_back(double(model["embeddings.word_embeddings.weight"][size_t(ids[t]) * h + i]) +
                          double(model["embeddings.position_embeddings.weight"][t * h + i]) +
                          double(model["embeddings.token_type_embeddings.weight"][i]));
        }
        x.push_back(normalized(model, "embeddings.LayerNorm", row));
    }
    for (int l = 0; l < config.layers; l++) {
        const std::string at = fmt::format("encoder.layer.{}.", l);
        Rows keys, values, y;
        for (const Row &row : x) {
            keys.push_back(linear(model, at + "attention.self.key", row));
            values.push_back(linear(model, at + "attention.self.value", row));
        }
        for (const Row &row : x) {
            const Row q = linear(model, at + "attention.self.query", row);
            const Row context = attention(model, q, keys, values);
            const Row middle =
                normalized(model, at + "attention.output.LayerNorm", sum(linear(model, at + "attention.output.dense", context), row));
            Row inner = linear(model, at + "intermediate.dense", middle);
            for (double &v : inner) {
                v = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
            }
            y.push_back(normalized(model, at + "output.LayerNorm", sum(linear(model, at + "output.dense", inner), middle)));
        }
        x = y;
    }
    Row mean(h, 0.0);
    double squares = 0;
    for (const Row &row : x) {
        mean = sum(mean, row);
    }
    for (double v : mean) {
        squares += v * v;
    }
    for (double &v : mean) {
        v /= std::sqrt(squares);
    }
    return mean;
}
