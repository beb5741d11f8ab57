"""Draws: the generator, unbiased scaling, Must Hit, the automated shoe, and their secrets."""
