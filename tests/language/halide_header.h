#ifndef HALYARD_TESTS_ENGINE_HALIDE_HEADER_H
#define HALYARD_TESTS_ENGINE_HALIDE_HEADER_H

/** \file
 * What Halide.h declares, read as text.
 */

#include <set>
#include <string>

/** The names of the public methods of a class in Halide.h that return one of `returns`. */
std::set<std::string> public_methods(const std::string &class_name, const std::set<std::string> &returns);

#endif
