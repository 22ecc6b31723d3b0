"""Train every objective once, with a number of threads, and print its numbers:
``python -m tests.runs.trained_twice THREADS``.
"""

import json
import sys

from workbench import Config, objectives
from workbench.runs.train import train

SMALL = {"train_images": 32, "val_images": 16, "test_images": 32, "batch_size": 32, "epochs": 2}


def main(threads: int) -> None:
    found = {}
    for name in objectives.names():
        result = train(Config(objective=name, threads=threads, **SMALL), progress=False)
        found[name] = {str(one.key): one.value for one in result.measurements}
        found[name]["history"] = [
            {key: value for key, value in epoch.items() if key != "seconds"} for epoch in result.history
        ]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
