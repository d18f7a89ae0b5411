// SPDX-License-Identifier: MIT
// Includes the parts of LibTorch that Gangway uses. `torch/torch.h` costs 20 s a file; this header
// costs a third and is precompiled.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/grad_mode.h>
#include <torch/csrc/autograd/variable.h>
