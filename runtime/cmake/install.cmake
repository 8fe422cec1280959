# `cmake --install build --prefix DIR`: a tree that can be moved and needs nothing of the build.
# Halide's package comes along, so that the command and the plugin find their libHalide.so, and generators of a user's are built with the
# same one.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(halyard_private_lib lib/halyard)
get_target_property(halide_include Halide::Runtime INTERFACE_INCLUDE_DIRECTORIES)

# The last place is that of PyPI's package beside ours (scripts/wheel).
set_target_properties(halyard halyard-heads PROPERTIES
    BUILD_RPATH "$ORIGIN/../${halyard_private_lib}" INSTALL_RPATH "$ORIGIN/../${halyard_private_lib}")
set_target_properties(halyard-generators PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${halyard_private_lib}/halide/lib64;$ORIGIN/../${halyard_private_lib};$ORIGIN/../../halide/lib64")
set_target_properties(halyard_plugin PROPERTIES
    INSTALL_RPATH "$ORIGIN/halyard/halide/lib64;$ORIGIN/halyard;$ORIGIN/../../halide/lib64")

# The component `halyard` is what a wheel holds: the rest comes from PyPI, or is for compilers.
install(TARGETS halyard halyard-generators halyard-heads RUNTIME_DEPENDENCY_SET halyard_dependencies
    RUNTIME DESTINATION bin COMPONENT halyard)
install(TARGETS halyard_plugin LIBRARY DESTINATION lib COMPONENT halyard)
install(TARGETS halyard_launch_recorder halyard_own_temporary LIBRARY DESTINATION ${halyard_private_lib} COMPONENT halyard)
# Of Debian's libraries those that others may not have, or not in this version.
install(RUNTIME_DEPENDENCY_SET halyard_dependencies
    PRE_INCLUDE_REGEXES "^liblua5" "^libfmt" "^libsqlite3" PRE_EXCLUDE_REGEXES "."
    DESTINATION ${halyard_private_lib} COMPONENT halyard)
install(FILES ${PROJECT_BINARY_DIR}/lib/halyard/libhalyard_runtime.so.0 DESTINATION ${halyard_private_lib} COMPONENT halyard)
install(FILES ${HALYARD_LLVMLITE} DESTINATION ${halyard_private_lib})
get_filename_component(halide_lib ${Halide_DIR}/../.. ABSOLUTE)
install(DIRECTORY ${halide_lib}/../bin DESTINATION ${halyard_private_lib}/halide USE_SOURCE_PERMISSIONS)
install(DIRECTORY ${halide_lib}/../include DESTINATION ${halyard_private_lib}/halide PATTERN "*PyTorch*" EXCLUDE)
install(DIRECTORY ${halide_lib}/../share/tools DESTINATION ${halyard_private_lib}/halide/share)
install(DIRECTORY ${halide_lib}/cmake/Halide ${halide_lib}/cmake/HalideHelpers DESTINATION ${halyard_private_lib}/halide/lib64/cmake)
install(DIRECTORY ${halide_lib}/ DESTINATION ${halyard_private_lib}/halide/lib64
    FILES_MATCHING PATTERN "libHalide.so" PATTERN "libHalide_GenGen.a" PATTERN "libautoschedule_*" PATTERN "cmake" EXCLUDE)
install(DIRECTORY generators/math DESTINATION include/halyard/generators FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/lib/libhalyard_runtime.a DESTINATION lib COMPONENT halyard)
# Halide's two headers stand beside ours, which include them from there: `-I PREFIX/include` is all that a compiler needs, and a Halide
# of the user's own in the same prefix keeps its own.
install(DIRECTORY runtime/include/halyard DESTINATION include COMPONENT halyard)
install(FILES ${halide_include}/HalideRuntime.h ${halide_include}/HalideBuffer.h DESTINATION include/halyard COMPONENT halyard)
configure_file(runtime/cmake/halyard.pc.in ${PROJECT_BINARY_DIR}/halyard.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/halyard.pc DESTINATION lib/pkgconfig)
install(DIRECTORY schedules/cpu schedules/cuda schedules/lib schedules/meta DESTINATION share/halyard/schedules COMPONENT halyard
    FILES_MATCHING PATTERN "*.lua")
# What `compile` starts, by a Python that has the onnx package, and what `explore --workers` does, by one that has Ray.
install(DIRECTORY scripts/models DESTINATION share/halyard COMPONENT halyard FILES_MATCHING PATTERN "*.py")
install(DIRECTORY scripts/workers DESTINATION share/halyard COMPONENT halyard FILES_MATCHING PATTERN "*.py")

# The manual, and what shells complete command lines with, where they look for it.
set(written ${PROJECT_BINARY_DIR}/share)
install(FILES ${written}/halyard.1 DESTINATION share/man/man1)
install(FILES ${written}/halyard.bash DESTINATION share/bash-completion/completions RENAME halyard)
install(FILES ${written}/_halyard DESTINATION share/zsh/site-functions)
install(FILES ${written}/halyard.fish DESTINATION share/fish/vendor_completions.d)

configure_package_config_file(runtime/cmake/HalyardConfig.cmake.in
    ${PROJECT_BINARY_DIR}/HalyardConfig.cmake INSTALL_DESTINATION lib/cmake/Halyard)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/HalyardConfigVersion.cmake
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/HalyardConfig.cmake ${PROJECT_BINARY_DIR}/HalyardConfigVersion.cmake
    runtime/cmake/HalyardHelpers.cmake DESTINATION lib/cmake/Halyard)
