// SPDX-License-Identifier: MIT
// The user's library of a job (model.library: libmine.so): found, hashed and read where a job file
// is read, kept in the run directory when the job begins.
//
// It has two files. libmine.so has the rows and nothing of LibTorch, so that the command and the
// coordinator read it as they read their own tables, and start as fast as ever; libmine.blocks.so
// has what computes. Both come from one source (cmake/GangwayConfig.cmake.in). Asking a program
// with LibTorch about the rows instead, as it is done about Python networks, would be a start of
// a second for every process that reads a job, and functions of the model's sizes (counts, memory)
// could not be asked at all. Any thread.
#pragma once

#include <filesystem>
#include <string_view>

#include "job/library/library_rows.hpp"
#include "job/library/shared_library.hpp"
#include "job/models/hashed_file.hpp"

namespace gangway {

/// "libmine.blocks.so" beside "libmine.so". There is none where the families use Gangway's own
/// blocks alone.
[[nodiscard]] std::filesystem::path blocks_file(const std::filesystem::path& library);

/// That file, opened. @throws ConfigError of one line: as SharedLibrary, or where there is none
/// @param torch  LibTorch's version
[[nodiscard]] SharedLibrary open_blocks(const std::filesystem::path& library,
                                        std::string_view torch);

/// Fills in the hash, over both files. A library that is not at its place, or is another one there,
/// may be the one that the run directory `run` keeps.
/// @throws ConfigError of one line: as SharedLibrary, or another one than the job's, or with a
/// row that cannot be used
void settle_library(HashedFile& library, const std::filesystem::path& run);

/// What it adds; nothing where there is no library. The rows stay where they are.
/// @pre settled. @throws ConfigError
[[nodiscard]] const LibraryRows& rows_of(const HashedFile& library);

/// Copies both files into the run directory, where they are not yet. @throws ConfigError;
/// EnvironmentError
void keep_library(const HashedFile& library, const std::filesystem::path& run);

/// "networks/library-HASH.so", below the run directory.
[[nodiscard]] std::filesystem::path kept_library(const HashedFile& library);

}  // namespace gangway
