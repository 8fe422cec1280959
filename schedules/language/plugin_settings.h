#ifndef HALYARD_PLUGIN_SETTINGS_H
#define HALYARD_PLUGIN_SETTINGS_H

/** \file
 * What the plugin is asked to do.
 */

#include <map>
#include <string>
#include <vector>

namespace halyard {

struct PluginSettings {
    std::string script;                         // the Lua file
    std::vector<std::string> lib;               // folders for require
    std::map<std::string, std::string> set;     // for tune{} parameters
    std::map<std::string, std::string> facts;   // about the target
    std::string report;                         // a JSON file to write: what was applied, the loop nest, or the error
    bool steps = false;                         // the report has the loop nest after every word
    bool passes = false;                        // the report has the passes over CUDA kernels, and their times,
    std::string after;                          // and the body of kernels after the pass of this name
    bool finish = false;                        // whoever started this runs the finishing step where the report asks for it
    std::string function;                       // what callers know the library by, for its errors; needs Halyard's runtime
    bool apart = false;                         // a call whose outputs lie over other arrays is an error
    std::string sizes, caches;                  // for what moves through the caches
    std::string lint;                           // sizes at which to look for what is slow, or "estimates"
    std::string describe;                       // a JSON file to write in place of all that
    std::string own;                            // the generator whose own schedule the report is to have, in place of all that
    std::map<std::string, std::string> params;  // with these parameters
    std::string devices, cuda;                  // of CUDA kernels, and the file for their printed source
    std::vector<std::string> constant;          // inputs that no other kernel of CUDA writes meanwhile
};

/** Of the words `autoscheduler.NAME=VALUE` of a command line. One of them may be `request`, a JSON file with the others, and
 * is then the only one: what stands in a file cannot be taken for an option, whatever its text is. Throws
 * std::invalid_argument. */
PluginSettings plugin_settings(const std::map<std::string, std::string> &words);

}  // namespace halyard

#endif
