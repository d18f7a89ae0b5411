// SPDX-License-Identifier: MIT
#include "data/contents/file_contents.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zlib.h>

#include "base/errors.hpp"
#include "base/file_claim.hpp"
#include "base/file_descriptor.hpp"
#include "base/system/usable_cores.hpp"
#include "base/unique_handle.hpp"
#include "data/contents/fingerprint.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::size_t kMostMarks = 64;
constexpr std::size_t kMostChangedNamed = 3;
constexpr int kMostReaders = 4;
/// Fewer files are read before a second thread would start.
constexpr std::size_t kWorthThreads = 64;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 18;
constexpr std::chrono::milliseconds kBetweenWords{5'000};
/// A file written shortly before its hashing may change again within one tick of its file system's
/// clock; FAT's tick is 2 s.
constexpr std::int64_t kYoungNanoseconds = 2'000'000'000;
/// Maximum wait for another process of this host to read all files; then this one reads too.
constexpr std::chrono::minutes kOthersReading{30};
constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr int kMostRefusals = 10;

fs::path index_path(const fs::path& place, const fs::path& index_folder) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(place, ignored);
  const fs::path folder =
      fs::canonical(is_folder ? place : fs::absolute(place).parent_path(), ignored);
  struct stat status {};
  // Hosts that share a home may have different folders of the same name. A file may be replaced by
  // the next start, which must be noticed.
  (void)::stat(folder.c_str(), &status);
  return index_folder / fingerprint_of((is_folder ? folder : folder / place.filename()).string(),
                                       static_cast<std::int64_t>(status.st_ino));
}

/// Returns the index entry of `file`, or null.
const IndexedFile* find(const std::vector<IndexedFile>& index, const std::string& name) {
  const auto found = std::ranges::lower_bound(index, name, {}, &IndexedFile::name);
  return found != index.end() && found->name == name ? &*found : nullptr;
}

/// Known files of the index, and the files to read.
struct Known {
  std::vector<IndexedFile> files;  ///< one for each listed file
  std::vector<std::size_t> unread;
  std::uint64_t unread_bytes = 0;
  bool is_first_sight = true;
};

Known look_up(std::span<const ListedFile> files, const std::vector<IndexedFile>& index) {
  Known known{.files = {}, .unread = {}, .is_first_sight = index.empty()};
  known.files.reserve(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const IndexedFile* before = find(index, files[i].name);
    known.files.push_back(before == nullptr ? IndexedFile{.name = files[i].name, .stamp = {}}
                                            : *before);
    if (before == nullptr || before->stamp != files[i].stamp) {
      known.unread.push_back(i);
      known.unread_bytes += static_cast<std::uint64_t>(files[i].stamp.bytes);
    }
  }
  return known;
}

struct ReadFile {
  std::uint64_t hash = 0;
  std::uint64_t crc = 0;
  std::uint64_t bytes = 0;
  FileStamp stamp;  ///< all 0: too recent
};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Returns the stamp, or all 0 if it is too recent at `now`.
FileStamp settled(const FileStamp& stamp, std::int64_t now) {
  return std::max(stamp.modified_ns, stamp.changed_ns) > now - kYoungNanoseconds ? FileStamp{}
                                                                                 : stamp;
}

/// Reads a file within a container that had that stamp before the read.
ReadFile read_listed(const ListedReader& reader, std::size_t index, const FileStamp& stamp) {
  const FileStamp known = settled(stamp, now_ns());
  const std::vector<std::uint8_t> bytes = reader(index);
  return {hash_of(bytes), crc_of(bytes), bytes.size(), known};
}

/// @throws ConfigError
ReadFile read_file(const fs::path& path) {
  const std::int64_t now = now_ns();
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  const UniqueHandle<XXH3_state_t*, XXH3_freeState> state(XXH3_createState());
  bool is_read = file && ::fstat(file.get(), &status) == 0 && state &&
                 XXH3_64bits_reset(state.get()) == XXH_OK;
  std::vector<char> bytes(
      std::min(kBytesAtOnce, static_cast<std::size_t>(std::max<off_t>(status.st_size, 1))));
  uLong crc = 0;
  for (ssize_t count = 1; is_read && count > 0;) {
    count = ::read(file.get(), bytes.data(), bytes.size());
    is_read = count >= 0;
    const std::size_t held = is_read ? static_cast<std::size_t>(count) : 0;
    (void)XXH3_64bits_update(state.get(), bytes.data(), held);
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), held);
  }
  if (!is_read) {
    throw ConfigError(
        fmt::format("{}: cannot be read; check its permissions, or remove it", path.string()));
  }
  return {XXH3_64bits_digest(state.get()), crc, static_cast<std::uint64_t>(status.st_size),
          settled(stamp_of(status), now)};
}

