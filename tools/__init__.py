"""What makes the things that ship, and measures them. Nothing that ships imports it."""
