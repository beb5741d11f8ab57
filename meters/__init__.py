"""The money: exact amounts, rates and level definitions."""
