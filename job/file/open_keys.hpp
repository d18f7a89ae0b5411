// SPDX-License-Identifier: MIT
// Keys that a job leaves to its data, its host and the user's environment. The program that starts
// a job fills them in while it reads the job (launch/data/followed_data.cpp). Pure.
#pragma once

#include "job/file/draft.hpp"
#include "job/spec.hpp"

namespace gangway {

struct OpenKeys {
  DataSpec data;
  bool channels = false;  ///< model.channels applies, and is not given
  bool device = false;    ///< numerics.device is auto
  bool classes = false;   ///< as `channels`, of model.classes; false for networks of the user's
  bool python = false;    ///< the job has Python, and layout.python is not given
};

[[nodiscard]] OpenKeys open_keys(const Draft& draft);

}  // namespace gangway
