"""Halyard's CUDA libraries on a machine with a GPU: packed on one machine, checked and timed on another."""
