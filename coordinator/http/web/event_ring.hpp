// SPDX-License-Identifier: MIT
// Keeps the newest Server-Sent Events of a run (WHATWG HTML, section 9.2); all readers share each
// event. Bounded: a slow reader skips dropped events. Pure; used on the page's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::coordinator {

/// Whether each event of a kind counts, or only the newest.
enum class EventWorth { kEach, kNewestOnly };

class EventRing {
 public:
  struct Limits {
    std::size_t messages = 512;
    std::size_t bytes = std::size_t{1} << 20U;
  };
  struct Message {
    std::uint64_t number = 0;                 ///< counts from 1
    std::shared_ptr<const std::string> text;  ///< as sent
  };

  /// @param name  unique to a start of the run: event ids of another start are invalid
  explicit EventRing(std::string name) : EventRing(std::move(name), Limits()) {}
  EventRing(std::string name, Limits limits) : name_(std::move(name)), limits_(limits) {}

  /// @param data  one line
  void push(std::string_view type, std::string_view data, EventWorth worth);

  /// Returns the oldest event newer than `number`.
  [[nodiscard]] std::optional<Message> after(std::uint64_t number) const;
  /// Whether an event of worth kEach, newer than `number`, was dropped.
  [[nodiscard]] bool has_dropped_after(std::uint64_t number) const { return dropped_ > number; }
  /// Returns the number after which to continue; nothing if `last_id` is not of this ring.
  [[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view last_id) const;
  /// Returns the number after which a reader with the full document continues: just before the
  /// oldest kept event of worth kNewestOnly.
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
  std::uint64_t dropped_ = 0;  ///< newest dropped event of worth kEach
};

}  // namespace gangway::coordinator
