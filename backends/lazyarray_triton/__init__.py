"""The Triton backend: kernel records to Triton source and launch plans for NVIDIA GPUs."""
