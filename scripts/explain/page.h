#ifndef HALYARD_COMMAND_PAGE_H
#define HALYARD_COMMAND_PAGE_H

/** \file
 * Pieces of the pages that `halyard explain` and `halyard explore` write: one file that needs nothing else, for light and dark.
 */

#include <string>
#include <vector>

#include "explain/explain.h"

namespace halyard {

std::string escape_html(const std::string &text);

/** Up to the heading and the line below it; `style` is added to that of all pages. */
std::string page_begin(const std::string &title, const std::string &below, const std::string &style = "");
std::string page_end();

/** Of a table. The text is escaped. */
std::string cell(const std::string &text, const char *kind = "td");
std::string head(const std::vector<std::string> &names);

std::string list(const std::vector<std::string> &lines);

/** The loop nest, each line of it beside its Lua, and each stage where it is produced with what it costs. */
std::string nest_table(const Explained &e);

/** How times came about, and what is to be said of the machine. */
std::string turns_note(const std::vector<std::string> &lines);

/** The mark that the picture has for a schedule. */
std::string key(size_t schedule);

}  // namespace halyard

#endif
