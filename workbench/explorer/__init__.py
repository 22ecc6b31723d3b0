"""The retrieval explorer: questions to one or several models over one split, answered side by side."""
