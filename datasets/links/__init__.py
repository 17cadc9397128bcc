"""Millions of owl:sameAs links: classes of power-law sizes, or one long chain."""
