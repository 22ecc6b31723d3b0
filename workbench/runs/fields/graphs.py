"""What the scene graph of a caption tells: how many things, attributes, counts, colours, and places."""

from collections.abc import Callable, Container

from workbench.records import SceneGraph
from workbench.runs.fields.base import FieldExtractor, Material


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# the basic terms of colour of English (B. Berlin and P. Kay, Basic Color Terms, 1969), and common others
COLOURS = _word_set("""
    black white red green yellow blue brown purple pink orange grey gray gold golden silver beige tan teal
    turquoise violet maroon navy
""")
COUNTS = _word_set("""
    one two three four five six seven eight nine ten eleven twelve dozen several many few pair both
""")
# the words of place in relations such as "sit on" or "left of"
PLACES = _word_set("""
    left right above below under underneath over on in inside outside behind beside next near between around
    front top bottom at by against across along beneath atop within
""")


def _graph_counter(part: Callable[[SceneGraph], float]) -> Callable[[Material], list[float]]:
    """Return what counts something in each graph."""
    return lambda material: [part(graph) for graph in material.graphs]


def _attributes_among(words: Container[str]) -> Callable[[SceneGraph], float]:
    """Return what counts the attributes of a graph that are among some words."""
    return lambda graph: sum(attribute in words for _, attribute in graph.attributes)


def count_places(graph: SceneGraph) -> int:
    """Count the relations that say where something is.

    >>> count_places(SceneGraph(("cat", "mat"), (), ((0, "sit on", 1), (0, "eat", 1))))
    1
    """
    return sum(not PLACES.isdisjoint(relation.split()) for _, relation, _ in graph.relations)


def count_numbers(graph: SceneGraph) -> int:
    """Count the attributes that say how many there are.

    >>> count_numbers(SceneGraph(("cat",), ((0, "two"), (0, "red"))))
    1
    """
    return sum(attribute in COUNTS or attribute.isdigit() for _, attribute in graph.attributes)


def _graph_field(name: str, about: str, part: Callable[[SceneGraph], float]) -> FieldExtractor:
    return FieldExtractor(name, about, "caption", "number", _graph_counter(part), "graphs")


MEMBER = (
    _graph_field("things", "number of things that it names", lambda graph: len(graph.objects)),
    _graph_field("attributes", "number of attributes", lambda graph: len(graph.attributes)),
    _graph_field("counts", "number of counts, such as two", count_numbers),
    _graph_field("colours", "number of colours", _attributes_among(COLOURS)),
    _graph_field("relations", "number of relations between things", lambda graph: len(graph.relations)),
    _graph_field("places", "number of relations in space, such as left of", count_places),
)
