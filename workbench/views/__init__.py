"""All that is looked at: figures, the explorer, maps, the audit, and pages."""
