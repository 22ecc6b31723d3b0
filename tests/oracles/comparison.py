"""Slow comparisons of two runs, written from their definitions and sharing no code with the package."""

import itertools
import math


def sign_test(wins, losses):
    """Sum of the binomial probabilities of all splits that are at least as uneven."""
    n = wins + losses
    uneven = abs(wins - losses)
    return sum(math.comb(n, k) for k in range(n + 1) if abs(2 * k - n) >= uneven) / 2**n


def holm(p):
    """Step down: the smallest is multiplied by m, the next by m - 1, and none falls below one before it."""
    out, largest = {}, 0.0
    for step, place in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, p[place] * (len(p) - step)))
        out[place] = largest
    return [out[i] for i in range(len(p))]


def every_resample(difference, groups):
    """Mean difference of every possible draw of groups with replacement, each as likely as any other."""
    names = sorted(set(groups))
    members = {name: [d for d, g in zip(difference, groups) if g == name] for name in names}
    out = []
    for drawn in itertools.product(names, repeat=len(names)):
        values = [value for name in drawn for value in members[name]]
        out.append(sum(values) / len(values))
    return out


def rsum(i2t, t2i):
    """Six hit rates, one query at a time."""
    return sum(sum(rank <= k for rank in ranks) / len(ranks) for ranks in (i2t, t2i) for k in (1, 5, 10))
