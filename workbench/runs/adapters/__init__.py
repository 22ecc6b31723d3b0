"""Models of other libraries, one kind a file, as objects that encode images and texts or score pairs."""
