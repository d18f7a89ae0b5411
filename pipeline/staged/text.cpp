// SPDX-License-Identifier: MIT
#include "pipeline/staged/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/text/suggestion.hpp"

namespace gangway::pipeline {
namespace {

bool names_tensor(StageOperation operation) {
  return operation == StageOperation::kSend || operation == StageOperation::kReceive ||
         operation == StageOperation::kFree;
}

template <typename Integer>
std::string field(const char* name, Integer value) {
  return " " + std::string(name) + "=" + std::to_string(value);
}

std::optional<StageOperation> operation_named(std::string_view word) {
  for (int index = 0; index < kNumStageOperations; ++index) {
    const auto operation = static_cast<StageOperation>(index);
    if (name_of(operation) == word) {
      return operation;
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

/// Reads one line.
class LineReader {
 public:
  LineReader(std::string_view line, const PerNetwork<std::string>& networks, std::string place)
      : networks_(networks), place_(std::move(place)), words_(words_of(line)) {}

  [[nodiscard]] StageInstruction read() {
    StageInstruction result;
    result.operation = read_operation();
    if (names_tensor(result.operation)) {
      result.made_by = read_operation();
    }
    if (result.operation != StageOperation::kFlush) {
      read_chunk(result);
    }
    while (at_ < words_.size()) {
      read_field(result, words_[at_++]);
    }
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw ConfigError(place_ + ": " + problem);
  }
  [[nodiscard]] std::string_view next(const std::string& what) {
    if (at_ == words_.size()) {
      refuse(what + " is missing");
    }
    return words_[at_++];
  }

  [[nodiscard]] StageOperation read_operation() {
    const std::string_view word = next("an operation");
    const std::optional<StageOperation> operation = operation_named(word);
    if (!operation) {
      std::vector<std::string> known;
      for (int index = 0; index < kNumStageOperations; ++index) {
        known.emplace_back(name_of(static_cast<StageOperation>(index)));
      }
      const std::optional<std::string> meant = nearest_word(word, known);
      refuse("'" + std::string(word) + "' is no operation" +
             (meant ? "; did you mean " + *meant + "?" : ", such as forward, send or reduce"));
    }
    return *operation;
  }

  void read_chunk(StageInstruction& result) {
    const std::string_view word = next("a chunk, such as " + *networks_.begin() + ".0");
    const std::size_t dot = word.rfind('.');
    const std::string_view name = word.substr(0, std::min(dot, word.size()));
    const auto found = std::ranges::find(networks_, name);
    if (found == networks_.end()) {
      refuse("'" + std::string(word) + "' is no chunk of a network of the job, such as " +
             *networks_.begin() + ".0");
    }
    result.network = static_cast<NetworkId>(found - networks_.begin());
    result.chunk = dot == std::string_view::npos ? 0 : number<int>(word, word.substr(dot + 1));
  }
  template <typename Integer>
  [[nodiscard]] Integer number(std::string_view word, std::string_view digits) const {
    Integer value{};
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    if (error != std::errc() || end != digits.end() || value < 0) {
      refuse("'" + std::string(word) + "' needs a whole number from 0 to " +
             std::to_string(std::numeric_limits<Integer>::max()));
    }
    return value;
  }

  /// "1.2"
  void read_pair(std::string_view word, std::string_view text, int& first, int& second) const {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) {
      refuse("'" + std::string(word) + "' needs two numbers with a dot between them");
    }
    first = number<int>(word, text.substr(0, dot));
    second = number<int>(word, text.substr(dot + 1));
  }

  void read_field(StageInstruction& result, std::string_view word) const {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (name == "step") {
      result.step = number<int>(word, value);
    } else if (name == "phase") {
      read_pair(word, value, result.phase, result.repeat);
    } else if (name == "node") {
      read_pair(word, value, result.pass, result.node);
    } else if (name == "microbatch") {
      result.microbatch = number<int>(word, value);
    } else if (name == "version") {
      result.version = number<int>(word, value);
    } else if ((name == "to" && result.operation == StageOperation::kSend) ||
               (name == "from" && result.operation == StageOperation::kReceive)) {
      result.peer = number<int>(word, value);
    } else if (name == "bytes") {
      result.bytes = number<std::int64_t>(word, value);
    } else if (word == "keeps") {
      result.keeps = true;
    } else if (word == "lets-go") {
      result.lets_go = true;
    } else if (word == "last") {
      result.is_last = true;
    } else {
      refuse("'" + std::string(word) + "' means nothing behind " +
             std::string(name_of(result.operation)));
    }
  }

  const PerNetwork<std::string>& networks_;
  std::string place_;
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
};

}  // namespace

std::string text_of(const StageInstruction& instruction, const PerNetwork<std::string>& networks) {
  const StageInstruction& one = instruction;
  std::string text(name_of(one.operation));
  if (names_tensor(one.operation)) {
    text += " " + std::string(name_of(one.made_by));
  }
  if (one.operation != StageOperation::kFlush) {
    text += " " + networks[one.network] + "." + std::to_string(one.chunk);
  }
  text += field("step", one.step);
  text += field("phase", one.phase) + "." + std::to_string(one.repeat);
  if (computes(one.operation) || names_tensor(one.operation)) {
    text += field("node", one.pass) + "." + std::to_string(one.node);
  }
  if (one.microbatch >= 0) {
    text += field("microbatch", one.microbatch);
  }
  if (!names_tensor(one.operation) && one.operation != StageOperation::kFlush) {
    text += field("version", one.version);
  }
  if (one.peer >= 0) {
    text += field(one.operation == StageOperation::kSend ? "to" : "from", one.peer);
  }
  if (one.bytes > 0) {
    text += field("bytes", one.bytes);
  }
  text += one.keeps ? " keeps" : "";
  text += one.lets_go ? " lets-go" : "";
  text += one.is_last ? " last" : "";
  return text;
}

std::string text_of(const StageList& list, const PerNetwork<std::string>& networks) {
  std::string text;
  for (const StageInstruction& instruction : list) {
    text += text_of(instruction, networks);
    text += '\n';
  }
  return text;
}

StageList list_from_text(std::string_view text, const PerNetwork<std::string>& networks,
                         std::string_view source) {
  StageList list;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string place = std::string(source) + ":" + std::to_string(list.size() + 1);
    list.push_back(LineReader(text.substr(0, end), networks, place).read());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

}  // namespace gangway::pipeline
