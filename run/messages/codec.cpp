// SPDX-License-Identifier: MIT
#include "run/messages/codec.hpp"

#include <algorithm>
#include <climits>
#include <functional>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "run/messages/messages.pb.h"
#include "run/messages/packed.hpp"

namespace gangway::messages {
namespace {

using WireMessage = google::protobuf::Message;
using WireField = google::protobuf::FieldDescriptor;

/// What `T` consists of; the structs of other folders have no fields() of their own.
template <typename T>
auto fields_of(T& it) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, ProcessIdentity>) {
    return std::tie(it.boot_id, it.pid_namespace, it.pid, it.start_ticks);
  } else if constexpr (std::is_same_v<Plain, SnapshotId>) {
    return std::tie(it.step, it.incarnation, it.epoch, it.num_workers);
  } else if constexpr (std::is_same_v<Plain, SettingsChange>) {
    return std::tie(it.step, it.lr_factor, it.reseed);
  } else if constexpr (std::is_same_v<Plain, MicrobatchRange> ||
                       std::is_same_v<Plain, BlockRange>) {
    return std::tie(it.begin, it.end);
  } else if constexpr (std::is_same_v<Plain, TraceSteps>) {
    return std::tie(it.begin, it.end, it.detail.shapes, it.detail.memory, it.detail.kernels);
  } else if constexpr (std::is_same_v<Plain, Layout>) {
    return std::tie(it.list());
  } else {
    return Plain::fields(it);
  }
}

template <typename T>
struct Holds {
  static constexpr bool kMany = false;
  static constexpr bool kPerhaps = false;
};
template <typename T>
struct Holds<std::vector<T>> {
  using Element = T;
  static constexpr bool kMany = true;
  static constexpr bool kPerhaps = false;
};
template <typename T>
struct Holds<std::optional<T>> {
  using Element = T;
  static constexpr bool kMany = false;
  static constexpr bool kPerhaps = true;
};

/// Values to the wire, field by field.
struct ToWire {
  template <typename T>
  static void put_fields(const T& from, WireMessage& to) {
    if constexpr (requires { packed(from); }) {
      put_fields(packed(from), to);
    } else {
      int index = 0;
      std::apply(
          [&](const auto&... member) {
            (put(member, to, to.GetDescriptor()->field(index++)), ...);
          },
          fields_of(from));
    }
  }

