"""The service's queue of requests, kept in the database."""
