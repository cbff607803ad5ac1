from numpy.lib.npyio import *
from numpy.lib.npyio import (
    DataSource as DataSource,
    NpzFile as NpzFile,
)