  template <typename T>
  static void put(const T& value, WireMessage& to, const WireField* field) {
    const google::protobuf::Reflection& wire = *to.GetReflection();
    if constexpr (Holds<T>::kMany) {
      for (const auto& element : value) {
        add(element, to, field);
      }
    } else if constexpr (Holds<T>::kPerhaps) {
      if (value) {
        put(*value, to, field);
      }
    } else if constexpr (std::is_same_v<T, bool>) {
      wire.SetBool(&to, field, value);
    } else if constexpr (std::is_same_v<T, int>) {
      wire.SetInt32(&to, field, value);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      wire.SetInt64(&to, field, value);
    } else if constexpr (std::is_same_v<T, std::uint16_t> || std::is_same_v<T, std::uint32_t>) {
      wire.SetUInt32(&to, field, value);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      wire.SetUInt64(&to, field, value);
    } else if constexpr (std::is_same_v<T, double>) {
      wire.SetDouble(&to, field, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      wire.SetString(&to, field, value);
    } else {
      put_fields(value, *wire.MutableMessage(&to, field));
    }
  }

  template <typename T>
  static void add(const T& element, WireMessage& to, const WireField* field) {
    const google::protobuf::Reflection& wire = *to.GetReflection();
    if constexpr (std::is_same_v<T, int>) {
      wire.AddInt32(&to, field, element);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      wire.AddInt64(&to, field, element);
    } else if constexpr (std::is_same_v<T, double>) {
      wire.AddDouble(&to, field, element);
    } else if constexpr (Holds<T>::kMany) {  // a list of lists: each is a message of one field
      WireMessage& list = *wire.AddMessage(&to, field);
      put(element, list, list.GetDescriptor()->field(0));
    } else {
      put_fields(element, *wire.AddMessage(&to, field));
    }
  }
};

void require(bool can_be, const std::string& otherwise) {
  if (!can_be) {
    throw InvariantError(otherwise);
  }
}

// What the fields of a message must be to one another. No number is negative: FromWire sees to it.

template <typename Anything>
void check(const Anything& /*message*/) {}

void check(const TraceSteps& trace) {
  require(trace.begin <= trace.end, fmt::format("traced steps [{}, {})", trace.begin, trace.end));
}

void check(const NetworkGroup& group) {
  const std::size_t chunks = group.chunks.size();
  require(chunks > 0 && !group.workers.empty() && group.workers.size() % chunks == 0 &&
              group.ranges.size() == group.workers.size(),
          fmt::format("{} workers with {} ranges of {} chunks", group.workers.size(),
                      group.ranges.size(), chunks));
  const std::size_t copies = group.workers.size() / chunks;
  for (std::size_t place = 0; place < group.ranges.size(); ++place) {
    const MicrobatchRange range = group.ranges[place];
    const int before = place % copies == 0 ? 0 : group.ranges[place - 1].end;
    require(range.begin == before && range.end > range.begin,
            fmt::format("micro-batches [{}, {}) after {}", range.begin, range.end, before));
  }
}

void check(const Layout& layout) {
  std::set<int> workers;
  for (const NetworkGroup& group : layout) {
    workers.insert(group.workers.begin(), group.workers.end());
  }
  require(workers.empty() ||
              (*workers.begin() == 0 && std::cmp_equal(*workers.rbegin(), workers.size() - 1)),
          fmt::format("networks on the workers [{}] alone", fmt::join(workers, ", ")));
}

void check(const SnapshotPart& part) {
  require(part.worker < part.of.num_workers,
          fmt::format("the part of worker {} of {}", part.worker, part.of.num_workers));
}

void check(const WholeSnapshot& snapshot) {
  require(std::cmp_equal(snapshot.id.num_workers, snapshot.holders.size()),
          fmt::format("{} of {} parts", snapshot.holders.size(), snapshot.id.num_workers));
  for (const std::vector<int>& workers : snapshot.holders) {
    require(!workers.empty() &&
                std::ranges::adjacent_find(workers, std::greater_equal()) == workers.end(),
            fmt::format("a part held by the workers [{}]", fmt::join(workers, ", ")));
  }
}

void check(const Begin& begin) {
  require(!begin.snapshot || begin.snapshot->id.step == begin.step,
          fmt::format("step {} of another snapshot", begin.step));
}

void check(const Lease& lease) {
  require(lease.begin <= lease.end, fmt::format("steps [{}, {})", lease.begin, lease.end));
  std::int64_t before = lease.begin;
  for (const std::int64_t step : lease.snapshots) {
    require(before < step && step <= lease.end,
            fmt::format("a snapshot of step {} after {} in the steps [{}, {})", step, before,
                        lease.begin, lease.end));
    before = step;
  }
  for (const SettingsChange& change : lease.changes) {
    require(change.step >= lease.begin,
            fmt::format("a change from step {} on in the steps [{}, {})", change.step, lease.begin,
                        lease.end));
  }
}

void check(const HistogramCounts& histogram) {
  require(
      histogram.buckets.size() == histogram.counts.size(),
      fmt::format("{} counts of {} buckets", histogram.counts.size(), histogram.buckets.size()));
  int before = -1;
  for (const int bucket : histogram.buckets) {
    require(before < bucket && bucket < Histogram::kBuckets,
            fmt::format("bucket {} after {}", bucket, before));
    before = bucket;
  }
}

void check(const Stop& stop) {
  require(stop.exit_code <= UCHAR_MAX, fmt::format("exit code {}", stop.exit_code));
}

/// Values from the wire, field by field. Throws InvariantError where they cannot be.
struct FromWire {
  template <typename T>
  static T get_fields(const WireMessage& from) {
    T value;
    if constexpr (requires { packed(value); }) {
      value = unpacked(get_fields<decltype(packed(value))>(from));
    } else {
      int index = 0;
      std::apply(
          [&](auto&... member) {
            ((member = get<std::remove_cvref_t<decltype(member)>>(
                  from, from.GetDescriptor()->field(index++))),
             ...);
          },
          fields_of(value));
    }
    check(value);
    return value;
  }

