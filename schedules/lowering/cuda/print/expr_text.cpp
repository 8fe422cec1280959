#include "lowering/cuda/print/expr_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "lowering/cuda/print/print_expr.h"

namespace halyard {

using namespace Halide;

std::string element_text(const Type &type) {
    if (type.is_bfloat()) {
        return "bfloat16";
    }
    if (type.is_float()) {
        return type.bits() == 16 ? "half" : type.bits() == 32 ? "float" : "double";
    }
    if (type.is_bool()) {
        return "bool";
    }
    if (type.is_int() || type.is_uint()) {
        return type == Int(32) ? "int" : (type.is_int() ? "int" : "uint") + std::to_string(type.bits()) + "_t";
    }
    std::ostringstream s;
    s << "a kernel on the GPU cannot hold a value of type " << type;
    ExprPrinter::unsupported(s.str());
}

std::string type_text(const Type &type) {
    const std::string e = element_text(type.element_of());
    return type.is_scalar() ? e : "vec<" + e + ", " + std::to_string(type.lanes()) + ">";
}

std::string float_text(double value, int bits) {
    char text[64];
    if (bits == 32) {
        if (std::isnan(value) || std::isinf(value)) {
            return std::isnan(value) ? "__int_as_float(0x7fc00000)"
                   : value > 0       ? "__int_as_float(0x7f800000)"
                                     : "__int_as_float(0xff800000)";
        }
        for (int digits = 6; digits <= 9; digits++) {
            snprintf(text, sizeof(text), "%.*g", digits, value);
            if (strtof(text, nullptr) == float(value)) {
                break;
            }
        }
    } else {
        snprintf(text, sizeof(text), "%.17g", value);
    }
    std::string s = text;
    if (s.find_first_of(".en") == std::string::npos) {
        s += ".0";
    }
    return bits == 32 ? s + "f" : s;
}

}  // namespace halyard
