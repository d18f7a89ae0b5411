// SPDX-License-Identifier: MIT
#include "data/kept/picture_cache.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/errors.hpp"
#include "data/archives/file_part.hpp"
#include "data/contents/fingerprint.hpp"
#include "job/spec.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

/// Header of a file; written after everything else is allocated.
struct CacheHeader {
  std::array<char, 16> magic;
  std::uint64_t picture_bytes;
  std::uint64_t places;
};

constexpr std::array<char, 16> kCacheMagic{"gangway cache 1"};
constexpr std::size_t kPage = 4096;
constexpr std::string_view kCacheEnding = ".pictures";
constexpr std::chrono::hours kUnused{7 * 24};
/// Divisor of the disk's free bytes.
constexpr std::uint64_t kAutoShare = 4;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

fs::path file_of(const PictureCacheSetup& setup) {
  const std::string name =
      fingerprint_of(setup.key, static_cast<std::int64_t>(setup.picture_bytes), setup.most_bytes);
  return setup.folder / (name + std::string(kCacheEnding));
}

FileDescriptor open_cache(const fs::path& path, int more) {
  return FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | more, 0600));
}

/// Removes caches without a living process that were unused for a week.
void remove_unused(const fs::path& folder, const fs::path& own) {
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path() == own || entry.path().extension() != kCacheEnding ||
        now - entry.last_write_time(ignored) < kUnused) {
      continue;
    }
    const FileDescriptor file = open_cache(entry.path(), 0);
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      fs::remove(entry.path(), ignored);
    }
  }
}

[[noreturn]] void fail_cache(const fs::path& place, const char* what) {
  throw EnvironmentError(
      fmt::format("{}: {} ({})", place.string(), what, std::generic_category().message(errno)));
}

}  // namespace

PictureCache::PictureCache(const PictureCacheSetup& setup) : picture_bytes_(setup.picture_bytes) {
  std::error_code failure;
  fs::create_directories(setup.folder, failure);
  fs::permissions(setup.folder, fs::perms::owner_all, failure);
  const fs::path path = file_of(setup);
  remove_unused(setup.folder, path);
  file_ = open_cache(path, O_CREAT);
  // The process that creates the file holds an exclusive lock.
  if (!file_ || ::flock(file_.get(), LOCK_SH) != 0) {
    fail_cache(path, "cannot be opened");
  }
  if (!is_whole(setup)) {
    if (::flock(file_.get(), LOCK_EX) != 0) {
      fail_cache(path, "cannot be locked");
    }
    if (!is_whole(setup)) {
      make(setup);
    }
    (void)::flock(file_.get(), LOCK_SH);
  }
  (void)::futimens(file_.get(), nullptr);  // marks the file as used
  void* const memory =
      ::mmap(nullptr, file_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) {
    fail_cache(path, "cannot be mapped");
  }
  memory_ = static_cast<std::byte*>(memory);
}

PictureCache::~PictureCache() { (void)::munmap(memory_, file_bytes()); }

bool PictureCache::is_whole(const PictureCacheSetup& setup) {
  CacheHeader header{};
  struct stat status {};
  if (::pread(file_.get(), &header, sizeof header, 0) != sizeof header ||
      header.magic != kCacheMagic || header.picture_bytes != setup.picture_bytes ||
      header.places > static_cast<std::uint64_t>(setup.num_pictures) ||
      ::fstat(file_.get(), &status) != 0) {
    return false;
  }
  places_ = static_cast<std::int64_t>(header.places);
  return static_cast<std::size_t>(status.st_size) == file_bytes();
}

void PictureCache::make(const PictureCacheSetup& setup) {
  const fs::path path = file_of(setup);
  struct statvfs disk {};
  if (::ftruncate(file_.get(), 0) != 0 || ::fstatvfs(file_.get(), &disk) != 0) {
    fail_cache(path, "cannot be written");
  }
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t most = setup.most_bytes == DataSpec::kAutoCache
                                 ? free / kAutoShare
                                 : static_cast<std::uint64_t>(setup.most_bytes);
  const std::uint64_t place_bytes = picture_bytes_ + sizeof(std::uint64_t);
  constexpr std::uint64_t kOther = 2 * kPage;
  places_ = std::min(setup.num_pictures,
                     static_cast<std::int64_t>(most > kOther ? (most - kOther) / place_bytes : 0));
  // Writing into a hole on a full disk would kill the process (SIGBUS).
  if (places_ == 0 || ::fallocate(file_.get(), 0, 0, static_cast<off_t>(file_bytes())) != 0) {
    errno = places_ == 0 ? ENOSPC : errno;
    const int cause = errno;
    (void)::ftruncate(file_.get(), 0);
    std::error_code ignored;
    fs::remove(path, ignored);
    errno = cause;
    fail_cache(path, "the disk does not give what data.cache asks for");
  }
  const CacheHeader header{.magic = kCacheMagic,
                           .picture_bytes = picture_bytes_,
                           .places = static_cast<std::uint64_t>(places_)};
  if (::pwrite(file_.get(), &header, sizeof header, 0) != sizeof header) {
    fail_cache(path, "cannot be written");
  }
}

std::size_t PictureCache::file_bytes() const {
  const auto places = static_cast<std::size_t>(places_);
  return kPage + whole_pages(places * sizeof(std::uint64_t)) + places * picture_bytes_;
}

std::uint64_t* PictureCache::hash_of_place(std::int64_t index) const {
  return reinterpret_cast<std::uint64_t*>(memory_ + kPage) + index;
}

std::uint8_t* PictureCache::picture(std::int64_t index) const {
  const std::size_t first =
      kPage + whole_pages(static_cast<std::size_t>(places_) * sizeof(std::uint64_t));
  return reinterpret_cast<std::uint8_t*>(memory_ + first) +
         static_cast<std::size_t>(index) * picture_bytes_;
}

std::span<const std::uint8_t> PictureCache::find(std::int64_t index) const {
  if (index >= places_) {
    return {};
  }
  const std::uint64_t hash = std::atomic_ref(*hash_of_place(index)).load(std::memory_order_acquire);
  const std::span<const std::uint8_t> bytes(picture(index), picture_bytes_);
  return hash != 0 && hash == XXH3_64bits(bytes.data(), bytes.size())
             ? bytes
             : std::span<const std::uint8_t>();
}

bool PictureCache::expect(std::int64_t index) const {
  if (index >= places_ ||
      std::atomic_ref(*hash_of_place(index)).load(std::memory_order_relaxed) == 0) {
    return false;
  }
  const auto offset = reinterpret_cast<const std::byte*>(picture(index)) - memory_;
  expect_part(file_, {.offset = static_cast<std::uint64_t>(offset), .bytes = picture_bytes_});
  return true;
}

void PictureCache::put(std::int64_t index, std::span<const std::uint8_t> bytes) {
  if (index >= places_) {
    return;
  }
  std::ranges::copy(bytes, picture(index));
  std::atomic_ref(*hash_of_place(index))
      .store(XXH3_64bits(bytes.data(), bytes.size()), std::memory_order_release);
}

}  // namespace gangway::data
