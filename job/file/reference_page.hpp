// Makes docs/job-file.md from the table of keys and the rules. Called by gangway-job-reference and
// by a test that compares the result with the page in the repository. Pure.
#pragma once

#include <string>

namespace gangway {

[[nodiscard]] std::string reference_page();

}  // namespace gangway
