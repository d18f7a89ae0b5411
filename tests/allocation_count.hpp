// SPDX-License-Identifier: MIT
// Counts allocations, for tests of what may not allocate. allocation_count.cpp replaces the global
// operator new, so a program that links it is one of its own. Any thread.
#pragma once

namespace gangway::testing {

/// From here on all allocations of all threads count, until stop_counting_allocations().
void start_counting_allocations();
void stop_counting_allocations();
/// Those counted so far; the next ones count from 0.
[[nodiscard]] int take_allocation_count();

}  // namespace gangway::testing
