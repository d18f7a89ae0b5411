// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/snapshots/snapshot_runs.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "checkpoint/snapshots/snapshot_slot_file.hpp"
#include "run/run_files.hpp"
#include "run/run_start.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> span_of(const MappedMemory& memory) {
  return {static_cast<const std::byte*>(memory.get().data), memory.get().bytes};
}

SnapshotEntry entry_of(const ParsedSlot& slot, const fs::path& file) {
  return {.file = file,
          .run_directory = slot.run_directory,
          .key = key_of(slot.run_directory, slot.job_fingerprint, slot.run_id),
          .id = id_in(slot.header),
          .worker = static_cast<int>(slot.header.worker),
          .replica = static_cast<int>(slot.header.replica),
          .bytes = slot.layout.data_bytes,
          .is_in_use = owner_of_slot(file) == SlotOwner::kLiving};
}

/// Returns the entry of a complete slot; nothing if it is empty or half written.
/// @throws CheckpointError if it is damaged or belongs to another run.
std::optional<SnapshotEntry> read_entry(const fs::path& file, const std::string& key) {
  const MappedMemory memory = map_slot_file(file);
  if (is_unfinished_slot(span_of(memory))) {
    return std::nullopt;
  }
  const ParsedSlot slot = parse_slot(span_of(memory), file.string());
  if (!id_of(slot, span_of(memory), file.string())) {
    return std::nullopt;
  }
  SnapshotEntry entry = entry_of(slot, file);
  if (entry.key != key) {
    throw CheckpointError(
        fmt::format("{}: damaged snapshot: of the run '{}', which its name does not say",
                    file.string(), printable(slot.run_directory)));
  }
  return entry;
}

bool is_before(const SnapshotEntry& a, const SnapshotEntry& b) {
  return std::tuple(b.id, a.worker, a.replica) < std::tuple(a.id, b.worker, b.replica);
}

/// Reads a run's status; an unreadable status counts as unknown.
RunEnd status_of(const fs::path& run_directory) {
  const RunEnd kUnknown{.exit_code = -1};
  try {
    return read_status(run_directory).value_or(kUnknown);
  } catch (const Error&) {
    return kUnknown;
  }
}

/// Whether no start can resume from the slot; false if uncertain.
bool is_done_with(const ParsedSlot& slot) {
  const fs::path run = slot.run_directory;
  const bool is_ours_to_judge = is_same_place(viewpoint_on(run), slot.header.viewpoint);
  struct stat status {};
  if (::stat(run.c_str(), &status) != 0) {
    return errno == ENOENT && is_ours_to_judge;
  }
  const std::string run_id = run_id_of(run);
  if (run_id != slot.run_id) {  // another run has replaced it
    return !run_id.empty() && is_ours_to_judge;
  }
  return status_of(run).is(ExitCode::kDone);
}

/// Whether the slot never held a snapshot, or its process died while writing one. False for a
/// damaged slot, which the next start reports.
bool holds_none(const ParsedSlot& slot, std::span<const std::byte> bytes, const fs::path& file) {
  try {
    return !id_of(slot, bytes, file.string());
  } catch (const CheckpointError&) {
    return false;
  }
}

/// Whether the file may be removed: unsound header, no snapshot, a finished run, or too old.
bool is_reapable(const fs::path& file, fs::file_time_type now) {
  MappedMemory memory;
  try {
    memory = map_slot_file(file);
  } catch (const CheckpointError&) {
    return false;  // for example, out of memory
  }
  const auto bytes = span_of(memory);
  SlotHeader header;
  if (bytes.size() >= sizeof header) {
    std::memcpy(&header, bytes.data(), sizeof header);
    const bool is_of_another_version =
        header.magic != kSlotMagic &&
        std::equal(kSlotMagic.begin(), kSlotMagic.end() - 2, header.magic.begin());
    if (is_of_another_version) {
      return false;
    }
  }
  try {
    const ParsedSlot slot = parse_slot(bytes, file.string());
    return holds_none(slot, bytes, file) || is_done_with(slot) ||
           now - last_sign_of_life(slot.run_directory, file) > kSnapshotsKept;
  } catch (const CheckpointError&) {
    return true;
  }
}

