// SPDX-License-Identifier: MIT
#include "report/run_view/line_tail.hpp"

#include <fstream>
#include <system_error>
#include <utility>

namespace gangway::report {

bool LineTail::still_has_last_line(std::istream& file, std::uintmax_t size) const {
  if (size < read_bytes_) {
    return false;
  }
  const std::string expected = last_line_ + '\n';
  std::string there(expected.size(), '\0');
  file.seekg(static_cast<std::streamoff>(read_bytes_ - expected.size()));
  file.read(there.data(), static_cast<std::streamsize>(there.size()));
  return there == expected;
}

LineTail::News LineTail::read() {
  News news;
  std::ifstream file(path_, std::ios::binary);
  std::error_code failure;
  const std::uintmax_t size = std::filesystem::file_size(path_, failure);
  if (!file || failure) {
    news.begins_again = std::exchange(read_bytes_, 0) > 0;
    return news;
  }
  if (read_bytes_ > 0 && !still_has_last_line(file, size)) {
    news.begins_again = true;
    read_bytes_ = 0;
  }
  file.clear();
  file.seekg(static_cast<std::streamoff>(read_bytes_));
  for (std::string line; std::getline(file, line) && !file.eof();) {
    read_bytes_ += line.size() + 1;
    news.lines.push_back(std::move(line));
  }
  if (!news.lines.empty()) {
    last_line_ = news.lines.back();
  }
  return news;
}

}  // namespace gangway::report
