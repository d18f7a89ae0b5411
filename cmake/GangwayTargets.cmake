# SPDX-License-Identifier: MIT
# Settings that all targets share: warnings as errors, the include root, labels of tests, how far
# each target is optimised, and which precompiled header it uses.

set(GANGWAY_SANITIZE "" CACHE STRING "Sanitizers for own targets, as given to -fsanitize=")
# Headers cost most of a build, so files of a target are compiled together, a few at a time. Other
# presets compile each file alone, which shows a missing #include.
option(GANGWAY_TOGETHER "Compile files of one target together" OFF)

function(gangway_common target)
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")
  # -ffp-contract=off: a product and a sum round separately, with and without FMA, on CPU and CUDA
  # (docs/numerics.md). Bits must not depend on what a compiler fuses.
  target_compile_options(${target} PRIVATE
    # Two warnings of GCC 12 are off: designated initialisers leave members to their defaults on purpose, and -Wrestrict
    # misfires on string concatenation (GCC bug 105651).
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Wshadow;-Werror;-Wno-missing-field-initializers;-Wno-restrict;-ffp-contract=off>
    $<$<COMPILE_LANGUAGE:CXX>:-fPIC>  # programs too, because they share precompiled headers
    $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;-Werror=all-warnings;-Xcompiler=-Wall;-Xcompiler=-ffp-contract=off>)
  if(GANGWAY_SANITIZE)
    # GCC 12 takes members of std::regex for uninitialised where code is instrumented (GCC bug 105562).
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${GANGWAY_SANITIZE};-fno-omit-frame-pointer;-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${GANGWAY_SANITIZE})
  endif()
  if(GANGWAY_SANITIZE STREQUAL "thread")
    # GCC warns of atomic_thread_fence, which Boost.Asio calls beside its mutexes, not in their place.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
  if(GANGWAY_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # Its source is an #include, so GCC takes its unnamed namespaces for those of a header.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
  # Runs after every folder is read, because only then the target's links are known.
  cmake_language(EVAL CODE
    "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL gangway_build_cheaply [[${target}]])")
endfunction()

# gangway_links(target library variable): sets whether `target` links `library`, also indirectly.
function(gangway_links target library variable)
  get_target_property(answer ${target} GANGWAY_LINKS_${library})
  if(answer STREQUAL "answer-NOTFOUND")
    set(answer FALSE)
    set(seen "")
    get_target_property(waiting ${target} LINK_LIBRARIES)
    get_target_property(aliased ${library} ALIASED_TARGET)
    while(waiting)
      list(POP_FRONT waiting next)
      if(next STREQUAL library OR next STREQUAL aliased)
        set(answer TRUE)
        break()
      endif()
      if(TARGET ${next} AND NOT next IN_LIST seen)
        list(APPEND seen ${next})
        get_target_property(its ${next} INTERFACE_LINK_LIBRARIES)
        if(its)
          list(APPEND waiting ${its})
        endif()
      endif()
    endwhile()
    set_target_properties(${target} PROPERTIES GANGWAY_LINKS_${library} ${answer})
  endif()
  set(${variable} ${answer} PARENT_SCOPE)
endfunction()

# Only sources with loops over numbers or bytes (HOT) have the preset's optimisation, because code
# generation is most of a compilation; callers of LibTorch have -O1, others -Og. Results do not
# change: without fast-math, GCC keeps the order of operations. GCC's data-flow warnings misfire at
# these levels. The parameters let the compiler collect its garbage at 1 GB, not at 30 MB.
function(gangway_optimise_little target level)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:${level};-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-maybe-uninitialized;--param=ggc-min-expand=400;--param=ggc-min-heapsize=1000000>)
endfunction()

# gangway_build_cheaply(target): every target uses one of four precompiled headers, with or without LibTorch and GoogleTest.
# Sanitizer builds do without.
function(gangway_build_cheaply target)
  get_target_property(hot ${target} GANGWAY_HOT)
  if(hot)  # no header: GCC 12 crashes on one of another optimisation level
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
    return()
  endif()
  set(sees_torch FALSE)
  if(GANGWAY_WITH_TORCH)
    gangway_links(${target} gangway::torch sees_torch)
  endif()
  set(sees_gtest FALSE)
  if(GANGWAY_WITH_TESTS)
    gangway_links(${target} GTest::gtest sees_gtest)
  endif()
  if(sees_torch AND NOT sees_gtest)
    gangway_optimise_little(${target} -O1)
  else()
    gangway_optimise_little(${target} -Og)
  endif()
  gangway_links(${target} fmt::fmt sees_fmt)
  get_target_property(own ${target} PRECOMPILE_HEADERS)
  if(GANGWAY_SANITIZE OR own OR NOT sees_fmt)  # without fmt: libraries that tests preload
    return()
  endif()
  if(sees_torch AND sees_gtest)
    set(owner gangway_headers_of_torch_tests)
  elseif(sees_torch)
    set(owner gangway_headers_of_torch)
  elseif(sees_gtest)
    set(owner gangway_headers_of_tests)
  else()
    set(owner gangway_headers)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# gangway_precompiled(name HEADERS <a> … LINKS targets …): an owner for gangway_build_cheaply
