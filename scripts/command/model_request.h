#ifndef HALYARD_COMMAND_MODEL_REQUEST_H
#define HALYARD_COMMAND_MODEL_REQUEST_H

/** \file
 * What `compile` and `explore` share of models.
 */

#include <string>
#include <vector>

#include "models/build_model.h"

namespace halyard {

/** The name that is wanted, or that of the file, as C can say it. Throws UsageError. */
std::string model_name(const std::string &wanted, const std::string &file);

/** batch=4 or batch=1..64. Throws UsageError. */
void add_dim(const std::string &text, ModelRequest &request);

/** What build_model() left in a folder, put into another: all of it, or nothing. The files. */
std::vector<std::string> place_model(const std::string &from, const std::string &name, const std::string &to, const std::string &depfile,
                                     const std::vector<std::string> &inputs);

}  // namespace halyard

#endif
