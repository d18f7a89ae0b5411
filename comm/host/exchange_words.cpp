// SPDX-License-Identifier: MIT
#include "comm/host/exchange_words.hpp"

#include <span>

#include "comm/transport/pending.hpp"

namespace gangway::comm {

std::vector<std::uint64_t> exchange_words(Transport& transport, std::uint64_t word,
                                          const char* what, std::chrono::milliseconds timeout) {
  const MessageTag tag{transport.epoch(), 0, MessageKind::kBarrier, 0, 0};
  const auto me = static_cast<std::size_t>(transport.worker());
  std::vector<std::uint64_t> words(static_cast<std::size_t>(transport.num_workers()));
  words[me] = word;
  const std::span<std::uint64_t> all(words);
  std::vector<PendingRequest> pending;
  for (int peer = 0; peer < transport.num_workers(); ++peer) {
    if (peer != transport.worker()) {
      pending.push_back({transport.start_send(peer, tag, std::as_bytes(all.subspan(me, 1))), peer});
      const std::span<std::uint64_t> theirs = all.subspan(static_cast<std::size_t>(peer), 1);
      pending.push_back({transport.start_receive(peer, tag, std::as_writable_bytes(theirs)), peer});
    }
  }
  wait_all(transport, pending, Deadline(timeout), what);
  return words;
}

}  // namespace gangway::comm
