"""Known approximations and common mistakes, which are searched for in wrong answers. The judge imports it for the first of them."""
