# `cmake --install build --prefix DIR`: a tree that can be moved and needs nothing of the build.
# libHalide.so comes along, so that the command and the plugin find theirs.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(halyard_private_lib lib/halyard)
get_target_property(halide_include Halide::Runtime INTERFACE_INCLUDE_DIRECTORIES)

set_target_properties(halyard-generators PROPERTIES INSTALL_RPATH "$ORIGIN/../${halyard_private_lib}")
set_target_properties(halyard_plugin PROPERTIES INSTALL_RPATH "$ORIGIN/halyard")

install(TARGETS halyard halyard-generators halyard-heads RUNTIME DESTINATION bin)
install(TARGETS halyard_plugin LIBRARY DESTINATION lib)
install(TARGETS halyard_launch_recorder halyard_own_temporary LIBRARY DESTINATION ${halyard_private_lib})
install(FILES $<TARGET_FILE:Halide::Halide> ${HALYARD_LLVMLITE} DESTINATION ${halyard_private_lib})
install(FILES ${PROJECT_BINARY_DIR}/lib/libhalyard_runtime.a DESTINATION lib)
install(DIRECTORY runtime/include/halyard DESTINATION include)
install(FILES ${halide_include}/HalideRuntime.h ${halide_include}/HalideBuffer.h
    DESTINATION include/halyard/halide)
install(DIRECTORY schedules/cpu schedules/cuda schedules/lib schedules/meta DESTINATION share/halyard/schedules
    FILES_MATCHING PATTERN "*.lua")

configure_package_config_file(runtime/cmake/HalyardConfig.cmake.in
    ${PROJECT_BINARY_DIR}/HalyardConfig.cmake INSTALL_DESTINATION lib/cmake/Halyard)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/HalyardConfigVersion.cmake
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/HalyardConfig.cmake ${PROJECT_BINARY_DIR}/HalyardConfigVersion.cmake
    runtime/cmake/HalyardHelpers.cmake DESTINATION lib/cmake/Halyard)
