"""The closure seen from outside: classes of equal terms expanded, and what holds of every term."""
