# SPDX-License-Identifier: MIT
"""The list of what people do in their first hour: the modules *_steps add to it."""
STEPS = {}


def step(function):
    """A function of an Hour; its name is the step's."""
    STEPS[function.__name__] = function
    return function
