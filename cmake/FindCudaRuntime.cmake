# SPDX-License-Identifier: MIT
# Imported target gangway::cudart: the CUDA runtime of LibTorch's wheel, in the checkout's virtual
# environment or CUDART_ROOT. A second runtime, linked in statically, would have its own kernels,
# current device and last error.
if(NOT CUDART_ROOT)
  file(GLOB gangway_cudart_candidates "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13")
  if(gangway_cudart_candidates)
    list(GET gangway_cudart_candidates 0 CUDART_ROOT)
  endif()
endif()
if(NOT EXISTS "${CUDART_ROOT}/lib/libcudart.so.13")
  message(FATAL_ERROR "the CUDA runtime was not found (looked in '.venv' and CUDART_ROOT): run ./launch/setup first")
endif()
add_library(gangway_cudart_wheel INTERFACE)
add_library(gangway::cudart ALIAS gangway_cudart_wheel)
target_include_directories(gangway_cudart_wheel SYSTEM INTERFACE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_link_libraries(gangway_cudart_wheel INTERFACE "${CUDART_ROOT}/lib/libcudart.so.13")
target_link_options(gangway_cudart_wheel INTERFACE "LINKER:-rpath,${CUDART_ROOT}/lib")
