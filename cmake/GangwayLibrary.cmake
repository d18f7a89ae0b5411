# SPDX-License-Identifier: MIT
# gangway_add_library(mine a.cpp …): a library for `model.library: libmine.so`.
#
# The sources are compiled once and linked twice. libmine.so has the rows and no LibTorch, because
# command and coordinator read it too. libmine.blocks.so has all, and is loaded to make networks.
# Targets: `mine`, `mine_blocks` (to link more to), `mine_objects` (to give more flags to).

# gangway_torch_version(root variable): the LibTorch version in `root`, by its headers: "2.11.0".
function(gangway_torch_version root variable)
  set(version "")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    set(line "")
    if(EXISTS "${root}/include/torch/headeronly/version.h")
      file(STRINGS "${root}/include/torch/headeronly/version.h" line REGEX "define TORCH_VERSION_${part} ")
    endif()
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND version "${number}")
  endforeach()
  list(JOIN version "." version)
  set(${variable} "${version}" PARENT_SCOPE)
endfunction()

function(gangway_add_library name)
  add_library(${name}_objects OBJECT ${ARGN} "${Gangway_SHARE_DIR}/library_interface.cpp")
  set_target_properties(${name}_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name}_objects PUBLIC Gangway::Gangway)
  target_compile_options(${name}_objects PRIVATE -ffunction-sections -fdata-sections)

  add_library(${name} MODULE $<TARGET_OBJECTS:${name}_objects>)
  add_library(${name}_blocks MODULE $<TARGET_OBJECTS:${name}_objects>)
  set_target_properties(${name} ${name}_blocks PROPERTIES LINKER_LANGUAGE CXX PREFIX lib SUFFIX .so)
  set_target_properties(${name}_blocks PROPERTIES OUTPUT_NAME ${name}.blocks)
  target_link_options(${name} PRIVATE LINKER:--gc-sections
    "LINKER:--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/library_rows.map")
  target_link_options(${name}_blocks PRIVATE "LINKER:-rpath,${Gangway_LIBTORCH_ROOT}/lib" LINKER:--allow-shlib-undefined
    "LINKER:--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/library_blocks.map")
  target_link_libraries(${name}_blocks PRIVATE
    "${Gangway_LIBTORCH_ROOT}/lib/libtorch_cpu.so" "${Gangway_LIBTORCH_ROOT}/lib/libc10.so")
  add_dependencies(${name} ${name}_blocks)  # building `mine` builds both
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} "-DNM=${CMAKE_NM}" "-DFILE=$<TARGET_FILE:${name}>" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/CheckRows.cmake"
    VERBATIM)
endfunction()
