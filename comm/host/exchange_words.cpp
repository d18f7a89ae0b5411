// SPDX-License-Identifier: MIT
#include "comm/host/exchange_words.hpp"

#include <cstddef>
#include <span>

#include "comm/host/tree_collective.hpp"

namespace gangway::comm {

std::vector<std::uint64_t> exchange_words(Transport& transport, std::uint64_t word,
                                          const char* what, std::chrono::milliseconds timeout) {
  const MessageTag tag{transport.epoch(), 0, MessageKind::kBarrier, 0, 0};
  std::vector<std::uint64_t> words(static_cast<std::size_t>(transport.num_workers()));
  words[static_cast<std::size_t>(transport.worker())] = word;
  std::vector<std::size_t> begins;
  for (std::size_t worker = 0; worker <= words.size(); ++worker) {
    begins.push_back(worker * sizeof(word));
  }
  const Deadline deadline(timeout);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(words));
  TreeCollective collective(transport);
  collective.gather(tag, bytes, begins);
  collective.finish(deadline, what);
  collective.broadcast(tag, bytes);
  collective.finish(deadline, what);
  return words;
}

}  // namespace gangway::comm
