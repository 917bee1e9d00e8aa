"""Reading what people hand in: files, model responses and bundles. Nothing is run here."""
