# halyard_add_library(<name> OP <op>
#                     [SCHEDULE <file.lua or variant>]   default: the schedule that ships for the op
#                     [TARGETS <level or Halide target>...]  default: avx512 avx2, chosen at run time
#                     [DEVICES <architecture>...]        of GPUs, where the target is cuda: sm_80, sm_90a, ...; default:
#                                                        those of `halyard build --devices`
#                     [CONSTANT <input>...]              of CUDA: that no kernel writes which may still run when the
#                                                        library is called, as weights are
#                     [PARAMS <generator parameter>=<value>...]
#                     [SET <tune parameter>=<value>...]
#                     [SHAPE <dims>]                     the best schedule of this user's database for one size, as
#                                                        rows=64,cols=4096; then the library depends on the database
#                     [DATABASE <file>]                  with SHAPE: a database of the project's own, or its records as
#                                                        `halyard db export` writes them; what fits no machine takes what ships
#                     [FUNCTION <C function>]            default: <name>
#                     [GENERATOR <executable target>])   a Halide generator of your own; default: the
#                                                        generators that ship with Halyard
#
# Makes a static library of ready machine code with the header <name>.h, to be used with
# target_link_libraries(app PRIVATE <name>). A change of the schedule, or of a file that it requires,
# rebuilds just this library.
#
# A value is data: it reaches the command as it stands, and one that CMake or the command would take for more than a value is an error.

# halyard_check_value(<call> <argument> <value> <hint>), where <call> is as halyard_add_library(one)
function(halyard_check_value call argument value hint)
    set(reason "")
    set(words "first;${value};last")  # a list that holds the value, as the command's words do
    list(LENGTH words count)
    if("${value}" MATCHES ";")
        set(reason "has a semicolon, which separates the words of a command")
    elseif("${value}" MATCHES "\\$<")
        set(reason "has a generator expression, and would be another value in the build")
    elseif("${value}" MATCHES "[\r\n]")
        set(reason "has a line break")
    elseif("${value}" MATCHES "\\$\\(")
        set(reason "has a variable of make, and would be another value in the build")
    elseif("${value}" MATCHES "^-")
        set(reason "begins as an option of the command does")
    elseif(NOT count EQUAL 3 OR "${value}" MATCHES "\\\\$")
        set(reason "has brackets that are not in pairs, or ends with a backslash, and would become one with the word behind it")
    else()
        return()
    endif()
    message(FATAL_ERROR "${call}: ${argument} \"${value}\" ${reason}; ${hint}")
endfunction()

# halyard_check_arguments(<call> <names of one value> <names of several>), of what cmake_parse_arguments() left in arg_NAME
function(halyard_check_arguments call of_one of_several)
    foreach(argument IN LISTS of_one)
        halyard_check_value("${call}" ${argument} "${arg_${argument}}" "${argument} takes one value")
    endforeach()
    foreach(argument IN LISTS of_several)
        foreach(value IN LISTS arg_${argument})
            halyard_check_value("${call}" ${argument} "${value}"
                "${argument} takes values apart: ${argument} a b, or \${list} without quotes")
        endforeach()
    endforeach()
endfunction()