/// Suffix of an unfinished copy; the process id precedes it.
constexpr std::string_view kUnfinishedCopy = ".copy";
/// Bytes written between two calls of `progress`.
constexpr std::size_t kCopyStep = std::size_t{8} << 20U;

/// Removes copies that killed processes left; only the caller may use names with this start.
void remove_unfinished_copies(const fs::path& folder, const std::string& start) {
  std::error_code failure;
  for (auto entry = fs::directory_iterator(folder, failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(start) && name.ends_with(kUnfinishedCopy)) {
      (void)::unlink(entry->path().c_str());
    }
  }
}

/// Returns false if the slot is damaged, or its owner has overwritten it meanwhile.
bool copy_slot(const FileSystem& files, const fs::path& from, const fs::path& to,
               const std::function<void()>& progress) {
  const MappedMemory memory = map_slot_file(from);
  auto rest = span_of(memory);
  // Another process of this host may copy the same slot.
  const fs::path own = fmt::format("{}.{}{}", to.string(), ::getpid(), kUnfinishedCopy);
  files.remove(own);  // of an earlier process with this id
  NewFile file(files, own, rest.size(), Caching::kPages, Readers::kOwner);
  while (!rest.empty()) {
    const auto part = rest.first(std::min(rest.size(), kCopyStep));
    file.write(part);
    file.sync();
    progress();
    rest = rest.subspan(part.size());
  }
  try {
    (void)SnapshotFile(own);
  } catch (const CheckpointError&) {
    return false;
  }
  file.finish();
  if (files.rename(own, to) != 0) {
    const int error = errno;
    files.remove(own);
    throw EnvironmentError(fmt::format("{}: cannot be made: {}", to.string(), cause_of(error)));
  }
  return true;
}

}  // namespace

std::vector<fs::path> snapshot_folders(const fs::path& run_directory,
                                       const fs::path& shared_memory) {
  std::vector<fs::path> folders{shared_memory};
  if (shared_memory != run_directory / kSnapshotsFolder) {  // tests use one folder for both
    folders.push_back(run_directory / kSnapshotsFolder);
  }
  return folders;
}

std::vector<SnapshotEntry> find_snapshots(std::span<const fs::path> folders, const std::string& key,
                                          const std::function<void(std::string)>& warn) {
  std::vector<SnapshotEntry> entries;
  for (const fs::path& file : slot_files(folders, key)) {
    try {
      if (auto entry = read_entry(file, key)) {
        entries.push_back(std::move(*entry));
      }
    } catch (const CheckpointError& error) {
      warn(error.what());
    }
  }
  std::sort(entries.begin(), entries.end(), is_before);
  return entries;
}

struct SnapshotFile::Content {
  MappedMemory memory;
  ParsedSlot slot;
  SnapshotEntry entry;
};

SnapshotFile::SnapshotFile(const fs::path& file, VerifyPieces verify)
    : content_(std::make_unique<Content>()) {
  content_->memory = map_slot_file(file);
  const auto bytes = span_of(content_->memory);
  content_->slot = parse_slot(bytes, file.string());
  if (!id_of(content_->slot, bytes, file.string())) {
    throw CheckpointError(fmt::format("{}: half a snapshot: its process died", file.string()));
  }
  content_->entry = entry_of(content_->slot, file);
  for (std::size_t piece = 0; verify == VerifyPieces::kAll && piece < pieces().size(); ++piece) {
    this->verify(piece);
  }
}

SnapshotFile::SnapshotFile(SnapshotFile&&) noexcept = default;
SnapshotFile& SnapshotFile::operator=(SnapshotFile&&) noexcept = default;
SnapshotFile::~SnapshotFile() = default;

const SnapshotEntry& SnapshotFile::entry() const { return content_->entry; }

const std::vector<TensorStretch>& SnapshotFile::pieces() const { return content_->slot.pieces; }

std::span<const std::byte> SnapshotFile::bytes(std::size_t piece) const {
  return span_of(content_->memory)
      .subspan(content_->slot.layout.data_offset + content_->slot.layout.offsets.at(piece),
               content_->slot.pieces.at(piece).bytes());
}

