"""What ops compute, in torch, a file a family."""
