# SPDX-License-Identifier: MIT
# One place for what every target of ours shares: warnings as errors, the include root, labels of tests.

set(GANGWAY_SANITIZE "" CACHE STRING "Sanitizers for own targets, as given to -fsanitize=")

function(gangway_common target)
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")
  # -ffp-contract=off: a product and a sum are rounded apart, with and without FMA hardware, on CPU as on CUDA
  # (docs/numerics.md); bits may not depend on what a compiler fuses.
  target_compile_options(${target} PRIVATE
    # Two warnings of GCC 12 are off: designated initialisers leave members to their defaults on purpose, and -Wrestrict
    # misfires on string concatenation (GCC bug 105651).
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Wshadow;-Werror;-Wno-missing-field-initializers;-Wno-restrict;-ffp-contract=off>
    $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;-Werror=all-warnings;-Xcompiler=-Wall;-Xcompiler=-ffp-contract=off>)
  if(GANGWAY_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${GANGWAY_SANITIZE};-fno-omit-frame-pointer>)
    target_link_options(${target} PUBLIC -fsanitize=${GANGWAY_SANITIZE})
  endif()
  if(GANGWAY_SANITIZE STREQUAL "thread")
    # GCC warns of atomic_thread_fence, which Boost.Asio calls beside its mutexes, not in their place.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
endfunction()

# gangway_library(name SOURCES a.cpp … PUBLIC targets … PRIVATE targets …)
function(gangway_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  gangway_common(${name})
  target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
endfunction()

# gangway_program(name SOURCES a.cpp … LINKS targets …): built into bin/
function(gangway_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  gangway_common(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
endfunction()

# gangway_test(name LABEL unit SOURCES a_test.cpp … LINKS targets … [TIMEOUT seconds]): a GoogleTest program, one ctest
# entry (starting a program costs more than most of its cases).
function(gangway_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LINKS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  gangway_common(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${arg_LABEL}.${name} COMMAND ${name})
  set_tests_properties(${arg_LABEL}.${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endfunction()

# gangway_script_test(name LABEL faults COMMAND … [TIMEOUT seconds])
function(gangway_script_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "COMMAND" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME ${arg_LABEL}.${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${arg_LABEL}.${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "GANGWAY_BIN=${CMAKE_BINARY_DIR}/bin" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endfunction()
