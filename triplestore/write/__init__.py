"""Writing the next version: from files, changes and requests to tables, and from tables to files."""
