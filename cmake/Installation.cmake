# SPDX-License-Identifier: MIT
# cmake --install build/release --prefix P: programs, their files, and headers for users' libraries.
# Programs find one another in their own folder, and LibTorch and CUDA where the build found them.
include(GangwayLibrary)
include(InstalledHeaders)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Copies them unchanged: they link nothing in the build folder, and their run path is already right.
# CMake would take that path for its own and remove it.
foreach(program IN ITEMS gangway gangway-tools gangway-control gangway-onnx gangway-coordinator gangway-bench-allreduce gangway-bench-links gangway-bench-nccl gangway-worker gangway-model gangway-worker-cuda gangway-model-cuda)
  if(TARGET ${program})
    install(PROGRAMS $<TARGET_FILE:${program}> DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()

if(TARGET gangway-python)
  install(PROGRAMS $<TARGET_FILE:gangway-python> DESTINATION lib OPTIONAL)
endif()

set(GANGWAY_SHARE_DIR "${CMAKE_INSTALL_DATADIR}/gangway")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/share/" DESTINATION "${GANGWAY_SHARE_DIR}"
  PATTERN __pycache__ EXCLUDE PATTERN "*.egg-info" EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/share/completions/gangway.bash" RENAME gangway
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${GANGWAY_SHARE_DIR}")

if(GANGWAY_WITH_TORCH)
  set(GANGWAY_INCLUDE_DIR "${CMAKE_INSTALL_INCLUDEDIR}/gangway")
  foreach(header IN LISTS GANGWAY_INSTALLED_HEADERS)
    get_filename_component(folder "${header}" DIRECTORY)
    install(FILES "${PROJECT_SOURCE_DIR}/${header}" DESTINATION "${GANGWAY_INCLUDE_DIR}/${folder}")
  endforeach()
  install(FILES "${GANGWAY_INTERFACE_HEADER}" DESTINATION "${GANGWAY_INCLUDE_DIR}/job/library")
  install(FILES "${PROJECT_SOURCE_DIR}/gan/library/library_interface.cpp" DESTINATION "${GANGWAY_SHARE_DIR}")

  gangway_torch_version("${LIBTORCH_ROOT}" GANGWAY_TORCH_VERSION)
  set(package "${CMAKE_INSTALL_LIBDIR}/cmake/Gangway")
  configure_package_config_file(cmake/GangwayConfig.cmake.in "${PROJECT_BINARY_DIR}/generated/GangwayConfig.cmake"
    INSTALL_DESTINATION "${package}" PATH_VARS GANGWAY_INCLUDE_DIR GANGWAY_SHARE_DIR)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/GangwayConfigVersion.cmake"
    COMPATIBILITY ExactVersion)  # before 1.0 every version has another interface
  install(FILES "${PROJECT_BINARY_DIR}/generated/GangwayConfig.cmake"
    "${PROJECT_BINARY_DIR}/generated/GangwayConfigVersion.cmake"
    cmake/GangwayLibrary.cmake cmake/CheckRows.cmake cmake/library_rows.map cmake/library_blocks.map
    DESTINATION "${package}")
endif()
