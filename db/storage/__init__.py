"""Results as rows and back, and what is kept up to date with them."""
