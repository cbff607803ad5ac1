from numpy.version import *
from numpy.version import (
    __version__ as __version__,
    full_version as full_version,
    git_revision as git_revision,
    release as release,
    short_version as short_version,
    version as version,
)
