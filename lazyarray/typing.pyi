from numpy.typing import *
from numpy.typing import (
    ArrayLike as ArrayLike,
    DTypeLike as DTypeLike,
    NBitBase as NBitBase,
    NDArray as NDArray,
)
