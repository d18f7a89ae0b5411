// SPDX-License-Identifier: MIT
// What a job leaves to its data, its host and its user's environment. Whatever starts a job fills
// it in while the job is read (launch/data/followed_data.cpp). Pure.
#pragma once

#include "job/file/draft.hpp"
#include "job/spec.hpp"

namespace gangway {

struct OpenKeys {
  DataSpec data;
  bool channels = false;  ///< model.channels has a meaning, and is not given
  bool device = false;    ///< numerics.device is auto
  bool classes = false;   ///< model.classes, as model.channels; not of networks of the user's own
  bool python = false;    ///< something of the job is Python, and layout.python is not given
};

[[nodiscard]] OpenKeys open_keys(const Draft& draft);

}  // namespace gangway
