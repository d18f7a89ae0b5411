# SPDX-License-Identifier: MIT
"""The list of users' actions in their first hour: the modules *_steps add to it."""
STEPS = {}


def step(function):
    """Registers a function of an Hour as a step of its name."""
    STEPS[function.__name__] = function
    return function
