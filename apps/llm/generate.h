#ifndef HALYARD_LLM_GENERATE_H
#define HALYARD_LLM_GENERATE_H

/** \file
 * Text that a model writes, as it comes; and conversations.
 */

#include <string>
#include <vector>

#include "sequence.h"

namespace halyard_llm {

struct GenerateOptions {
    int most = 0;  // tokens of an answer; 0: as many as the context holds
    std::vector<std::string> stops;
    std::string system;
    bool report = false;  // times go to standard error
};

/** From here on Ctrl-C ends the generation that runs; where none does, or one has been asked to end and still computes, the program. */
void end_generations_by_signal();

/** Continues a text, which is not printed. */
void continue_text(Sequence *sequence, Sampler *sampler, const Model &model, const std::string &text, const GenerateOptions &options);

/** Continues several texts, or with `chat` answers them, in one batch. They are printed in their order, each with its text in brackets
 * before it, when all have ended. Each is what it would be alone; random numbers of each begin with the seed. */
void continue_together(const Model &model, const std::vector<std::string> &texts, bool chat, int context, const Precision &precision,
                       const Sampler &sampler, const GenerateOptions &options);

/** Answers a question, or, where there is none, the lines of standard input, until it ends. */
void converse(Sequence *sequence, Sampler *sampler, const Model &model, const std::string *question, const GenerateOptions &options);

}  // namespace halyard_llm

#endif