  template <typename T>
  static T get(const WireMessage& from, const WireField* field) {
    const google::protobuf::Reflection& wire = *from.GetReflection();
    if constexpr (Holds<T>::kMany) {
      T values;
      for (int i = 0; i < wire.FieldSize(from, field); ++i) {
        values.push_back(get_element<typename Holds<T>::Element>(from, field, i));
      }
      return values;
    } else if constexpr (Holds<T>::kPerhaps) {
      return wire.HasField(from, field) ? T(get<typename Holds<T>::Element>(from, field)) : T();
    } else if constexpr (std::is_same_v<T, bool>) {
      return wire.GetBool(from, field);
    } else if constexpr (std::is_same_v<T, int>) {
      return in_range<int>(wire.GetInt32(from, field), field);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      return in_range<std::int64_t>(wire.GetInt64(from, field), field);
    } else if constexpr (std::is_same_v<T, std::uint16_t> || std::is_same_v<T, std::uint32_t>) {
      return in_range<T>(wire.GetUInt32(from, field), field);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      return wire.GetUInt64(from, field);
    } else if constexpr (std::is_same_v<T, double>) {
      return wire.GetDouble(from, field);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return wire.GetString(from, field);
    } else {
      return get_fields<T>(wire.GetMessage(from, field));
    }
  }

  template <typename T>
  static T get_element(const WireMessage& from, const WireField* field, int index) {
    const google::protobuf::Reflection& wire = *from.GetReflection();
    if constexpr (std::is_same_v<T, int>) {
      return in_range<int>(wire.GetRepeatedInt32(from, field, index), field);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      return in_range<std::int64_t>(wire.GetRepeatedInt64(from, field, index), field);
    } else if constexpr (std::is_same_v<T, double>) {
      return wire.GetRepeatedDouble(from, field, index);
    } else if constexpr (Holds<T>::kMany) {
      const WireMessage& list = wire.GetRepeatedMessage(from, field, index);
      return get<T>(list, list.GetDescriptor()->field(0));
    } else {
      return get_fields<T>(wire.GetRepeatedMessage(from, field, index));
    }
  }

  /// Counts, steps, ranks and indices: none is negative.
  template <typename T>
  static T in_range(auto number, const WireField* field) {
    require(std::cmp_greater_equal(number, 0) &&
                std::cmp_less_equal(number, std::numeric_limits<T>::max()),
            fmt::format("{} {}", field->name(), number));
    return static_cast<T>(number);
  }
};

const google::protobuf::OneofDescriptor* bodies() {
  return wire::Envelope::descriptor()->oneof_decl(0);
}

const WireField* body_of(std::string_view kind) {
  for (int i = 0; i < bodies()->field_count(); ++i) {
    if (bodies()->field(i)->message_type()->name() == kind) {
      return bodies()->field(i);
    }
  }
  throw InvariantError(fmt::format("messages.proto has no {}", kind));
}

/// The alternative of `Kinds` that the wire has under the name `kind`.
template <typename... Kinds>
void get_message(std::string_view kind, const WireMessage& from, std::variant<Kinds...>& to) {
  const bool is_known =
      ((Kinds::kName == kind && (to = FromWire::get_fields<Kinds>(from), true)) || ...);
  require(is_known, fmt::format("messages.hpp has no {}", kind));
}

}  // namespace

std::string encode(const Envelope& envelope) {
  wire::Envelope to;
  to.set_epoch(envelope.epoch);
  std::visit(
      [&to](const auto& message) {
        ToWire::put_fields(message,
                           *to.GetReflection()->MutableMessage(&to, body_of(message.kName)));
      },
      envelope.message);
  return to.SerializeAsString();
}

Envelope decode(std::string_view bytes, int sender) {
  wire::Envelope from;
  if (bytes.size() > INT_MAX ||
      !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw InvariantError(
        fmt::format("rank {} sent {} bytes that are no message: start all ranks from one build",
                    sender, bytes.size()));
  }
  const google::protobuf::Reflection& wire = *from.GetReflection();
  const WireField* body = wire.GetOneofFieldDescriptor(from, bodies());
  const std::string kind = body != nullptr ? body->message_type()->name() : "message";
  try {
    require(body != nullptr, "nothing that this build knows");
    Envelope envelope;
    envelope.epoch =
        FromWire::get<std::int64_t>(from, wire::Envelope::descriptor()->FindFieldByName("epoch"));
    get_message(kind, wire.GetMessage(from, body), envelope.message);
    return envelope;
  } catch (const InvariantError& error) {
    throw InvariantError(
        fmt::format("rank {} sent a {} that cannot be ({}): start all ranks from one build", sender,
                    kind, error.what()));
  }
}

}  // namespace gangway::messages
