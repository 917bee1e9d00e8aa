"""The judge's end of its workers: how they are started and asked, and the memory that they share with the judge."""
