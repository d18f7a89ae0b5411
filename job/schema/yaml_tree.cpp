// SPDX-License-Identifier: MIT
#include "job/schema/yaml_tree.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/text/utf8.hpp"

namespace gangway {
namespace {

/// Ends the parse; caught in read_yaml.
struct Refusal {
  YamlProblem problem;
};

YamlPosition position_of(const YAML::Mark& mark) {
  return mark.is_null() ? YamlPosition{}
                        : YamlPosition{.line = mark.line + 1, .column = mark.column + 1};
}

YamlNode make_node(YamlNode::Kind kind, const YAML::Mark& mark) {
  YamlNode node;
  node.kind = kind;
  node.at = position_of(mark);
  return node;
}

YamlPosition position_of_offset(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          .column = 1 + static_cast<int>(offset - line_start)};
}

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(YamlResult& result) : result_(result) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++num_documents_ > 1) {
      refuse(mark, "a second document begins here; a job is one document: remove the '---'");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    count_value(mark);
    if (expects_key()) {
      refuse(mark, "a key is missing before this ':'");
    }
    place(make_node(YamlNode::Kind::kNull, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(mark, "aliases (*name) are not allowed; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    count_value(mark);
    if (expects_key()) {
      begin_entry(mark, value);
      return;
    }
    YamlNode scalar = make_node(YamlNode::Kind::kScalar, mark);
    scalar.text = value;
    scalar.is_quoted = tag == "!";
    place(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  /// A map or sequence that is still open.
  struct Frame {
    YamlNode node;
    std::set<std::string> keys;
    bool has_pending_key = false;
    bool is_repeated = false;  // duplicate key: its value is dropped
    YamlEntry pending;
  };

  [[noreturn]] static void refuse(const YAML::Mark& mark, std::string message) {
    throw Refusal{{position_of(mark), std::move(message)}};
  }
  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      refuse(mark, "anchors (&name) are not allowed; write the value out");
    }
  }
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      refuse(mark, fmt::format("tags ('{}') are not allowed; write the value alone", shown(tag)));
    }
  }

  void count_value(const YAML::Mark& mark) {
    if (++num_values_ > kYamlLimitValues) {
      refuse(mark, fmt::format("more than {} words; a job needs a hundred", kYamlLimitValues));
    }
  }

  [[nodiscard]] bool expects_key() const {
    return !frames_.empty() && frames_.back().node.kind == YamlNode::Kind::kMap &&
           !frames_.back().has_pending_key;
  }

  void begin_entry(const YAML::Mark& mark, const std::string& key) {
    Frame& frame = frames_.back();
    frame.has_pending_key = true;
    frame.is_repeated = !frame.keys.insert(key).second;
    frame.pending = {.key = key, .at = position_of(mark), .value = {}};
    if (frame.is_repeated) {
      result_.problems.push_back(
          {position_of(mark), fmt::format("key '{}' is given twice; keep one", shown(key))});
    }
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    count_value(mark);
    if (expects_key()) {
      refuse(mark, "a key must be a word, not a list or a map; is a bracket left open?");
    }
    if (frames_.size() >= kYamlLimitDepth) {
      refuse(mark, fmt::format("nested deeper than {} levels; a job needs five", kYamlLimitDepth));
    }
    frames_.emplace_back().node = make_node(kind, mark);
  }

  void close() {
    YamlNode node = std::move(frames_.back().node);
    frames_.pop_back();
    place(std::move(node));
  }

  void place(YamlNode node) {
    if (frames_.empty()) {
      result_.root = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == YamlNode::Kind::kSequence) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    frame.has_pending_key = false;
    if (!frame.is_repeated) {
      frame.pending.value = std::move(node);
      frame.node.entries.push_back(std::move(frame.pending));
    }
  }

  YamlResult& result_;
  std::vector<Frame> frames_;
  int num_documents_ = 0;
  std::size_t num_values_ = 0;
};

/// Returns the position of a tab before a line's first word, if there is one.
std::optional<std::size_t> find_indenting_tab(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const std::size_t first = line.find_first_not_of(" \t\r");
    const std::size_t tab = line.find('\t');
    if (first != std::string_view::npos && line[first] != '#' && tab < first) {
      return begin + tab;
    }
    begin = end + 1;
  }
  return std::nullopt;
}

void refuse_bytes(std::string_view text) {
  if (text.size() > kYamlLimitBytes) {
    throw Refusal{
        {{}, fmt::format("larger than {} KiB; a job is a page of text", kYamlLimitBytes / 1024)}};
  }
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
    throw Refusal{{position_of_offset(text, at), "contains a NUL byte; a job is UTF-8 text"}};
  }
  if (const auto at = find_invalid_utf8(text)) {
    throw Refusal{{position_of_offset(text, *at), "is not UTF-8 here; save the file as UTF-8"}};
  }
  if (const auto at = find_indenting_tab(text)) {
    throw Refusal{{position_of_offset(text, *at), "a tab indents this line; use spaces"}};
  }
  const auto num_brackets = std::count_if(text.begin(), text.end(), [](char character) {
    return character == '[' || character == '{';
  });
  if (static_cast<std::size_t>(num_brackets) > kYamlLimitBrackets) {
    throw Refusal{
        {{}, fmt::format("more than {} opening brackets; a job needs a few", kYamlLimitBrackets)}};
  }
}

}  // namespace

YamlResult read_yaml(std::string_view text) {
  YamlResult result;
  try {
    refuse_bytes(text);
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(result);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refusal& refusal) {
    result.root = {};
    result.problems.push_back(refusal.problem);
  } catch (const YAML::Exception& error) {
    result.root = {};
    result.problems.push_back(
        {position_of(error.mark), fmt::format("not valid YAML: {}", shown(error.msg))});
  }
  return result;
}

}  // namespace gangway
