"""Published benchmarks of image-text matching, each one declaration: its files, its own scores, its unit.

``declaration.names()`` lists them, ``workbench evaluate --data NAME`` measures by them, and ``workbench
reproduce`` holds a measurement against the number that is printed.
"""
