"""Runs over the population: their report, picture and comparison, the same for host and CUDA."""
