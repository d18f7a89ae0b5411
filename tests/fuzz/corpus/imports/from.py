from . import layers
from ..up import (one,
  two as three,)
from .norm import \
    Norm
x = "from y import z"
r'''
import raw'''