function(gangway_precompiled name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINKS" ${ARGN})
  set(source "${PROJECT_BINARY_DIR}/generated/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// ${name}: a precompiled header belongs to a target, and a target has a source.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  gangway_common(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

set(GANGWAY_USUAL_HEADERS
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <deque> <filesystem> <fstream>
  <functional> <iostream> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread> <utility>
  <vector> <fmt/format.h>)
if(NOT GANGWAY_SANITIZE)
  gangway_precompiled(gangway_headers HEADERS ${GANGWAY_USUAL_HEADERS} LINKS fmt::fmt)
  if(GANGWAY_WITH_TORCH)
    gangway_precompiled(gangway_headers_of_torch HEADERS "${PROJECT_SOURCE_DIR}/gan/torch.hpp" LINKS fmt::fmt gangway::torch)
  endif()
  if(GANGWAY_WITH_TESTS)
    gangway_precompiled(gangway_headers_of_tests HEADERS ${GANGWAY_USUAL_HEADERS} <gmock/gmock.h> <gtest/gtest.h>
      LINKS fmt::fmt GTest::gtest GTest::gmock)
  endif()
  if(GANGWAY_WITH_TORCH AND GANGWAY_WITH_TESTS)
    gangway_precompiled(gangway_headers_of_torch_tests
      HEADERS "${PROJECT_SOURCE_DIR}/gan/torch.hpp" ${GANGWAY_USUAL_HEADERS} <gmock/gmock.h> <gtest/gtest.h>
      LINKS fmt::fmt GTest::gtest GTest::gmock gangway::torch)
  endif()
endif()

# gangway_grouped(variable source …): sorts the sources that include CLI11 first, because files that
# are compiled together generate its inline functions (140 KB) once.
function(gangway_grouped variable)
  set(first "")
  set(others "")
  foreach(source IN LISTS ARGN)
    set(opened "")
    get_filename_component(path "${source}" ABSOLUTE)
    if(EXISTS "${path}")
      file(STRINGS "${path}" opened REGEX "^#include <CLI/")
    endif()
    if(opened)
      list(APPEND first "${source}")
    else()
      list(APPEND others "${source}")
    endif()
  endforeach()
  set(${variable} ${first} ${others} PARENT_SCOPE)
endfunction()

# gangway_library(name SOURCES a.cpp … HOT b.cpp … PUBLIC targets … PRIVATE targets …)
function(gangway_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;HOT;PUBLIC;PRIVATE" ${ARGN})
  gangway_grouped(sources ${arg_SOURCES})
  add_library(${name} STATIC ${sources})
  gangway_common(${name})
  target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  if(arg_HOT)
    add_library(${name}_hot OBJECT ${arg_HOT})
    gangway_common(${name}_hot)
    set_target_properties(${name}_hot PROPERTIES GANGWAY_HOT TRUE)
    target_link_libraries(${name}_hot PRIVATE ${arg_PUBLIC} ${arg_PRIVATE})
    target_include_directories(${name}_hot SYSTEM PRIVATE "${PROJECT_BINARY_DIR}/generated")
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${name}_hot>)
  endif()
endfunction()

# gangway_program(name SOURCES a.cpp … LINKS targets …): built into bin/
function(gangway_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  gangway_common(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
endfunction()

# gangway_open_to_libraries(program …): lets the user's libraries call the program (docs/python.md).
function(gangway_open_to_libraries)
  set(names "${PROJECT_SOURCE_DIR}/cmake/exported_symbols.txt")
  foreach(program IN LISTS ARGN)
    target_link_options(${program} PRIVATE "LINKER:--dynamic-list=${names}")
    set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS "${names}")
  endforeach()
endfunction()

# A test hangs if it takes three times its last time (tests/times.txt), and half a minute at least.
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tests/times.txt)
file(STRINGS "${PROJECT_SOURCE_DIR}/tests/times.txt" gangway_times REGEX "^ *[0-9]")
foreach(line IN LISTS gangway_times)
  string(REGEX MATCH "([0-9]+)\\.[0-9]+ [0-9]+ (.*)" matched "${line}")
  math(EXPR GANGWAY_LIMIT_OF_${CMAKE_MATCH_2} "3 * ${CMAKE_MATCH_1} + 30")
endforeach()

# gangway_script_test(name LABEL faults COMMAND …)
function(gangway_script_test name)
  cmake_parse_arguments(arg "" "LABEL" "COMMAND" ${ARGN})
  if(arg_LABEL MATCHES "slow|gpu|campaign")
    set(limit 7200)
  elseif(DEFINED GANGWAY_LIMIT_OF_${arg_LABEL}.${name})
    set(limit ${GANGWAY_LIMIT_OF_${arg_LABEL}.${name}})
  else()
    set(limit 300)  # new
  endif()
  add_test(NAME ${arg_LABEL}.${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${arg_LABEL}.${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${limit}
    FIXTURES_REQUIRED shared_memory ENVIRONMENT "GANGWAY_BIN=${CMAKE_BINARY_DIR}/bin" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endfunction()

# gangway_test(name LABEL unit SOURCES a_test.cpp … LINKS targets …): a GoogleTest program, one ctest
# entry (starting a program costs more than most of its cases).
function(gangway_test name)
  cmake_parse_arguments(arg "" "LABEL" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  gangway_common(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  gangway_script_test(${name} LABEL ${arg_LABEL} COMMAND ${name})
endfunction()
