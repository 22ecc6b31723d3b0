"""Stands before the package of this name in tests, and cannot be imported. jsonschema would have it compile
the grammar of international addresses in every process, a second and a half each; no notebook holds one.
"""

raise ImportError(__doc__)
