#ifndef HALYARD_EXPLORE_STATION_H
#define HALYARD_EXPLORE_STATION_H

/** \file
 * What runs on a machine that measures for another: `halyard worker FOLDER PARENT`. It says its facts in a line of JSON, then answers
 * each line that it is told with one, until there are no more or its parent is gone. Each candidate runs in a process of its own that is as
 * confined as at home.
 */

#include <string>

namespace halyard::explore {

/** The requests; directories are below the folder, and hold kernel.so:
 *   {step: "reference", task, built: {directory, params}}                                      {measured}
 *   {step: "run", task, built, reference: {directory, params}, best, seconds}                  {measured}
 *   {step: "turns", task, built: [...], seconds}                                               {measured: [...], contest}
 *   {step: "machine", threads}                                                                 {machine}
 * What could not be done at all is {failed}. Removes the folder, in which it lies itself, at the end. Throws UsageError where it does not
 * lie there. */
void run_station(const std::string &folder, int parent);

}  // namespace halyard::explore

#endif
