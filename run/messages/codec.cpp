// SPDX-License-Identifier: MIT
#include "run/messages/codec.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <functional>
#include <limits>
#include <ranges>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/choices.hpp"
#include "run/messages/packed.hpp"

namespace gangway::messages {
namespace {

/// Returns the fields of `T`; structs of other folders, which have no fields(), are listed here.
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
    return std::tie(it.list(), it.transport, it.overlap, it.buckets, it.nccl_ctas, it.schedule,
                    it.in_flight, it.timeout_seconds, it.check_steps, it.audit, it.recompute,
                    it.balance, it.cuda_graph, it.mixed_processors, it.python);
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

constexpr int kBits = 7;  // bits of a number per byte
constexpr std::uint64_t kLow = (1U << kBits) - 1;
static_assert(std::endian::native == std::endian::little, "doubles are sent as memory has them");

/// Encodes integers as LEB128: seven bits per byte, lowest first, the highest bit set in each byte
/// but the last. Encodes enumerators as numbers, doubles as their bytes in memory, and containers
/// with their length first.
class Writer {
 public:
  template <typename T>
  void put(const T& value) {
    if constexpr (Holds<T>::kMany) {
      put(value.size());
      for (const auto& element : value) {
        put(element);
      }
    } else if constexpr (Holds<T>::kPerhaps) {
      put(value.has_value());
      if (value) {
        put(*value);
      }
    } else if constexpr (std::is_same_v<T, std::string>) {
      put(value.size());
      bytes_ += value;
    } else if constexpr (std::is_same_v<T, double>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      put_integer(static_cast<std::uint64_t>(value));
    } else if constexpr (requires { value.value(); }) {
      put(value.value());
    } else if constexpr (requires { packed(value); }) {
      put(packed(value));
    } else {
      std::apply([this](const auto&... member) { (put(member), ...); }, fields_of(value));
    }
  }
  std::string bytes() && { return std::move(bytes_); }

 private:
  void put_integer(std::uint64_t number) {
    for (; number > kLow; number >>= kBits) {
      bytes_ += static_cast<char>((number & kLow) | (kLow + 1));
    }
    bytes_ += static_cast<char>(number);
  }

  std::string bytes_;
};

void require(bool can_be, const std::string& otherwise) {
  if (!can_be) {
    throw InvariantError(otherwise);
  }
}

// Checks relations between the fields of a message. Reader refuses negative numbers.

/// 64 bits: a damaged message may name any worker.
constexpr auto kRankOf = [](int worker) { return std::int64_t{worker} + 1; };

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
          fmt::format("networks on the ranks [{}] alone",
                      fmt::join(std::views::transform(workers, kRankOf), ", ")));
}

void check(const SnapshotPart& part) {
  require(part.worker < part.of.num_workers,
          fmt::format("the part of rank {} of {}", kRankOf(part.worker), part.of.num_workers));
}

