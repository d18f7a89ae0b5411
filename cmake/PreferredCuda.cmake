# SPDX-License-Identifier: MIT
# Finds nvcc before the CUDA language is enabled: CUDACXX, then CUDA_HOME, then an installed toolkit (13 or newer),
# then the toolkit that launch/setup puts into the checkout's virtual environment.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  file(GLOB gangway_venv_cuda "${CMAKE_CURRENT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13")
  foreach(root IN ITEMS "$ENV{CUDA_HOME}" /usr/local/cuda ${gangway_venv_cuda})
    if(root AND EXISTS "${root}/bin/nvcc")
      execute_process(COMMAND "${root}/bin/nvcc" --version OUTPUT_VARIABLE gangway_nvcc_version ERROR_QUIET)
      if(gangway_nvcc_version MATCHES "release (1[3-9]|[2-9][0-9])")
        set(CMAKE_CUDA_COMPILER "${root}/bin/nvcc" CACHE FILEPATH "CUDA compiler")
        set(CUDAToolkit_ROOT "${root}" CACHE PATH "CUDA toolkit")
        break()
      endif()
    endif()
  endforeach()
endif()
