# SPDX-License-Identifier: MIT
# Imported target gangway::torch: LibTorch of the PyPI wheel, found in the checkout's virtual environment or LIBTORCH_ROOT.
#
# The wheel's include folder carries old copies of protobuf and fmt, so it is searched after every other folder
# (-idirafter). Only the CPU libraries are linked; programs that compute on a GPU link gangway::torch_cuda as well.
if(NOT LIBTORCH_ROOT)
  file(GLOB gangway_torch_candidates "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
  if(gangway_torch_candidates)
    list(GET gangway_torch_candidates 0 LIBTORCH_ROOT)
  endif()
endif()
if(NOT EXISTS "${LIBTORCH_ROOT}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "LibTorch not found (looked in '.venv' and LIBTORCH_ROOT): run ./launch/setup first")
endif()
# Another version in the same folder (launch/setup --torch) configures again. Ninja sees its headers and libraries by itself.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${LIBTORCH_ROOT}/include/torch/headeronly/version.h")
add_library(gangway_torch INTERFACE)
add_library(gangway::torch ALIAS gangway_torch)
target_compile_options(gangway_torch INTERFACE
  "SHELL:$<$<COMPILE_LANGUAGE:CXX>:-idirafter ${LIBTORCH_ROOT}/include>"
  "SHELL:$<$<COMPILE_LANGUAGE:CXX>:-idirafter ${LIBTORCH_ROOT}/include/torch/csrc/api/include>")
target_compile_definitions(gangway_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
target_link_libraries(gangway_torch INTERFACE
  "${LIBTORCH_ROOT}/lib/libtorch_cpu.so" "${LIBTORCH_ROOT}/lib/libc10.so")
target_link_options(gangway_torch INTERFACE "LINKER:-rpath,${LIBTORCH_ROOT}/lib" "LINKER:--allow-shlib-undefined")

# gangway::nvtx: headers that name ranges for NVIDIA's profilers (worker/trace/nvtx_range.hpp). They
# come with the wheel, so that CPU workers need no CUDA toolkit.
get_filename_component(gangway_wheels "${LIBTORCH_ROOT}" DIRECTORY)
add_library(gangway_nvtx INTERFACE)
add_library(gangway::nvtx ALIAS gangway_nvtx)
target_include_directories(gangway_nvtx SYSTEM INTERFACE "${gangway_wheels}/nvidia/cu13/include")

# gangway::torch_cuda: adds LibTorch's GPU part. libtorch_cuda registers itself by loading.
add_library(gangway_torch_cuda INTERFACE)
add_library(gangway::torch_cuda ALIAS gangway_torch_cuda)
target_include_directories(gangway_torch_cuda SYSTEM INTERFACE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_link_libraries(gangway_torch_cuda INTERFACE gangway_torch
  "-Wl,--no-as-needed" "${LIBTORCH_ROOT}/lib/libtorch_cuda.so" "-Wl,--as-needed" "${LIBTORCH_ROOT}/lib/libc10_cuda.so")
