from numpy.random.bit_generator import *
from numpy.random.bit_generator import (
    BitGenerator as BitGenerator,
    ISeedSequence as ISeedSequence,
    ISpawnableSeedSequence as ISpawnableSeedSequence,
    SeedSequence as SeedSequence,
    SeedlessSeedSequence as SeedlessSeedSequence,
)
