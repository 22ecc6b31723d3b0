"""The command of ``tools.fuzz``."""

from __future__ import annotations

import argparse
import sys
import time

from tools import fuzz
from tools.fuzz.readers import READERS


def main() -> None:
    """Read the inputs, record the counts, and print what fell."""
    parser = argparse.ArgumentParser(description=fuzz.__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("readers", nargs="*", choices=[[], *READERS], help="default: all")
    parser.add_argument("--inputs", type=int, default=100_000, help="of each reader")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--block", type=int, default=1000, help="inputs between two records")
    parser.add_argument("--dry", action="store_true", help="record nothing")
    asked = parser.parse_args()
    last = asked.first + asked.inputs
    for start in range(asked.first, last, asked.block):
        for name in asked.readers or READERS:
            numbers, began = range(start, min(start + asked.block, last)), time.monotonic()
            counts = fuzz.run(name, numbers)
            if not asked.dry:
                fuzz.record(name, counts, numbers)
            seconds = time.monotonic() - began
            said = [f"{name}: {len(numbers)} from {start}: {len(counts.fell)} fell, {seconds:.0f} s"]
            first = {text[:60]: number for number, text in reversed(counts.fell.items())}
            said += [f"  {number}: {counts.fell[number]}" for number in first.values()]
            sys.stdout.write("\n".join(said) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