void check(const WholeSnapshot& snapshot) {
  require(std::cmp_equal(snapshot.id.num_workers, snapshot.holders.size()),
          fmt::format("{} of {} parts", snapshot.holders.size(), snapshot.id.num_workers));
  for (const std::vector<WorkerIndex>& workers : snapshot.holders) {
    require(!workers.empty() &&
                std::ranges::adjacent_find(workers, std::greater_equal()) == workers.end(),
            fmt::format("a part held by the ranks [{}]",
                        fmt::join(workers | std::views::transform(rank_of), ", ")));
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

/// Decodes what Writer encodes. Throws InvariantError if the bytes are no message.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T get() {
    if constexpr (Holds<T>::kMany) {
      T values;
      for (std::size_t left = get_length(); left > 0; --left) {
        values.push_back(get<typename Holds<T>::Element>());
      }
      return values;
    } else if constexpr (Holds<T>::kPerhaps) {
      return get<bool>() ? T(get<typename Holds<T>::Element>()) : T();
    } else if constexpr (std::is_same_v<T, std::string>) {
      return std::string(take(get_length()));
    } else if constexpr (std::is_same_v<T, double>) {
      double number = 0.0;
      std::memcpy(&number, take(sizeof number).data(), sizeof number);
      return number;
    } else if constexpr (std::is_integral_v<T>) {
      return get_integer<T>();
    } else if constexpr (requires(T index) { index.value(); }) {
      return T(get<int>());
    } else if constexpr (std::is_enum_v<T>) {
      const auto value = static_cast<T>(get_integer<std::uint8_t>());
      const auto all = choices(value);
      require(std::ranges::find(all, value, [](const auto& one) { return one.value; }) != all.end(),
              fmt::format("choice {} of {}", static_cast<int>(value), all.size()));
      return value;
    } else {
      T value;
      if constexpr (requires { packed(value); }) {
        value = unpacked(get<decltype(packed(value))>());
      } else {
        std::apply([this](auto&... member) { (get_member(member), ...); }, fields_of(value));
      }
      check(value);
      return value;
    }
  }

  /// Another build's message may have more fields, or fewer; missing fields keep their defaults.
  template <typename T>
  T get_of_any_build() {
    T value;
    const auto get_if_there = [this](auto& member) {
      if (!bytes_.empty()) {
        get_member(member);
      }
    };
    std::apply([&](auto&... member) { (get_if_there(member), ...); }, fields_of(value));
    check(value);
    bytes_ = {};
    return value;
  }

  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  template <typename T>
  void get_member(T& member) {
    member = get<T>();
  }

  std::string_view take(std::size_t size) {
    require(size <= bytes_.size(), "it ends too early");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  /// Returns a number of elements, each at least a byte, so damaged bytes cannot demand memory.
  std::size_t get_length() {
    const auto length = get<std::uint64_t>();
    require(length <= bytes_.size(), "it ends too early");
    return length;
  }

  /// Reads a count, step, rank or index, which cannot be negative.
  template <typename T>
  T get_integer() {
    std::uint64_t number = 0;
    int shift = 0;
    for (std::uint64_t byte = kLow + 1; byte > kLow; shift += kBits) {
      byte = static_cast<unsigned char>(take(1).front());
      require(shift < 63 || (shift == 63 && byte <= 1), "a number of more than 64 bits");
      number |= (byte & kLow) << shift;
    }
    require(number <= static_cast<std::uint64_t>(std::numeric_limits<T>::max()),
            fmt::format("the number {}", static_cast<std::int64_t>(number)));
    return static_cast<T>(number);
  }

  std::string_view bytes_;
};

template <typename Kind>
Kind get_message(Reader& reader) {
  if constexpr (requires { Kind::kOutlivesBuilds; }) {
    return reader.get_of_any_build<Kind>();
  } else {
    return reader.get<Kind>();
  }
}

/// Reads the alternative of `Kinds` named `name`, and sets `kind`; false: there is none.
template <typename... Kinds>
bool get_kind(std::string_view name, Reader& reader, std::variant<Kinds...>& to,
              std::string_view& kind) {
  return ((Kinds::kName == name && (kind = Kinds::kName, to = get_message<Kinds>(reader), true)) ||
          ...);
}

}  // namespace

std::string encode(const Envelope& envelope) {
  Writer writer;
  writer.put(std::string(name_of(envelope.message)));
  writer.put(envelope.epoch);
  std::visit([&writer](const auto& message) { writer.put(message); }, envelope.message);
  return std::move(writer).bytes();
}

Envelope decode(std::string_view bytes, Rank sender) {
  std::string_view kind = "message";
  try {
    Reader reader(bytes);
    const auto name = reader.get<std::string>();
    Envelope envelope;
    envelope.epoch = reader.get<std::int64_t>();
    require(get_kind(name, reader, envelope.message, kind),
            "of a kind that this build does not know");
    require(reader.left() == 0, fmt::format("{} bytes are left", reader.left()));
    return envelope;
  } catch (const InvariantError& error) {
    throw InvariantError(
        fmt::format("rank {} sent an invalid {} of {} bytes ({}): start all ranks from one build",
                    sender, kind, bytes.size(), error.what()));
  }
}

}  // namespace gangway::messages
