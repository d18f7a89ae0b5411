// SPDX-License-Identifier: MIT
#include "checkpoint/format/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/files/crc32c.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

Manifest complete_manifest() {
  Manifest manifest = sample_manifest(42);
  manifest.checkpoint_id = hash_of("id");
  manifest.tensors = {
      {.name = "bias",
       .shape = {4},
       .pieces = {{.file = 1, .end = 4, .xxh3_128 = hash_of("bias")}}},
      {.name = "weight",
       .shape = {2, 3, 2, 2},
       .order = StoredOrder::kChannelsLast,
       .pieces = {{.file = 0, .end = 10, .xxh3_128 = hash_of("first")},
                  {.file = 1, .begin = 10, .end = 24, .xxh3_128 = hash_of("second")}}}};
  manifest.events = {{.step = 3, .kind = "rollback", .detail = "other seed"}};
  for (int worker = 0; worker < 2; ++worker) {
    manifest.files.push_back({.name = worker_file_name(worker, 2),
                              .worker = worker,
                              .bytes = kChunkBytes + 1,
                              .chunk_crc32c = {0x12345678U, 9U}});
  }
  return manifest;
}

/// Replaces the seal by the right one, as another writer of this format would.
std::string resealed(const ordered_json& document) {
  std::string text = document.dump(2) + "\n";
  const std::size_t place = text.rfind("\"seal_xxh3_128\": \"");
  if (place == std::string::npos) {
    return text;
  }
  text.replace(place + 18, 32, std::string(32, '0'));
  return text.replace(place + 18, 32, hash_of(text));
}

std::string message_for(const std::string& text) {
  return checkpoint_error_of([&] { (void)parse_manifest(text, "M"); });
}

std::string message_with(const std::function<void(ordered_json&)>& change) {
  ordered_json document = ordered_json::parse(to_json(complete_manifest()));
  change(document);
  return message_for(resealed(document));
}

TEST(Manifest, GivesBackWhatWasWritten) {
  const Manifest manifest = complete_manifest();
  const Manifest read = parse_manifest(to_json(manifest), "M");
  EXPECT_EQ(to_json(read), to_json(manifest));
  EXPECT_EQ(read.step, 42);
  EXPECT_EQ(read.job_yaml, manifest.job_yaml);
  EXPECT_EQ(read.files.at(1).name, "worker-0001-of-0002.safetensors");
  EXPECT_EQ(read.files.at(1).chunk_crc32c, manifest.files[1].chunk_crc32c);
  EXPECT_EQ(read.tensor_count, 2);
  EXPECT_EQ(read.tensors.at(1).order, StoredOrder::kChannelsLast);
  EXPECT_EQ(read.tensors.at(1).pieces.at(1).begin, 10U);
  EXPECT_EQ(read.events.at(0).detail, "other seed");
  EXPECT_EQ(read.software.at("gangway"), "0.1.0");
}

TEST(Manifest, OfANewerFormatIsRefusedWithTheRemedy) {
  EXPECT_THAT(
      message_with([](ordered_json& m) { m["format_version"] = 3; }),
      HasSubstr(
          "M: checkpoint format 3 is newer than the 2 that this program reads: update gangway"));
  // A newer format may have other members and another seal.
  EXPECT_THAT(message_for(R"({"format_version": 7, "other": []})"), HasSubstr("format 7 is newer"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["format_version"] = 0; }),
              HasSubstr("never existed"));
}

TEST(Manifest, EditedByHandIsRefused) {
  std::string text = to_json(complete_manifest());
  text.replace(text.find("\"step\": 42"), 10, "\"step\": 43");
  EXPECT_THAT(message_for(text), HasSubstr("M: its seal does not match its content"));
}

TEST(Manifest, NeedsItsSealAtTheEnd) {
  EXPECT_THAT(message_with([](ordered_json& m) { m.erase("seal_xxh3_128"); }), HasSubstr("seal"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["after"] = 1; }), HasSubstr("seal"));
  EXPECT_THAT(message_for(to_json(complete_manifest()) + " "), HasSubstr("seal"));
}

