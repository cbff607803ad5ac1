"""The array API standard's public test suite, run on lazyarray and on NumPy."""
