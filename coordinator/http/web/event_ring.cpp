// SPDX-License-Identifier: MIT
#include "coordinator/http/web/event_ring.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/parse_number.hpp"

namespace gangway::coordinator {

void EventRing::push(std::string_view type, std::string_view data, EventWorth worth) {
  if (worth == EventWorth::kNewestOnly) {
    const auto older = std::ranges::find(entries_, type, &Entry::type);
    if (older != entries_.end()) {
      bytes_ -= older->message.text->size();
      entries_.erase(older);
    }
  }
  ++last_;
  auto text = std::make_shared<const std::string>(
      fmt::format("id: {}.{}\nevent: {}\ndata: {}\n\n", name_, last_, type, data));
  bytes_ += text->size();
  entries_.push_back({.message = {.number = last_, .text = std::move(text)},
                      .type = std::string(type),
                      .worth = worth});
  while (entries_.size() > 1 && (entries_.size() > limits_.messages || bytes_ > limits_.bytes)) {
    drop_oldest();
  }
}

void EventRing::drop_oldest() {
  const Entry& oldest = entries_.front();
  if (oldest.worth == EventWorth::kEach) {
    dropped_ = oldest.message.number;
  }
  bytes_ -= oldest.message.text->size();
  entries_.pop_front();
}

std::optional<EventRing::Message> EventRing::after(std::uint64_t number) const {
  const auto next = std::ranges::upper_bound(
      entries_, number, {}, [](const Entry& entry) { return entry.message.number; });
  return next == entries_.end() ? std::nullopt : std::optional(next->message);
}

std::optional<std::uint64_t> EventRing::number_of(std::string_view last_id) const {
  if (!last_id.starts_with(name_) || last_id.substr(name_.size(), 1) != ".") {
    return std::nullopt;
  }
  const auto number = parse_number<std::uint64_t>(last_id.substr(name_.size() + 1));
  return number && *number <= last_ ? number : std::nullopt;
}

std::uint64_t EventRing::before_newest() const {
  const auto newest = std::ranges::find(entries_, EventWorth::kNewestOnly,
                                        [](const Entry& entry) { return entry.worth; });
  return newest == entries_.end() ? last_ : newest->message.number - 1;
}

}  // namespace gangway::coordinator