TEST(Manifest, RefusesMissingUnknownAndMistypedMembers) {
  EXPECT_THAT(message_with([](ordered_json& m) { m.erase("numerics"); }),
              HasSubstr("M: 'numerics' is missing"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["step"] = "42"; }),
              HasSubstr("M: 'step' is not a count"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["step"] = -1; }),
              HasSubstr("M: 'step' is not a count"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["step"] = 1.5; }),
              HasSubstr("M: 'step' is not a count"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["images"] = UINT64_MAX; }),
              HasSubstr("'images' is not a count"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["job_yaml"] = 3; }),
              HasSubstr("'job_yaml' is not a text"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["files"] = 3; }),
              HasSubstr("'files' is not a list"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["files"][0] = 3; }),
              HasSubstr("M: files[0]: not an object"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["files"][1]["x"] = 3; }),
              HasSubstr("M: files[1]: has 5 members"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["events"][0].erase("kind"); }),
              HasSubstr("events[0]: 'kind'"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["software"]["gangway"] = 1; }),
              HasSubstr("'software'"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["created"] = "yesterday"; }),
              HasSubstr("is not a time"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["numerics"] = std::string(5000, 'n'); }),
              HasSubstr("at most 4096"));
  EXPECT_THAT(message_with([](ordered_json& m) {
                m.erase("events");
                m["eventz"] = ordered_json::array();
                m["seal_xxh3_128"] = m["seal_xxh3_128"];
              }),
              HasSubstr("M:"));
}

TEST(Manifest, RefusesValuesOutsideTheirRange) {
  EXPECT_THAT(message_with([](ordered_json& m) { m["step"] = 1'000'000'000; }),
              HasSubstr("outside 0 to 999999999"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["checkpoint_id"] = "x"; }),
              HasSubstr("checkpoint_id"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["job_fingerprint"] = "a\nb"; }),
              HasSubstr("fingerprint"));
}

TEST(Manifest, AllowsOneFileNameAPlaceAndNoOther) {
  for (const char* name : {"../step-000000001/worker-0000-of-0002.safetensors", "/etc/passwd",
                           "worker-0001-of-0002.safetensors", "worker-0000-of-0003.safetensors", "",
                           ".", "worker-0000-of-0002.safetensors/"}) {
    EXPECT_THAT(message_with([&](ordered_json& m) { m["files"][0]["name"] = name; }),
                HasSubstr("M: file 0 is '"))
        << name;
  }
  EXPECT_THAT(message_with([](ordered_json& m) { m["files"] = ordered_json::array(); }),
              HasSubstr("lists 0 files"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["files"].erase(0); }),
              HasSubstr("M: file 0 is '"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["files"][0]["worker"] = 1; }),
              HasSubstr("M: file 0 is '"));
  EXPECT_THAT(message_with([](ordered_json& m) { m["files"][0]["chunk_crc32c"] = "12345678"; }),
              HasSubstr("M: files[0]: 'chunk_crc32c' is not 2 sums of 8 digits"));
}

TEST(Manifest, RefusesPiecesThatDoNotCoverTheirTensorOnce) {
  const auto message = [](const std::function<void(ordered_json&)>& change) {
    return message_with([&](ordered_json& m) { change(m["tensors"][1]["pieces"]); });
  };
  EXPECT_THAT(message([](ordered_json& pieces) { pieces.erase(1); }),
              HasSubstr("M: tensor 'weight': elements from 10 on are in no file"));
  EXPECT_THAT(message([](ordered_json& pieces) { pieces.erase(0); }),
              HasSubstr("M: tensor 'weight': elements from 0 on are in no file"));
  EXPECT_THAT(message([](ordered_json& pieces) { pieces[1]["begin"] = 11; }),
              HasSubstr("M: tensor 'weight': elements from 10 on are in no file"));
  EXPECT_THAT(message([](ordered_json& pieces) { pieces[1]["begin"] = 9; }),
              HasSubstr("elements from 9 on are in worker-0000-of-0002.safetensors and in "
                        "worker-0001-of-0002.safetensors"));
  EXPECT_THAT(message([](ordered_json& pieces) { pieces[1]["end"] = 25; }),
              HasSubstr("a piece has elements 10 to 25 of 24"));
  EXPECT_THAT(message([](ordered_json& pieces) { pieces[1]["file"] = 2; }),
              HasSubstr("a piece is in file 2 of 2"));
  EXPECT_THAT(message([](ordered_json& pieces) { pieces[1]["xxh3_128"] = "abc"; }),
              HasSubstr("the hash of a piece"));
  EXPECT_THAT(message_with([](ordered_json& m) {
                ordered_json& tensor = m["tensors"][1];
                tensor["order"] = "row-major";
                tensor["shape"] = {2, 0, 2, 2};
                for (ordered_json& piece : tensor["pieces"]) {
                  piece["begin"] = piece["end"] = 0;
                }
              }),
              HasSubstr("M: tensor 'weight': is in worker-0000-of-0002.safetensors and in "
                        "worker-0001-of-0002.safetensors"));
}

