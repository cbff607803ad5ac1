from numpy.lib import *
from numpy.lib import (
    Arrayterator as Arrayterator,
    NumpyVersion as NumpyVersion,
    add_docstring as add_docstring,
    add_newdoc as add_newdoc,
    array_utils as array_utils,
    mixins as mixins,
    npyio as npyio,
    scimath as scimath,
    stride_tricks as stride_tricks,
    tracemalloc_domain as tracemalloc_domain,
)
