// SPDX-License-Identifier: MIT
// Gives every worker's word to all workers; also serves as a barrier. Lane thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Returns the words of all workers, by worker; equal on all. Every worker calls it with its own
/// `word`. Returns after all workers have called.
/// @param what  the subject, for messages. @throws CommError naming a silent worker.
[[nodiscard]] std::vector<std::uint64_t> exchange_words(Transport& transport, std::uint64_t word,
                                                        const char* what,
                                                        std::chrono::milliseconds timeout);

}  // namespace gangway::comm
