from numpy.polynomial import *
from numpy.polynomial import (
    Chebyshev as Chebyshev,
    Hermite as Hermite,
    HermiteE as HermiteE,
    Laguerre as Laguerre,
    Legendre as Legendre,
    Polynomial as Polynomial,
    chebyshev as chebyshev,
    hermite as hermite,
    hermite_e as hermite_e,
    laguerre as laguerre,
    legendre as legendre,
    polynomial as polynomial,
    set_default_printstyle as set_default_printstyle,
    test as test,
)
