"""A chain of equal resources: the smallest data on which equality explodes."""
