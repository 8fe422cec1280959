#ifndef MINILM_CONFIG_H
#define MINILM_CONFIG_H

/** \file
 * The numbers that describe a sentence embedding model, from its JSON files.
 */

#include <string>

namespace minilm {

struct Config {
    int hidden = 0;        // width of a token's row
    int intermediate = 0;  // width inside the feed-forward part
    int layers = 0;
    int heads = 0;
    int vocabulary = 0;
    int max_positions = 0;
    int token_types = 0;
    float layer_norm_eps = 0;
    int max_tokens = 0;  // a sentence's limit, [CLS] and [SEP] included

    int head_size() const {
        return hidden / heads;
    }
};

/** Read config.json, sentence_bert_config.json and 1_Pooling/config.json. Throws
 * std::runtime_error when the directory is not there (saying how to get it) or
 * holds another kind of model. */
Config read_config(const std::string &model_directory);

}  // namespace minilm

#endif
