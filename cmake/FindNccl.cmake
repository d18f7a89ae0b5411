# SPDX-License-Identifier: MIT
# Imported target gangway::nccl: the NCCL of LibTorch's wheel, which LibTorch itself loads (never a
# second one), in the checkout's virtual environment or NCCL_ROOT.
if(NOT NCCL_ROOT)
  file(GLOB gangway_nccl_candidates "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/nccl")
  if(gangway_nccl_candidates)
    list(GET gangway_nccl_candidates 0 NCCL_ROOT)
  endif()
endif()
if(NOT EXISTS "${NCCL_ROOT}/include/nccl.h" OR NOT EXISTS "${NCCL_ROOT}/lib/libnccl.so.2")
  message(FATAL_ERROR "NCCL not found (looked in '.venv' and NCCL_ROOT): run ./launch/setup first")
endif()
add_library(gangway_nccl_wheel INTERFACE)
add_library(gangway::nccl ALIAS gangway_nccl_wheel)
# nccl.h includes the CUDA runtime's headers; FindCUDAToolkit is not used (gan/cuda/CMakeLists.txt).
target_include_directories(gangway_nccl_wheel SYSTEM INTERFACE "${NCCL_ROOT}/include" ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_link_libraries(gangway_nccl_wheel INTERFACE "${NCCL_ROOT}/lib/libnccl.so.2")
target_link_options(gangway_nccl_wheel INTERFACE "LINKER:-rpath,${NCCL_ROOT}/lib")
