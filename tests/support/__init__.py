"""What tests share: the oracle, generators of programs and data, checks of whole stores."""