function(halyard_add_library name)
    set(of_one OP SCHEDULE FUNCTION GENERATOR SHAPE DATABASE)
    set(of_several TARGETS DEVICES CONSTANT PARAMS SET)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "${of_one}" "${of_several}")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "halyard_add_library(${name}): unknown argument ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT arg_OP)
        message(FATAL_ERROR "halyard_add_library(${name}): OP is missing; `halyard list` names the ops")
    endif()
    if(NOT arg_FUNCTION)
        set(arg_FUNCTION ${name})
    endif()

    halyard_check_value("halyard_add_library(${name})" "the name" "${name}" "take letters, digits and _")
    halyard_check_arguments("halyard_add_library(${name})" "${of_one}" "${of_several}")

    set(dir ${CMAKE_CURRENT_BINARY_DIR}/halyard/${name})
    set(library ${dir}/${arg_FUNCTION}.a)
    set(header ${dir}/${arg_FUNCTION}.h)
    set(command $<TARGET_FILE:Halyard::halyard> build ${arg_OP} --quiet "--name=${arg_FUNCTION}" "--output=${dir}"
        "--depfile=${dir}/${name}.d")
    set(depends Halyard::halyard ${HALYARD_BUILD_INPUTS})
    if(arg_SCHEDULE)
        set(schedule "${arg_SCHEDULE}")
        if(schedule MATCHES "\\.lua$")
            cmake_path(ABSOLUTE_PATH schedule BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
            list(APPEND depends "${schedule}")
        endif()
        list(APPEND command "--schedule=${schedule}")
    endif()
    if(arg_DATABASE)
        if(NOT arg_SHAPE)
            message(FATAL_ERROR "halyard_add_library(${name}): DATABASE is for one size; add SHAPE")
        endif()
        set(database "${arg_DATABASE}")
        cmake_path(ABSOLUTE_PATH database BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
        list(APPEND depends "${database}")
        list(APPEND command "--db=${database}")
    endif()
    if(arg_SHAPE)
        list(APPEND command "--shape=${arg_SHAPE}")
    else()
        list(APPEND command --no-db)
    endif()
    if(arg_TARGETS)
        list(JOIN arg_TARGETS "," targets)
        list(APPEND command "--target=${targets}")
    endif()
    if(arg_DEVICES)
        list(JOIN arg_DEVICES "," devices)
        list(APPEND command "--devices=${devices}")
    endif()
    if(arg_CONSTANT)
        list(JOIN arg_CONSTANT "," constant)
        list(APPEND command "--constant=${constant}")
    endif()
    foreach(param IN LISTS arg_PARAMS)
        list(APPEND command "--param=${param}")
    endforeach()
    foreach(value IN LISTS arg_SET)
        list(APPEND command "--set=${value}")
    endforeach()
    if(arg_GENERATOR)
        list(APPEND command "--generator=$<TARGET_FILE:${arg_GENERATOR}>")
        list(APPEND depends ${arg_GENERATOR})
    endif()

    file(MAKE_DIRECTORY ${dir})
    add_custom_command(
        OUTPUT ${library} ${header}
        COMMAND ${command}
        DEPENDS ${depends}
        DEPFILE ${dir}/${name}.d
        COMMENT "Halyard ${name} (${arg_OP})"
        VERBATIM)
    add_custom_target(${name}.build DEPENDS ${library} ${header})
    add_library(${name} STATIC IMPORTED GLOBAL)
    add_dependencies(${name} ${name}.build)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${library})
    target_include_directories(${name} INTERFACE ${dir})
    target_link_libraries(${name} INTERFACE Halyard::Runtime)
endfunction()

# halyard_add_model(<name> MODEL <file.onnx>
#                   [SCHEDULE <file.lua>]      the groups, as `halyard compile` wrote them and somebody edited them
#                   [DIMS <dimension>=<size or range>...]
#                   [TYPE <bfloat16|float16>]  of weights and of arrays between groups; default: the model's
#                   [TARGETS <level or Halide target>...]  default: host
#                   [PYTHON <interpreter>])    one with the onnx package; default: as `halyard compile` finds it
#
# Makes a static library of an ONNX model with the header <name>.h, whose functions begin with <name>_, to be used with
# target_link_libraries(app PRIVATE <name>). The property HALYARD_WEIGHTS of the target is the file for <name>_load().
function(halyard_add_model name)
    set(of_one MODEL SCHEDULE TYPE PYTHON)
    set(of_several DIMS TARGETS DEVICES)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "${of_one}" "${of_several}")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "halyard_add_model(${name}): unknown argument ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT arg_MODEL)
        message(FATAL_ERROR "halyard_add_model(${name}): MODEL is missing: an ONNX file")
    endif()
    halyard_check_value("halyard_add_model(${name})" "the name" "${name}" "take letters, digits and _")
    halyard_check_arguments("halyard_add_model(${name})" "${of_one}" "${of_several}")

    set(dir ${CMAKE_CURRENT_BINARY_DIR}/halyard/${name})
    cmake_path(ABSOLUTE_PATH arg_MODEL BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    set(command $<TARGET_FILE:Halyard::halyard> compile "${arg_MODEL}" --quiet "--name=${name}" "--output=${dir}"
        "--depfile=${dir}/${name}.d")
    set(depends Halyard::halyard ${HALYARD_BUILD_INPUTS} "${arg_MODEL}")
    if(arg_SCHEDULE)
        cmake_path(ABSOLUTE_PATH arg_SCHEDULE BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
        list(APPEND command "--schedule=${arg_SCHEDULE}")
        list(APPEND depends "${arg_SCHEDULE}")
    endif()
    if(arg_TYPE)
        list(APPEND command "--type=${arg_TYPE}")
    endif()
    foreach(dim IN LISTS arg_DIMS)
        list(APPEND command "--dim=${dim}")
    endforeach()
    if(arg_TARGETS)
        list(JOIN arg_TARGETS "," targets)
        list(APPEND command "--target=${targets}")
    endif()
    if(arg_DEVICES)
        list(JOIN arg_DEVICES "," devices)
        list(APPEND command "--devices=${devices}")
    endif()
    if(arg_PYTHON)
        list(PREPEND command ${CMAKE_COMMAND} -E env "HALYARD_PYTHON=${arg_PYTHON}")
    endif()

    set(library ${dir}/lib${name}.a)
    set(outputs ${library} ${dir}/${name}.h ${dir}/${name}.weights ${dir}/${name}.lua ${dir}/${name}.json)
    file(MAKE_DIRECTORY ${dir})
    add_custom_command(
        OUTPUT ${outputs}
        COMMAND ${command}
        DEPENDS ${depends}
        DEPFILE ${dir}/${name}.d
        COMMENT "Halyard model ${name}"
        VERBATIM)
    add_custom_target(${name}.build DEPENDS ${outputs})
    add_library(${name} STATIC IMPORTED GLOBAL)
    add_dependencies(${name} ${name}.build)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${library} HALYARD_WEIGHTS ${dir}/${name}.weights)
    target_include_directories(${name} INTERFACE ${dir})
    target_link_libraries(${name} INTERFACE Halyard::Runtime)
endfunction()
