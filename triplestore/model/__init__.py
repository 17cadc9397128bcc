"""What every part speaks of: errors, terms, rules, expressions, the columns of tables."""
