// SPDX-License-Identifier: MIT
#include "tests/checkpoint/forgetful_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSector = 512;

struct Node;

/// One atomic change of a folder's names.
struct Change {
  std::string gone;  ///< empty: none
  std::string come;  ///< empty: none
  std::shared_ptr<Node> node;
};

/// A file or a folder, independent of its name.
struct Node {
  // Members of a file.
  std::string synced;
  std::string written;
  std::size_t position = 0;
  bool is_lost = false;  ///< a sync failed, but the kernel marks the pages clean
  // Members of a folder.
  bool is_folder = false;
  std::map<std::string, std::shared_ptr<Node>> synced_names;
  std::map<std::string, std::shared_ptr<Node>> names;
  std::vector<Change> pending;

  static void apply(const Change& change, std::map<std::string, std::shared_ptr<Node>>& names) {
    names.erase(change.gone);
    if (!change.come.empty()) {
      names[change.come] = change.node;
    }
  }
  void change(Change change) {
    apply(change, names);
    pending.push_back(std::move(change));
  }
};

std::shared_ptr<Node> adopt(const fs::path& path) {
  auto node = std::make_shared<Node>();
  node->is_folder = fs::is_directory(path);
  if (!node->is_folder) {
    node->written = read_text(path);
    node->synced = node->written;
    return node;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    node->names[entry.path().filename().string()] = adopt(entry.path());
  }
  node->synced_names = node->names;
  return node;
}

void write_out(const Node& node, const fs::path& path, Survival& survival) {
  if (!node.is_folder) {
    write_text(path, survival.content(node.synced, node.written));
    return;
  }
  fs::create_directory(path);
  auto names = node.synced_names;
  for (const Change& change : node.pending) {
    if (survival.name_survives()) {
      Node::apply(change, names);
    }
  }
  for (const auto& [name, child] : names) {
    write_out(*child, path / name, survival);
  }
}

enum class Signals { kWait, kInterrupt };

}  // namespace

bool Survival::name_survives() {
  return mode_ == Mode::kEverything || (mode_ == Mode::kChance && random_() % 2 == 0);
}

std::string Survival::content(const std::string& synced, const std::string& written) {
  if (mode_ != Mode::kChance || synced == written) {
    return mode_ == Mode::kNothing ? synced : written;
  }
  std::string torn = random_() % 3 == 0 ? synced : written;
  if (random_() % 2 == 0) {
    torn.resize(random_() % (torn.size() + 1));
  }
  for (std::size_t at = 0; at < torn.size(); at += kSector) {
    if (random_() % 4 == 0) {
      std::fill_n(torn.begin() + static_cast<std::ptrdiff_t>(at),
                  std::min(kSector, torn.size() - at), '\0');
    }
  }
  return torn;
}

struct ForgetfulDisk::State {
  fs::path root;
  Fault fault;
  std::shared_ptr<Node> tree;
  std::map<int, std::shared_ptr<Node>> open;
  int calls = 0;
  int interruptible = 0;
  bool is_off = false;
  std::vector<std::string> synced_twice;

  /// Returns whether the current call fails, with errno set. @throws PowerCut
  bool fails(Signals signals = Signals::kWait) {
    const bool is_here = calls++ == fault.call;
    if (is_off || (is_here && fault.kind == Fault::Kind::kFail)) {
      errno = is_off ? EIO : fault.error;
      return true;
    }
    if (is_here && fault.kind == Fault::Kind::kCut) {
      is_off = true;
      throw PowerCut{};
    }
    const bool is_interrupted =
        (fault.kind == Fault::Kind::kInterrupt || fault.kind == Fault::Kind::kDribble) &&
        signals == Signals::kInterrupt && interruptible++ % 2 == 0;
    errno = is_interrupted ? EINTR : errno;
    return is_interrupted;
  }
  [[nodiscard]] std::size_t part_of(std::size_t bytes) const {
    return fault.kind == Fault::Kind::kDribble ? (bytes + 2) / 3 : bytes;
  }
  Node& folder_of(const fs::path& path) const {
    std::shared_ptr<Node> node = tree;
    for (const fs::path& name : path.parent_path().lexically_relative(root)) {
      node = name == "." ? node : node->names.at(name.string());
    }
    return *node;
  }
  /// Makes a call that changes the names of a folder, and records the change.
  template <typename Call>
  int change(const fs::path& path, Call call, Change change) {
    if (fails() || call() != 0) {
      return -1;
    }
    folder_of(path).change(std::move(change));
    return 0;
  }
  template <typename Call>
  int move(const fs::path& from, const fs::path& to, Call call) {
    const std::string name = from.filename().string();
    const auto& names = folder_of(from).names;
    const auto node = names.contains(name) ? names.at(name) : nullptr;
    const int result =
        change(from, call, {.gone = name, .come = to.filename().string(), .node = node});
    if (result == 0) {
      note_use(*node, from);
    }
    return result;
  }
  void note_use(const Node& node, const fs::path& path) {
    if (node.is_lost) {
      synced_twice.push_back(path.string());
    }
  }
};

