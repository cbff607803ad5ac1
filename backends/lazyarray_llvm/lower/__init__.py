"""The kernel emitter: lowers any kernel record to LLVM IR text (see `kernel.emit`)."""
