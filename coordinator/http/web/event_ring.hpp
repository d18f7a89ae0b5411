// SPDX-License-Identifier: MIT
// The newest Server-Sent Events of a run (WHATWG HTML, section 9.2), each made once and shared by
// all who read. Bounded: whoever reads more slowly than they come skips what was dropped. Pure;
// used on the page's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::coordinator {

/// What a message is worth once there is a newer one of its kind.
enum class EventWorth { kEach, kNewestOnly };

class EventRing {
 public:
  struct Limits {
    std::size_t messages = 512;
    std::size_t bytes = std::size_t{1} << 20U;
  };
  struct Message {
    std::uint64_t number = 0;                 ///< counts from 1
    std::shared_ptr<const std::string> text;  ///< as it goes over the wire
  };

  /// @param name  differs from start to start of a run: numbers of another one mean nothing
  explicit EventRing(std::string name) : EventRing(std::move(name), Limits()) {}
  EventRing(std::string name, Limits limits) : name_(std::move(name)), limits_(limits) {}

  /// @param data  one line
  void push(std::string_view type, std::string_view data, EventWorth worth);

  /// The oldest that is newer than `number`.
  [[nodiscard]] std::optional<Message> after(std::uint64_t number) const;
  /// Whether something of which each message counts, newer than `number`, is no longer there.
  [[nodiscard]] bool has_dropped_after(std::uint64_t number) const { return dropped_ > number; }
  /// From where somebody reads on: behind `last_id`, where that is an id of this ring.
  [[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view last_id) const;
  /// From where somebody reads who has just fetched everything: with the newest of each kind of
  /// which that alone counts.
  [[nodiscard]] std::uint64_t before_newest() const;

 private:
  struct Entry {
    Message message;
    std::string type;
    EventWorth worth;
  };
  void drop_oldest();

  std::string name_;
  Limits limits_;
  std::deque<Entry> entries_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t dropped_ = 0;  ///< newest of those of which each counts
};

}  // namespace gangway::coordinator
