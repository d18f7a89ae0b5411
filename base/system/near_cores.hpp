// SPDX-License-Identifier: MIT
// Cores that are near a device of the PCI bus, on machines with several sockets: what they read
// for it and copy to it need not cross from one socket to the other. Any thread.
#pragma once

#include <filesystem>
#include <string>

namespace gangway {

/// Where Linux lists devices by their address.
inline constexpr const char* kPciDevices = "/sys/bus/pci/devices";

/// Keeps the calling thread, and those that it begins from now on, on the cores near a device.
/// Memory that they touch first then lies there, too. What usable_cores() said before, it says
/// still.
/// @param address  "0000:1b:00.0"
/// @return these cores, as "0-27,56-83"; empty: no usable core is nearer than the others, or the
/// kernel does not say
std::string stay_near(const std::filesystem::path& devices, const std::string& address);

}  // namespace gangway
