"""What makes the things that ``relevance_audit`` ships."""
