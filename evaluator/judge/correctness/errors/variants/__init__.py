"""Known variants of functions that a reference calls: approximations, other constants, and common mistakes."""
