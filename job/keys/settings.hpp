// SPDX-License-Identifier: MIT
// Turns texts into settings (keys, values, places), and finds errors before any value is read. Used
// by job/file/parse.cpp. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "job/schema/key.hpp"
#include "job/schema/yaml_tree.hpp"

namespace gangway {

/// Complaints for people. Bounded, so that a nonsense file costs little and still reads well.
class Problems {
 public:
  static constexpr std::size_t kMost = 100;
  void add(std::string line);
  [[nodiscard]] bool is_full() const { return lines_.size() >= kMost; }
  /// Returns all lines; the last one says if there were more.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::vector<std::string> lines_;
  bool has_more_ = false;
};

/// Place of a value; a later place wins.
enum class Layer { kDefault, kFile, kEnvironment, kCommandLine };

struct Origin {
  Layer layer = Layer::kDefault;
  std::string
      text;  ///< begins a message: `job.yaml:3:5: training.kimg`, `command line: training.kimg=abc`
};

struct Setting {
  const Key* key = nullptr;
  YamlNode value;
  Origin origin;
};

/// A key or section that no longer counts, because a later place made another choice.
struct LeftOut {
  std::string path;
  Layer layer = Layer::kFile;
};

/// Look-up of keys: by path, by name in the environment, by section.
struct KeyIndex {
  /// Borrows `table` for its life.
  explicit KeyIndex(const std::vector<Key>& table);
  [[nodiscard]] bool has_section(const std::string& path) const;
  /// Returns whether `path` is a key or a section.
  [[nodiscard]] bool knows(const std::string& path) const;
  std::map<std::string, const Key*, std::less<>> keys;   ///< by path
  std::vector<std::string> sections;                     ///< as of sections_of
  std::vector<std::string> known;                        ///< for suggestions: keys, then sections
  std::map<std::string, std::string> environment_names;  ///< to paths
};

/// Returns the index of key_table(recipe). The reference stays valid; any thread.
[[nodiscard]] const KeyIndex& key_index(const Recipe& recipe);

class SettingCollector {
 public:
  /// Borrows both for its life.
  SettingCollector(const KeyIndex& index, Problems& problems);

  /// Adds a job file's content; messages show `name`.
  void add_file(const std::string& name, std::string_view text);
  /// Adds GANGWAY_TRAINING_KIMG, 80. Ignores other names than GANGWAY_ and a section.
  void add_environment(const std::string& name, const std::string& value);
  /// Adds training.kimg=80. training.kimg=null or ~training.kimg undoes earlier places.
  void add_override(const std::string& text);
  /// From now on, keys that only `other` knows are left out, without a complaint: they were given
  /// before another recipe was chosen. Borrows it; null: stops.
  void leave_out(const KeyIndex* other) { other_ = other; }

  /// Returns settings in the order of the calls, so that the last one of a key counts.
  [[nodiscard]] const std::vector<Setting>& settings() const { return settings_; }
  [[nodiscard]] const std::vector<LeftOut>& left_out() const { return left_out_; }

 private:
  /// Beginning of the messages about one source.
  struct Source {
    Layer layer = Layer::kFile;
    std::string place = {};  ///< the file's name, or `command line: a.b=c`
    std::string path = {};   ///< outside files: the key that `place` already names
  };

  /// Drops the settings for `path`, a key or a section.
  void reset(const Source& source, const std::string& path);
  void add_value(const Source& source, const std::string& path, const std::string& text);
  void walk(const Source& source, const std::string& path, YamlPosition at, const YamlNode& node);
  void walk_map(const Source& source, const std::string& path, const YamlNode& map);
  void report_unknown(const Source& source, const std::string& path, YamlPosition at);
  [[nodiscard]] static std::string place_of(const Source& source, const std::string& path,
                                            YamlPosition at);
  [[nodiscard]] std::string children_of(const std::string& path) const;

  const KeyIndex& index_;
  Problems& problems_;
  const KeyIndex* other_ = nullptr;
  std::vector<Setting> settings_;
  std::vector<LeftOut> left_out_;
};

}  // namespace gangway
