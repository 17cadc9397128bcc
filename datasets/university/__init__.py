"""University data with the vocabulary and the proportions of LUBM."""
