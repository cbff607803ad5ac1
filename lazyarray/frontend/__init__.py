"""What a program touches: arrays, ufuncs, and the functions of the namespace."""
