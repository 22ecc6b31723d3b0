"""Objects, attributes and relations: one record for captions, scenes, parser and editor."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class SceneGraph:
    """Objects, attributes and relations of one caption or one scene.

    Args:
        objects: head lemma of each node, e.g. ``("dog", "tree")``. Two nodes may have the same lemma.
        attributes: ``(node, attribute)`` pairs, e.g. ``((0, "brown"),)``; a count is an attribute
            (``"two"``).
        relations: ``(subject node, relation, object node)`` triples, e.g. ``((0, "left of", 1),)``.

    Raises:
        ValueError: an attribute or a relation names a node that does not exist.
    """

    objects: tuple[str, ...]
    attributes: tuple[tuple[int, str], ...] = ()
    relations: tuple[tuple[int, str, int], ...] = ()

    def __post_init__(self) -> None:
        used = [node for node, _ in self.attributes]
        for subject, _, thing in self.relations:
            used += (subject, thing)
        bad = [node for node in used if not 0 <= node < len(self.objects)]
        if bad:  # the message only then: graphs are made by the thousand a second
            count = f"there are only {len(self.objects)} objects {self.objects}"
            raise ValueError(f"scene graph: node {bad[0]} is used, {count}")

    @classmethod
    def from_lists(cls, objects: Iterable[str], attributes: Iterable[Any], relations: Iterable[Any]) -> Self:
        """Return a graph from lists, as JSON holds them."""
        return cls(tuple(objects), tuple(map(tuple, attributes)), tuple(map(tuple, relations)))

    def tuples(self) -> frozenset[tuple[str, ...]]:
        """Return the graph as a set: ``(object,)``, ``(object, attribute)`` and ``(subject, relation,
        object)``.
        """
        names = self.objects
        objects = {(name,) for name in names}
        attributes = {(names[node], attribute) for node, attribute in self.attributes}
        relations = {(names[subject], relation, names[thing]) for subject, relation, thing in self.relations}
        return frozenset(objects | attributes | relations)
