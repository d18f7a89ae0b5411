// SPDX-License-Identifier: MIT
// One word of every worker, known to all; also how all wait for one another. Lane thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Every worker calls it with its own `word`; returns all of them by worker, equal on all. Nobody
/// returns before all have called.
/// @param what  is talked about, for messages. @throws CommError naming a silent worker.
[[nodiscard]] std::vector<std::uint64_t> exchange_words(Transport& transport, std::uint64_t word,
                                                        const char* what,
                                                        std::chrono::milliseconds timeout);

}  // namespace gangway::comm
