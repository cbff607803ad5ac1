from numpy.exceptions import *
from numpy.exceptions import (
    AxisError as AxisError,
    ComplexWarning as ComplexWarning,
    DTypePromotionError as DTypePromotionError,
    ModuleDeprecationWarning as ModuleDeprecationWarning,
    RankWarning as RankWarning,
    TooHardError as TooHardError,
    VisibleDeprecationWarning as VisibleDeprecationWarning,
)
