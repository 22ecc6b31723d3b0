"""Pages: what a browser shows without a kernel."""
