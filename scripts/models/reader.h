#ifndef HALYARD_MODELS_READER_H
#define HALYARD_MODELS_READER_H

/** \file
 * The Python program that reads models, confined: a model may be a stranger's.
 */

#include <string>

#include "models/build_model.h"

namespace halyard {

/** What it left in `work`: plan.json. Throws Failure with what is wrong with the model. */
nlohmann::json read_model(const ModelRequest &request, const std::string &work);

}  // namespace halyard

#endif
