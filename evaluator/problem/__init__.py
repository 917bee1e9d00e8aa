"""Reference problems: finding, loading and checking their files, and drawing inputs from them."""
