# SPDX-License-Identifier: MIT
# Debian's gRPC for C++: gangway::grpc, gangway::grpc_reflection and protoc's GANGWAY_GRPC_PLUGIN.
# Avoids gRPC's CMake package, which needs a dozen others, and pkg-config, which takes seconds.
find_path(GRPC_INCLUDE_DIR grpcpp/grpcpp.h)
find_library(GRPC_CPP_LIBRARY grpc++)
find_library(GRPC_REFLECTION_LIBRARY grpc++_reflection)
find_library(GRPC_CORE_LIBRARY grpc)
find_library(GRPC_GPR_LIBRARY gpr)
find_library(ABSL_SYNCHRONIZATION_LIBRARY absl_synchronization)  # gRPC's headers use it
find_program(GANGWAY_GRPC_PLUGIN grpc_cpp_plugin)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GrpcLibraries REQUIRED_VARS GRPC_CPP_LIBRARY GRPC_REFLECTION_LIBRARY GRPC_CORE_LIBRARY
  GRPC_GPR_LIBRARY ABSL_SYNCHRONIZATION_LIBRARY GRPC_INCLUDE_DIR GANGWAY_GRPC_PLUGIN REASON_FAILURE_MESSAGE "install libgrpc++-dev and protobuf-compiler-grpc")
if(GrpcLibraries_FOUND AND NOT TARGET gangway::grpc)
  add_library(gangway::grpc INTERFACE IMPORTED)
  target_include_directories(gangway::grpc SYSTEM INTERFACE "${GRPC_INCLUDE_DIR}")
  target_link_libraries(gangway::grpc INTERFACE "${GRPC_CPP_LIBRARY}" "${GRPC_CORE_LIBRARY}" "${GRPC_GPR_LIBRARY}"
    "${ABSL_SYNCHRONIZATION_LIBRARY}")
  add_library(gangway::grpc_reflection INTERFACE IMPORTED)
  target_link_libraries(gangway::grpc_reflection INTERFACE "${GRPC_REFLECTION_LIBRARY}" gangway::grpc)
endif()
