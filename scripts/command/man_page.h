#ifndef HALYARD_COMMAND_MAN_PAGE_H
#define HALYARD_COMMAND_MAN_PAGE_H

/** \file
 * halyard(1), of the table that --help is made of.
 */

#include <string>

#include <CLI/CLI.hpp>

namespace halyard {

/** In the macros of man(7). */
std::string man_page(const CLI::App &app);

}  // namespace halyard

#endif
