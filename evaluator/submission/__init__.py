"""Reads submissions: files, model responses and bundles. Nothing is run here."""
