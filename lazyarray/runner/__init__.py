"""The script runner: an unmodified NumPy program under lazyarray; above every layer, imported by none."""
