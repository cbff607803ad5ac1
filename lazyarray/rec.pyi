from numpy.rec import *
from numpy.rec import (
    array as array,
    format_parser as format_parser,
    fromarrays as fromarrays,
    fromfile as fromfile,
    fromrecords as fromrecords,
    fromstring as fromstring,
    recarray as recarray,
    record as record,
)
