# SPDX-License-Identifier: MIT
"""The commands of `gangway` that are written in Python. Each is a function that returns figures, and what prints them."""
