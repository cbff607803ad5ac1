from numpy.lib.mixins import *
from numpy.lib.mixins import (
    NDArrayOperatorsMixin as NDArrayOperatorsMixin,
)
