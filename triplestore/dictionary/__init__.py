"""The dictionary: terms as numbers, and which literals are one value."""
