"""How results and progress are shown: figures, safe text, tables, the screen's width, and bars of progress."""
