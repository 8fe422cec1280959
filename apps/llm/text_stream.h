#ifndef HALYARD_LLM_TEXT_STREAM_H
#define HALYARD_LLM_TEXT_STREAM_H

/** \file
 * Text that comes in bytes of tokens and goes out in whole characters, up to a stop string.
 */

#include <string>
#include <vector>

namespace halyard_llm {

class TextStream {
public:
    /** Empty stop strings are left out. */
    explicit TextStream(std::vector<std::string> stops = {});

    /** What may be shown now: whole characters, none of which may still be the begin of a stop string. What is no UTF-8 is U+FFFD. */
    std::string push(const std::string &bytes);

    /** What was held back, at the end. */
    std::string finish();

    /** A stop string came: nothing from there on is shown. */
    bool stopped() const {
        return stopped_;
    }

private:
    std::vector<std::string> stops_;
    std::string held_;
    bool stopped_ = false;
};

}  // namespace halyard_llm

#endif
