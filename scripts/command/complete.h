#ifndef HALYARD_COMMAND_COMPLETE_H
#define HALYARD_COMMAND_COMPLETE_H

/** \file
 * What may stand where the tab key is pressed. The scripts of `halyard completion` ask for it.
 */

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace halyard {

/** `halyard --complete WORD...`; the last word is the one that is being written, maybe "". */
constexpr const char kComplete[] = "--complete";

/** A line each: the word, a tab, what it is. A line without a word asks for files ("\tfiles", "\tfiles .lua") or "\tfolders", as shells
 * complete them. Nothing where the words before make no sense. A word that ends with "=" or "," goes on. */
std::string completions(const CLI::App &app, const std::vector<std::string> &words);

}  // namespace halyard

#endif
