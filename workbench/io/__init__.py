"""Files: written whole or not at all, checked when they are read again, refused by name where damaged.

``files`` writes, ``checksums`` tells damage, ``cache`` computes a file once, ``reading`` parses what others
wrote, ``signals`` stops a process between two steps.
"""

from workbench.io.cache import cache_folder, cached_file, cached_kinds, cached_texts, clean_cache
from workbench.io.checksums import ChecksumError, checksum, update_checksums, verify, write_checksums
from workbench.io.files import (
    flat,
    json_value,
    new_memmap,
    only_writer,
    replacing,
    with_home,
    write_json,
    write_recorded,
    write_table,
    write_text,
)
from workbench.io.reading import (
    NUMPY_ERRORS,
    PARSER_ERRORS,
    adapter,
    fields_of,
    hub,
    numeric,
    parse_json,
    parse_yaml,
    read_array,
    read_csv,
    read_options,
    read_text,
    reading_errors,
    require_itself,
    validated,
)

__all__ = [
    "NUMPY_ERRORS",
    "PARSER_ERRORS",
    "ChecksumError",
    "adapter",
    "cache_folder",
    "cached_file",
    "cached_kinds",
    "cached_texts",
    "checksum",
    "clean_cache",
    "fields_of",
    "flat",
    "hub",
    "json_value",
    "new_memmap",
    "numeric",
    "only_writer",
    "parse_json",
    "parse_yaml",
    "read_array",
    "read_csv",
    "read_options",
    "read_text",
    "reading_errors",
    "replacing",
    "require_itself",
    "update_checksums",
    "validated",
    "verify",
    "with_home",
    "write_checksums",
    "write_json",
    "write_recorded",
    "write_table",
    "write_text",
]
