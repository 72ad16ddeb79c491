"""Closed forms that share nothing with the simulator but the constants of the standards."""
