"""The benchmarks by name: each attribute is the loader of the YAML file of its name beside this one."""

from benchmark_sets.declaration import names
from benchmark_sets.loading import make_loader
from workbench.data.loader import Loader


def __getattr__(name: str) -> Loader:
    if name not in names():
        raise AttributeError(name)
    return make_loader(name)
