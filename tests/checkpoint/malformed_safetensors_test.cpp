// SPDX-License-Identifier: MIT
// Every kind of false header is refused, with a message that names the file and, if possible, the
// tensor.
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "checkpoint/format/safetensors.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string length_field(std::uint64_t length) {
  std::string field;
  for (unsigned i = 0; i < 8; ++i) {
    field += static_cast<char>((length >> (8U * i)) & 0xffU);
  }
  return field;
}

std::string file_of(const std::string& json, std::size_t data_bytes) {
  return length_field(json.size()) + json + std::string(data_bytes, 'x');
}

std::string refusal_of(const std::string& content) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "m.safetensors";
  write_text(path, content);
  std::string message = checkpoint_error_of([&] { SafetensorsFile file(path); });
  if (!message.empty()) {
    EXPECT_THAT(message, HasSubstr(path.string()));
  }
  return message;
}

struct BadHeader {
  const char* name;
  std::string json;
  std::size_t data_bytes;
  std::string complaint;
  friend std::ostream& operator<<(std::ostream& out, const BadHeader& header) {
    return out << header.name;
  }
};

class MalformedHeader : public ::testing::TestWithParam<BadHeader> {};

TEST_P(MalformedHeader, IsRefused) {
  EXPECT_THAT(refusal_of(file_of(GetParam().json, GetParam().data_bytes)),
              HasSubstr(GetParam().complaint));
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

std::string two(const std::string& first_offsets, const std::string& second_offsets) {
  return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first_offsets +
         R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second_offsets + "}}";
}

std::vector<BadHeader> json_cases() {
  const std::string good = R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  return {
      {"NotJson", "{nonsense}", 0, "not valid JSON"},
      {"Array", "[]", 0, "not a JSON object"},
      {"LeadingBlank", " {}", 0, "not a JSON object"},
      {"ByteOrderMark", "\xef\xbb\xbf{}", 0, "not a JSON object"},
      {"NulAfterTheObject", std::string("{}\0{}", 5), 0, "not a JSON object"},
      {"TrailingText", "{}x", 0, "not valid JSON"},
      {"Comment", "{/**/}", 0, "not valid JSON"},
      {"TrailingComma", R"({"w":)" + good + ",}", 4, "not valid JSON"},
      {"CutShort", R"({"w":{"dtype":"U8")", 4, "not valid JSON"},
      {"InvalidUtf8Name", "{\"\xff\":" + good + "}", 4, "not valid JSON"},
      {"OverlongUtf8Name", "{\"\xc0\xaf\":" + good + "}", 4, "not valid JSON"},
      {"LoneSurrogateName", R"({"\ud800":)" + good + "}", 4, "not valid JSON"},
      {"ControlCharacterName", R"({"a\u0000b":)" + good + "}", 4, "illegal name"},
      {"EmptyName", R"({"":)" + good + "}", 4, "illegal name"},
      {"LongName", "{\"" + std::string(kMaxNameBytes + 1, 'n') + "\":" + good + "}", 4,
       "illegal name"},
      {"DoubledTensor", R"({"w":)" + good + R"(,"w":)" + good + "}", 4, "'w' occurs twice"},
      {"DoubledTensorByEscape", R"({"w":)" + good + R"(,"\u0077":)" + good + "}", 4,
       "'w' occurs twice"},
      {"DoubledMember", R"({"w":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4,
       "'dtype' occurs twice"},
      {"TooDeep", R"({"w":)" + std::string(5, '[') + std::string(5, ']') + "}", 0,
       "nested deeper than 4"},
      {"FarTooDeep", R"({"w":)" + std::string(100'000, '['), 0, "nested deeper than 4"},
      {"MetadataNotAnObject", R"({"__metadata__":[]})", 0, "__metadata__ is not an object"},
      {"MetadataNotATextValue", R"({"__metadata__":{"step":1}})", 0,
       "metadata 'step' is not a text"},
  };
}

std::vector<BadHeader> entry_cases() {
  return {
      {"EntryNotAnObject", R"({"w":3})", 0, "tensor 'w': its entry is not exactly"},
      {"MissingShape", R"({"w":{"dtype":"U8","data_offsets":[0,4]}})", 4,
       "tensor 'w': its entry is not exactly"},
      {"UnknownMember", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"z":0}})", 4,
       "tensor 'w': its entry is not exactly"},
      {"UnknownType", entry(R"("F8_E4M3")", "[4]", "[0,4]"), 4, "tensor 'w': unknown dtype"},
      {"TypeNotAText", entry("32", "[4]", "[0,4]"), 4, "tensor 'w': unknown dtype"},
      {"ShapeNotAList", entry(R"("U8")", "4", "[0,4]"), 4, "tensor 'w': the shape is not a list"},
      {"TooManyAxes", entry(R"("U8")", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4]", "[0,4]"), 4,
       "tensor 'w': the shape is not a list"},
      {"NegativeExtent", entry(R"("U8")", "[-4]", "[0,4]"), 4,
       "tensor 'w': the shape holds something"},
      {"MinusZeroExtent", entry(R"("U8")", "[-0]", "[0,0]"), 0,
       "tensor 'w': the shape holds something"},
      {"FractionalExtent", entry(R"("U8")", "[4.0]", "[0,4]"), 4,
       "tensor 'w': the shape holds something"},
      {"TextExtent", entry(R"("U8")", R"(["4"])", "[0,4]"), 4,
       "tensor 'w': the shape holds something"},
      {"ExtentBeyondSixtyThreeBits", entry(R"("U8")", "[9223372036854775808]", "[0,4]"), 4,
       "holds something"},
      {"ExtentBeyondSixtyFourBits", entry(R"("U8")", "[18446744073709551617]", "[0,4]"), 4,
       "holds something"},
      {"ShapeOverflow", entry(R"("U8")", "[4294967296,4294967296,1]", "[0,0]"), 0,
       "more bytes than 64 bits"},
      {"ItemSizeOverflow", entry(R"("F64")", "[4611686018427387904]", "[0,0]"), 0,
       "more bytes than 64 bits"},
      {"OffsetsNotAPair", entry(R"("U8")", "[4]", "[0,2,4]"), 4,
       "tensor 'w': data_offsets is not a pair"},
      {"OffsetsNotCounts", entry(R"("U8")", "[4]", R"([0,"4"])"), 4,
       "tensor 'w': data_offsets is not a pair"},
      {"OffsetsBackwards", entry(R"("U8")", "[4]", "[4,0]"), 4,
       "tensor 'w': shape and dtype need 4 bytes"},
      {"OffsetsDifferenceWraps", entry(R"("U8")", "[4]", "[18446744073709551614,2]"), 4,
       "need 4 bytes"},
      {"ShapeLargerThanOffsets", entry(R"("F32")", "[1048576]", "[0,4]"), 4,
       "tensor 'w': shape and dtype need 4194304"},
      {"ShapeSmallerThanOffsets", entry(R"("U8")", "[2]", "[0,4]"), 4,
       "tensor 'w': shape and dtype need 2 bytes"},
      {"EndsBehindTheFile", entry(R"("U8")", "[8]", "[0,8]"), 4,
       "tensor 'w': ends at 8, the data has 4 bytes"},
      {"StartsBehindZero", entry(R"("U8")", "[4]", "[1,5]"), 5, "tensor 'w': starts at 1"},
      {"Hole", two("[0,4]", "[5,9]"), 9, "tensor 'b': starts at 5, the one before ends at 4"},
      {"Overlap", two("[0,4]", "[3,7]"), 7, "tensor 'b': starts at 3, the one before ends at 4"},
      {"SamePlace", two("[0,4]", "[0,4]"), 4, "starts at 0, the one before ends at 4"},
      {"BytesBehindTheLastTensor", entry(R"("U8")", "[4]", "[0,4]"), 9,
       "the tensors cover 4 of 9 bytes"},
      {"BytesWithoutTensors", "{}", 1, "the tensors cover 0 of 1 bytes"},
  };
}

std::string case_name(const ::testing::TestParamInfo<BadHeader>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Json, MalformedHeader, ::testing::ValuesIn(json_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Entry, MalformedHeader, ::testing::ValuesIn(entry_cases()), case_name);

TEST(MalformedFile, IsRefusedForItsLengthField) {
  EXPECT_THAT(refusal_of(""), HasSubstr("has 0 bytes"));
  EXPECT_THAT(refusal_of(length_field(2) + "{"), HasSubstr("has 9 bytes"));
  EXPECT_THAT(refusal_of(length_field(3) + "{}"),
              HasSubstr("announces a header of 3 bytes in a file of 10"));
  EXPECT_THAT(refusal_of(length_field(UINT64_MAX) + "{}"),
              HasSubstr("announces a header of 18446744073709551615"));
  EXPECT_THAT(refusal_of(length_field(UINT64_MAX - 7) + "{}"), HasSubstr("announces a header of"));
  EXPECT_THAT(refusal_of(length_field(0) + "{}"), HasSubstr("allowed are 2 to"));
}

TEST(MalformedFile, IsRefusedForAHeaderAboveTheCapBeforeItIsRead) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "sparse";
  write_text(path, length_field(std::uint64_t{1} << 40U) + "{}");
  std::filesystem::resize_file(path, std::uint64_t{1} << 41U);
  EXPECT_THAT(checkpoint_error_of([&] { SafetensorsFile file(path); }),
              AllOf(HasSubstr("announces a header of 1099511627776 bytes"),
                    HasSubstr("allowed are 2 to 16777216")));
}

TEST(MalformedFile, IsRefusedWhenItIsNoFile) {
  const ScratchFolder folder;
  EXPECT_THAT(checkpoint_error_of([&] { SafetensorsFile file(folder.path()); }),
              HasSubstr("is not a regular file"));
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(checkpoint_error_of([&] { SafetensorsFile file(folder.path() / "pipe"); }),
              HasSubstr("is not a regular file"));
}

TEST(ForeignFile, IsReadWhenItIsSound) {
  EXPECT_EQ(refusal_of(file_of("{}", 0)), "");
  EXPECT_EQ(refusal_of(file_of(entry(R"("U8")", "[4]", "[0,4]") + "  ", 4)), "");
  EXPECT_EQ(refusal_of(file_of(two("[4,8]", "[0,4]"), 8)), "");
  EXPECT_EQ(refusal_of(file_of(entry(R"("F32")", "[]", "[0,4]"), 4)), "");
  EXPECT_EQ(refusal_of(file_of(entry(R"("F32")", "[0,7]", "[0,0]"), 0)), "");
}

}  // namespace
}  // namespace gangway::checkpoint
