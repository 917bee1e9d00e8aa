"""The calls of the service: requests, answers, errors and limits. Nothing is judged here."""
