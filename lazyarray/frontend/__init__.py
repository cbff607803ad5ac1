"""What a program touches: arrays, scalars, ufuncs and the functions of the namespace, all of which record."""
