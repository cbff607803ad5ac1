from numpy.ma.mrecords import *
from numpy.ma.mrecords import (
    MaskedRecords as MaskedRecords,
    addfield as addfield,
    fromarrays as fromarrays,
    fromrecords as fromrecords,
    fromtextfile as fromtextfile,
    mrecarray as mrecarray,
)
