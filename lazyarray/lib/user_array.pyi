from numpy.lib.user_array import *
from numpy.lib.user_array import (
    container as container,
)
