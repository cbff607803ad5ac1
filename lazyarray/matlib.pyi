from numpy.matlib import *
from numpy.matlib import (
    empty as empty,
    eye as eye,
    identity as identity,
    ones as ones,
    rand as rand,
    randn as randn,
    repmat as repmat,
    zeros as zeros,
)