/// Reads the files of `known.unread`, several at a time.
/// @param read  reads a listed file
void read_unread(const std::function<ReadFile(std::size_t)>& read, const ContentsCheck& check,
                 Known& known) {
  const auto seen = static_cast<std::int64_t>(
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> bytes = 0;
  const auto read_some = [&](std::exception_ptr& failure, const std::function<void()>& between) {
    try {
      for (std::size_t i = next++; i < known.unread.size(); i = next++) {
        IndexedFile& file = known.files[known.unread[i]];
        const bool is_new = file.hash == 0 && file.stamp == FileStamp{};
        const ReadFile found = read(known.unread[i]);
        if (!known.is_first_sight && (is_new || file.hash != found.hash)) {
          file.noticed = seen;
        }
        file.hash = found.hash;
        file.crc = found.crc;
        file.stamp = found.stamp;
        bytes += found.bytes;
        between();
      }
    } catch (...) {
      next = known.unread.size();
      failure = std::current_exception();
    }
  };
  auto told = steady_clock::now();
  const auto tell = [&] {
    if (check.progress && steady_clock::now() - told >= kBetweenWords) {
      told = steady_clock::now();
      check.progress(bytes, known.unread_bytes);
    }
  };
  const int more =
      known.unread.size() < kWorthThreads ? 0 : std::min(usable_cores(), kMostReaders) - 1;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(more) + 1);
  {
    std::vector<std::jthread> readers;
    for (std::size_t i = 0; i + 1 < failures.size(); ++i) {
      readers.emplace_back([&, i] { read_some(failures[i], [] {}); });
    }
    read_some(failures.back(), tell);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

/// Waits for the lock of the index at `path` while another process of this host reads the same
/// files. Returns nothing without a folder or file locks.
FileDescriptor claim_index(const fs::path& path, const ContentsCheck& check) {
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  fs::permissions(path.parent_path(), fs::perms::owner_all, failure);  // file names are private
  FileDescriptor file(
      ::open((path.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  const auto end = steady_clock::now() + kOthersReading;
  auto told = steady_clock::now();
  int refusals = 0;  // lock free but refused: holder just left, or no locks
  while (file && !claim(file)) {
    refusals += is_claimed(file) ? 0 : 1;
    if (steady_clock::now() > end || refusals > kMostRefusals) {
      return {};
    }
    if (check.progress && steady_clock::now() - told >= kBetweenWords) {
      told = steady_clock::now();
      check.progress(0, 0);
    }
    std::this_thread::sleep_for(kBetweenLooks);  // releasing a file's lock sends no event
  }
  return file;
}

}  // namespace

fs::path index_folder_of(const Environment& environment) {
  constexpr const char* kOwn = "gangway/data";
  const auto value = [&](const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? fs::path() : fs::path(found->second);
  };
  if (const fs::path cache = value("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / kOwn;
  }
  const fs::path home = value("HOME");
  return home.is_absolute() ? home / ".cache" / kOwn : fs::path();
}

std::uint64_t hash_of(std::span<const std::uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t crc_of(std::span<const std::uint8_t> bytes) {
  return crc32_z(0, bytes.data(), bytes.size());
}

std::vector<IndexedFile> contents_of(const fs::path& place, std::span<const ListedFile> files,
                                     const ContentsCheck& check, const ListedReader& reader) {
  const fs::path path =
      check.index_folder.empty() ? fs::path() : index_path(place, check.index_folder);
  Known known = look_up(files, path.empty() ? std::vector<IndexedFile>() : read_index(path));
  if (known.unread.empty()) {
    return std::move(known.files);
  }
  FileDescriptor right = path.empty() ? FileDescriptor() : claim_index(path, check);
  if (right) {  // the previous holder may have read all
    known = look_up(files, read_index(path));
  }
  read_unread(
      [&](std::size_t i) {
        return reader ? read_listed(reader, i, files[i].stamp) : read_file(place / files[i].name);
      },
      check, known);
  if (right) {
    write_index(path, known.files);
  }
  return std::move(known.files);
}

std::vector<ChangedFile> last_changed(std::span<const IndexedFile> files) {
  std::vector<const IndexedFile*> changed;
  for (const IndexedFile& file : files) {
    if (file.noticed > 0) {
      changed.push_back(&file);
    }
  }
  std::ranges::stable_sort(changed, std::ranges::greater(), &IndexedFile::noticed);
  changed.resize(std::min(changed.size(), kMostChangedNamed));
  std::vector<ChangedFile> told;
  for (const IndexedFile* file : changed) {
    told.push_back({file->name, fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(file->noticed))});
  }
  return told;
}

std::vector<DataMark> marks_of(std::size_t count,
                               const std::function<std::string_view(std::size_t)>& name,
                               const std::function<std::uint64_t(std::size_t)>& crc) {
  std::vector<DataMark> marks;
  const std::size_t num_marks = std::min(count, kMostMarks);
  for (std::size_t mark = 0; mark < num_marks; ++mark) {
    Fingerprint print;
    const std::size_t first = mark * count / num_marks;
    for (std::size_t i = first; i < (mark + 1) * count / num_marks; ++i) {
      print.add(name(i));
      print.add(static_cast<std::int64_t>(crc(i)));
    }
    marks.push_back({.first = std::string(name(first)), .hash = print.number()});
  }
  return marks;
}

}  // namespace gangway::data
