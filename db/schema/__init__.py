"""The tables as SQLAlchemy models."""
