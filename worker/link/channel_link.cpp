// SPDX-License-Identifier: MIT
#include "worker/link/channel_link.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "run/messages/codec.hpp"

namespace gangway::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// If a farewell cannot leave within this time, the coordinator is gone.
constexpr milliseconds kFarewell{1000};

class ChannelLink : public CoordinatorLink {
 public:
  explicit ChannelLink(ControlChannel& channel) : channel_(channel) {}

  messages::Welcome join(const messages::Hello& hello, milliseconds limit) override {
    rank_ = hello.rank;
    send(hello);
    auto welcome = receive<messages::Welcome>(limit, "the Welcome");
    epoch_ = welcome.epoch;
    return welcome;
  }

  messages::Begin ask_begin(const messages::Inventory& inventory, milliseconds limit) override {
    send(inventory);
    return receive<messages::Begin>(limit, "the state to begin with");
  }

  messages::Begin ask_another(const std::optional<messages::Unloadable>& failure,
                              milliseconds limit) override {
    if (failure) {
      send(*failure);
    }
    return receive<messages::Begin>(limit, "the state to begin with");
  }

  void send(const messages::Message& message) override {
    channel_.send(messages::encode({.epoch = epoch_, .message = message}));
  }

  messages::Lease next_lease(milliseconds limit) override {
    return receive<messages::Lease>(limit, "a lease");
  }

  void stop(const messages::Stop& stop) override {
    send(stop);
    (void)channel_.flush(kFarewell);  // the process ends now anyway
  }

  void goodbye(milliseconds limit) override {
    send(messages::Goodbye{});
    if (!channel_.flush(limit)) {
      throw CommError(
          fmt::format("rank {}: the Goodbye could not be sent within {} ms: is rank 0 alive?",
                      rank_, limit.count()));
    }
  }

 private:
  /// Returns the next message, within `limit`.
  messages::Message next(milliseconds limit, const char* what) {
    const auto end = steady_clock::now() + limit;
    std::optional<std::string> bytes = channel_.try_receive();
    while (!bytes) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
      if (left.count() <= 0) {
        throw CommError(fmt::format("rank {}: {} did not come within {} ms: is rank 0 alive?",
                                    rank_, what, limit.count()));
      }
      (void)channel_.wait(left);  // the loop checks for itself
      bytes = channel_.try_receive();
    }
    return messages::decode(*bytes, /*sender=*/Rank(0)).message;
  }

  /// Returns the next message, which must be of this kind, within `limit` of the last sign of life.
  /// Answers a Stop with Goodbye and throws it.
  template <typename Kind>
  Kind receive(milliseconds limit, const char* what) {
    messages::Message message = next(limit, what);
    while (std::holds_alternative<messages::Patience>(message)) {
      message = next(limit, what);  // restarts the limit
    }
    if (const auto* stop = std::get_if<messages::Stop>(&message)) {
      send(messages::Goodbye{});
      (void)channel_.flush(kFarewell);
      throw StoppedByCoordinator(static_cast<ExitCode>(stop->exit_code), stop->reason, stop->keep);
    }
    if (auto* expected = std::get_if<Kind>(&message)) {
      return std::move(*expected);
    }
    throw InvariantError(fmt::format("rank {}: rank 0 sent a message of kind {} instead of {}",
                                     rank_, name_of(message), what));
  }

  ControlChannel& channel_;
  std::int64_t epoch_ = 0;
  Rank rank_;
};

}  // namespace

std::unique_ptr<CoordinatorLink> make_coordinator_link(ControlChannel& channel) {
  return std::make_unique<ChannelLink>(channel);
}

}  // namespace gangway::worker