TEST(Manifest, RefusesTensorsThatCannotBe) {
  const auto message = [](const std::function<void(ordered_json&)>& change) {
    return message_with([&](ordered_json& m) { change(m["tensors"][1]); });
  };
  EXPECT_THAT(message([](ordered_json& t) { t["dtype"] = "F8"; }), HasSubstr("unknown dtype 'F8'"));
  EXPECT_THAT(message([](ordered_json& t) { t["order"] = "zigzag"; }),
              HasSubstr("unknown dtype 'F32' or order 'zigzag'"));
  EXPECT_THAT(message([](ordered_json& t) { t["shape"] = {24}; }),
              HasSubstr("channels come last only in tensors of four axes"));
  EXPECT_THAT(message([](ordered_json& t) {
                t["shape"] = {2, 3, 2, -1};
              }),
              HasSubstr("the shape is not one of counts"));
  EXPECT_THAT(message([](ordered_json& t) {
                t["shape"] = {1ULL << 31U, 1ULL << 31U, 1, 1};
              }),
              HasSubstr("too many axes or elements"));
  EXPECT_THAT(message([](ordered_json& t) { t["name"] = "weight@3"; }), HasSubstr("illegal name"));
  EXPECT_THAT(message([](ordered_json& t) { t["name"] = "bias"; }),
              HasSubstr("tensor 'bias' is listed after 'bias'"));
  EXPECT_THAT(message([](ordered_json& t) { t["name"] = "alone"; }),
              HasSubstr("tensor 'alone' is listed after 'bias'"));
}

TEST(Manifest, RefusesHostileJson) {
  EXPECT_THAT(message_for(""), HasSubstr("M: not a JSON object"));
  EXPECT_THAT(message_for("{\"a\":" + std::string(1'000'000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(message_for(R"({"step":1,"step":2})"), HasSubstr("'step' occurs twice"));
  EXPECT_THAT(message_for("{" + std::string(kMaxManifestBytes, ' ') + "}"),
              HasSubstr("allowed are 268435456"));
}

TEST(Manifest, ThatContradictsItselfIsNotWritten) {
  Manifest no_files = complete_manifest();
  no_files.files.clear();
  EXPECT_THROW((void)to_json(no_files), InvariantError);
  Manifest not_utf8 = complete_manifest();
  not_utf8.numerics = "\xff";
  EXPECT_THROW((void)to_json(not_utf8), InvariantError);
}

TEST(Manifest, TimeIsRfc3339InUtc) {
  const auto time = std::chrono::system_clock::from_time_t(1'795'257'360);
  EXPECT_EQ(rfc3339(time), "2026-11-21T10:36:00Z");
  EXPECT_EQ(parse_rfc3339("2026-11-21T10:36:00Z"), time);
  for (const char* text :
       {"4052-11-21T10:36:00Z", "1969-12-31T23:59:59Z", "2026-06-31T10:36:00Z",
        "2026-11-21T10:36: 0Z", "2026-11-21T10:36:00", "26-11-21T10:36:00Z", ""}) {
    EXPECT_THROW((void)parse_rfc3339(text), CheckpointError) << text;
  }
}

}  // namespace
}  // namespace gangway::checkpoint