ForgetfulDisk::ForgetfulDisk(const fs::path& root, Fault fault)
    : state_(std::make_unique<State>()) {
  state_->root = root;
  state_->fault = fault;
  state_->tree = adopt(root);
}

ForgetfulDisk::~ForgetfulDisk() = default;

int ForgetfulDisk::calls() const { return state_->calls; }

std::vector<std::string> ForgetfulDisk::synced_twice() const { return state_->synced_twice; }

void ForgetfulDisk::leave(const fs::path& target, Survival survival) const {
  write_out(*state_->tree, target, survival);
}

FileDescriptor ForgetfulDisk::create(const fs::path& path, mode_t mode) const {
  if (state_->fails(Signals::kInterrupt)) {
    return {};
  }
  FileDescriptor file = PosixFileSystem::create(path, mode);
  if (file) {
    auto node = std::make_shared<Node>();
    state_->folder_of(path).change({.gone = {}, .come = path.filename().string(), .node = node});
    state_->open[file.get()] = node;
  }
  return file;
}

int ForgetfulDisk::reserve(const FileDescriptor& file, std::uint64_t bytes) const {
  if (state_->fails(Signals::kInterrupt)) {
    return errno;
  }
  state_->open.at(file.get())->written.resize(static_cast<std::size_t>(bytes));
  return PosixFileSystem::reserve(file, bytes);
}

ssize_t ForgetfulDisk::write(const FileDescriptor& file, std::span<const std::byte> bytes) const {
  if (state_->fails(Signals::kInterrupt)) {
    return -1;
  }
  const ssize_t count = PosixFileSystem::write(file, bytes.first(state_->part_of(bytes.size())));
  if (count > 0) {
    Node& node = *state_->open.at(file.get());
    const auto written = static_cast<std::size_t>(count);
    node.written.resize(std::max(node.written.size(), node.position + written));
    node.written.replace(node.position, written, reinterpret_cast<const char*>(bytes.data()),
                         written);
    node.position += written;
  }
  return count;
}

int ForgetfulDisk::sync(const FileDescriptor& file) const {
  Node& node = *state_->open.at(file.get());
  state_->note_use(node, "a file");
  if (state_->fails(Signals::kInterrupt)) {
    node.is_lost = node.is_lost || errno != EINTR;
    return -1;
  }
  node.synced = node.is_lost ? node.synced : node.written;
  return 0;
}

int ForgetfulDisk::close(FileDescriptor file) const {
  state_->open.erase(file.get());
  const bool is_failure = state_->fails();  // a failed close() frees the descriptor too
  return is_failure ? -1 : PosixFileSystem::close(std::move(file));
}

ssize_t ForgetfulDisk::read(const FileDescriptor& file, std::uint64_t offset,
                            std::span<std::byte> out) const {
  return state_->fails(Signals::kInterrupt)
             ? -1
             : PosixFileSystem::read(file, offset, out.first(state_->part_of(out.size())));
}

int ForgetfulDisk::rename(const fs::path& from, const fs::path& to) const {
  return state_->move(from, to, [&] { return PosixFileSystem::rename(from, to); });
}

int ForgetfulDisk::rename_to_new(const fs::path& from, const fs::path& to) const {
  return state_->move(from, to, [&] { return PosixFileSystem::rename_to_new(from, to); });
}

int ForgetfulDisk::remove(const fs::path& file) const {
  return state_->change(file, [&] { return PosixFileSystem::remove(file); },
                        {.gone = file.filename().string(), .come = {}, .node = {}});
}

int ForgetfulDisk::make_folder(const fs::path& folder) const {
  auto node = std::make_shared<Node>();
  node->is_folder = true;
  return state_->change(folder, [&] { return PosixFileSystem::make_folder(folder); },
                        {.gone = {}, .come = folder.filename().string(), .node = std::move(node)});
}

int ForgetfulDisk::remove_folder(const fs::path& folder) const {
  return state_->change(folder, [&] { return PosixFileSystem::remove_folder(folder); },
                        {.gone = folder.filename().string(), .come = {}, .node = {}});
}

int ForgetfulDisk::sync_folder(const fs::path& folder) const {
  if (state_->fails(Signals::kInterrupt)) {
    return -1;
  }
  Node& node = state_->folder_of(folder / "name");
  node.synced_names = node.names;
  node.pending.clear();
  return 0;
}

}  // namespace gangway::checkpoint
