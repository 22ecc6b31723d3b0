"""Published benchmarks of image-text matching, each one declaration: its files, its own scores, its unit.

``declaration.names()`` lists them, ``workbench evaluate --data NAME`` measures by them, ``workbench
reproduce`` holds a measurement against the number that is printed, and ``suite`` measures many models on many
of them.
"""

from workbench.registry import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"suite": "suites", "read_suite": "suites"})
