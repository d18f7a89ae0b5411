# SPDX-License-Identifier: MIT
"""The `gangway` commands in Python: each module has a function for results, and command()."""
