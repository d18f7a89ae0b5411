// SPDX-License-Identifier: MIT
#include "report/page/page_files.hpp"

namespace gangway::report {

std::string_view media_type(std::string_view file_name) {
  if (file_name.ends_with(".html")) {
    return "text/html; charset=utf-8";
  }
  if (file_name.ends_with(".css")) {
    return "text/css; charset=utf-8";
  }
  if (file_name.ends_with(".js")) {
    return "text/javascript; charset=utf-8";
  }
  if (file_name.ends_with(".svg")) {
    return "image/svg+xml";
  }
  if (file_name.ends_with(".wav")) {
    return "audio/wav";
  }
  return file_name.ends_with(".png") ? "image/png" : "application/octet-stream";
}

}  // namespace gangway::report
