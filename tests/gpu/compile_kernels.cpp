// compile_kernels SOURCE IMAGE ARCHITECTURE...: kernels written by hand, as the CUDA backend compiles printed ones.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lowering/cuda/print/compile.h"

int main(int argc, char **argv) {
    if (argc < 4) {
        return 2;
    }
    std::ifstream in(argv[1]);
    std::string source{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    // The backend puts the header before the text itself.
    const std::string include = "#include \"device/device.h\"";
    source.replace(source.find(include), include.size(), "using namespace halyard;");
    try {
        const std::string image = halyard::compile_to_fatbins({{source, false}}, {argv + 3, argv + argc})[0];
        std::ofstream(argv[2], std::ios::binary) << image;
    } catch (const std::exception &e) {
        fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
