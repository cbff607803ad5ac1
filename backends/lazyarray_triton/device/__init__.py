"""Functions that run on the device: what one operation of a kernel is, where it is more than an operator of Triton."""
