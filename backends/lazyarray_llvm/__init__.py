"""The LLVM backend: kernel records to machine code for the host CPU."""
