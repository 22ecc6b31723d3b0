"""itm-workbench: one harness in which every image-text matching objective meets the same data, encoders and
metrics.
"""

__version__ = "0.1.0"
