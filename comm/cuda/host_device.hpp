// SPDX-License-Identifier: MIT
// Marks a function that both compilers build, so that tests check its arithmetic without a GPU.
#pragma once

#ifndef GANGWAY_HOST_DEVICE
#ifdef __CUDACC__
#define GANGWAY_HOST_DEVICE __host__ __device__
#else
#define GANGWAY_HOST_DEVICE
#endif
#endif