PieceHash SnapshotFile::hash(std::size_t piece) const {
  PieceHash hash;
  const auto from =
      span_of(content_->memory)
          .subspan(content_->slot.layout.hashes_offset + piece * sizeof hash, sizeof hash);
  std::memcpy(&hash, from.data(), sizeof hash);
  return hash;
}

void SnapshotFile::verify(std::size_t piece) const {
  if (hash_bytes(bytes(piece)) != hash(piece)) {
    throw CheckpointError(
        fmt::format("{}: damaged snapshot of step {}: '{}' is not what its hash says",
                    entry().file.string(), entry().id.step, pieces()[piece].name));
  }
}

std::size_t remove_snapshots(std::span<const fs::path> folders, const std::string& key,
                             std::int64_t newest) {
  for (const fs::path& folder : folders) {
    remove_unfinished_copies(folder, std::string(kSnapshotPrefix) + key);
  }
  std::vector<fs::path> files = slot_files(folders, key);
  std::erase_if(files, [&](const fs::path& file) {
    return step_in_kept_name(file.filename().string()) > newest;
  });
  return static_cast<std::size_t>(std::count_if(
      files.begin(), files.end(), [](const fs::path& file) { return remove_slot_file(file); }));
}

std::int64_t set_newer_aside(std::span<const fs::path> folders, const std::string& key,
                             std::int64_t step) {
  std::int64_t newest = step;
  for (const SnapshotEntry& entry : find_snapshots(folders, key)) {
    const std::string name = entry.file.filename().string();
    if (entry.id.step > step && !entry.is_in_use) {
      newest = std::max(newest, entry.id.step);
      if (!step_in_kept_name(name)) {
        std::error_code gone;  // another worker of this host was faster
        fs::rename(entry.file, entry.file.parent_path() / kept_name(name, entry.id), gone);
      }
    }
  }
  return newest;
}

void remove_saved_snapshots(std::span<const fs::path> folders, const std::string& key,
                            const fs::path& run_directory) {
  if (const RunEnd end = status_of(run_directory); end.saved || end.is(ExitCode::kDone)) {
    (void)remove_snapshots(folders, key);
  }
}

std::size_t copy_snapshots(const KeepSnapshots& keep, const FileSystem& files) {
  std::vector<SnapshotEntry> entries = find_snapshots(std::span(&keep.shared_memory, 1), keep.key);
  std::erase_if(entries,
                [&](const SnapshotEntry& entry) { return entry.id.step < keep.from_step; });
  std::ranges::stable_sort(entries, {}, [&](const SnapshotEntry& entry) {
    return std::tuple(entry.id, entry.worker != keep.begin_with || entry.replica != 0);
  });
  std::error_code failure;
  if (!entries.empty() && (fs::create_directories(keep.folder, failure), failure)) {
    throw EnvironmentError(
        fmt::format("{}: cannot be made: {}", keep.folder.string(), failure.message()));
  }
  std::size_t copied = 0;
  for (const SnapshotEntry& entry : entries) {
    const fs::path target = keep.folder / kept_name(entry.file.filename().string(), entry.id);
    if (keep.is_sole_copier) {
      remove_unfinished_copies(keep.folder, target.filename().string() + ".");
    }
    copied += !fs::exists(target) && copy_slot(files, entry.file, target, keep.progress) ? 1U : 0U;
  }
  if (copied > 0) {
    sync_directory(files, keep.folder);
  }
  return copied;
}

ReapedSnapshots reap_snapshots(const fs::path& folder, fs::file_time_type now) {
  ReapedSnapshots reaped;
  for (const fs::path& file : slot_files(std::span(&folder, 1), {})) {
    std::error_code error;
    const auto bytes = static_cast<std::size_t>(fs::file_size(file, error));
    const SlotOwner owner = owner_of_slot(file);
    if (error || owner == SlotOwner::kGone) {
      continue;  // removed meanwhile, or another user's
    }
    // Examine without a claim, then claim and remove: a run that takes the slot over in between
    // holds the claim and keeps it.
    const bool is_removed =
        owner == SlotOwner::kDead && is_reapable(file, now) && remove_slot_file(file);
    (is_removed ? reaped.removed : reaped.kept) += 1;
    (is_removed ? reaped.removed_bytes : reaped.kept_bytes) += bytes;
  }
  return reaped;
}

}  // namespace gangway::checkpoint
