// SPDX-License-Identifier: MIT
// The user's library of a job (model.library: libmine.so): found, hashed and read with the job
// file, kept in the run directory when the job begins.
//
// The library has two files. libmine.so has the rows and no LibTorch, so that the command and the
// coordinator load it as fast as their own tables. libmine.blocks.so has the code that computes.
// Both come from one source (cmake/GangwayConfig.cmake.in). A helper program with LibTorch, as for
// Python networks, would cost each reader of a job a second. It could not return functions of the
// model's sizes (counts, memory) at all. Any thread.
#pragma once

#include <filesystem>
#include <string_view>

#include "job/library/library_rows.hpp"
#include "job/library/shared_library.hpp"
#include "job/models/hashed_file.hpp"

namespace gangway {

/// Returns "libmine.blocks.so" beside "libmine.so". The file is absent if the families use
/// Gangway's own blocks alone.
[[nodiscard]] std::filesystem::path blocks_file(const std::filesystem::path& library);

/// Opens that file. @throws ConfigError of one line: as SharedLibrary, or if there is no file
/// @param torch  LibTorch's version
[[nodiscard]] SharedLibrary open_blocks(const std::filesystem::path& library,
                                        std::string_view torch);

/// Fills in the hash, over both files. If the library at its place is missing or differs, uses the
/// copy in the run directory `run`.
/// @throws ConfigError of one line: as SharedLibrary, for a library other than the job's, or for a
/// row that cannot be used
void settle_library(HashedFile& library, const std::filesystem::path& run);

/// Returns the rows of the library; empty without a library. References stay valid.
/// @pre settled. @throws ConfigError
[[nodiscard]] const LibraryRows& rows_of(const HashedFile& library);

/// Copies both files into the run directory unless they are there. @throws ConfigError;
/// EnvironmentError
void keep_library(const HashedFile& library, const std::filesystem::path& run);

/// Returns "networks/library-HASH.so", relative to the run directory.
[[nodiscard]] std::filesystem::path kept_library(const HashedFile& library);

}  // namespace gangway
