#ifndef HALYARD_OWN_SCHEDULE_H
#define HALYARD_OWN_SCHEDULE_H

/** \file
 * The schedule that a generator has itself, in C++ under `!using_autoscheduler()`, in our words.
 */

#include <map>
#include <string>

#include <Halide.h>
#include <nlohmann/json.hpp>

namespace halyard {

/** Has the generator of this name, with these parameters, make its pipeline once more, without an autoscheduler. `unscheduled` is that
 * which it made for us. The result has "nest", its loops; "statements", the body of an `apply` that says the same, "" where it schedules
 * nothing; or "problem", why there are no words for it. Throws Halide::Error. */
nlohmann::json own_schedule(const Halide::Pipeline &unscheduled, const Halide::Target &target, const std::string &generator,
                            const std::map<std::string, std::string> &params);

}  // namespace halyard

#endif
