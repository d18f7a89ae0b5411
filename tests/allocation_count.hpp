// SPDX-License-Identifier: MIT
// Counts allocations, for tests of code that must not allocate. allocation_count.cpp replaces the
// global operator new, so its tests need a program of their own. Any thread.
#pragma once

namespace gangway::testing {

/// Starts counting the allocations of all threads, until stop_counting_allocations().
void start_counting_allocations();
void stop_counting_allocations();
/// Returns the number of counted allocations; the next call counts from 0.
[[nodiscard]] int take_allocation_count();

}  // namespace gangway::testing
