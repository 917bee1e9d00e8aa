"""The pages, one module for each subject; their templates are in `web/templates`."""
