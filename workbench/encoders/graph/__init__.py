"""Graph: the scene graph of a caption -> entities (objects with attributes) -> objects in relation -> pooling
-> unit vector.

A concept encoder reads the phrases. Attention within each object's star of attributes makes an *entity* of
it; the relations of an entity are added as edge context; attention among the objects of a caption and GPO
pooling make the caption.

Source: Pham et al., "Composing object relations and attributes for image-text matching" (CORA), CVPR 2024,
section 3.3.
Departures: the layer is that of the released code (residual, LayerNorm, a value matrix of its own), and edge
context is one mean over both roles; ``residual=False`` and ``context="roles"`` are the printed forms. Object
names come from the parser as lemmas, so that singular and plural are exchanged only when asked. The released
code draws attributes and masks words of relations without ever deleting one: ``draw_attributes`` and
``mask_relations`` of ``augmentation``.
"""

from collections.abc import Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.encoders._open_clip import fitting_model
from workbench.encoders.base import Encoder
from workbench.encoders.graph.concepts import Augmentation, Concepts, reader_of
from workbench.encoders.graph.layers import (
    GraphAttention,
    Graphs,
    drop_at_random,
    edge_context,
    limit_attributes,
    pack,
    same_caption,
    segment_mean,
)
from workbench.encoders.packed import PackedIndex
from workbench.encoders.pooling import POOLINGS, PoolingName, position_code
from workbench.encoders.towers import Towers
from workbench.io import cache_folder
from workbench.records import Batch, Embedding, require
from workbench.registry import Count, Dropped, Group, Natural


@dataclass(frozen=True)
class Structure:
    """What attends to what.

    Args:
        attribute_layers, object_layers: layers within the stars, and among the objects.
        heads: attention heads.
        context: ``"joint"`` = one mean over a node's relations, ReLU, dropout and LayerNorm (released code);
            ``"roles"`` = a mean for each role (the paper).
        residual: of the attention layers; ``False`` is the printed equation.
        joint: objects and attributes in one graph with all these layers, instead of two stages (an ablation
            of the paper).
        fully_connected: the nodes of a caption are linked whether related or not (an ablation of the paper).
        position: add a code of an object's place in the caption.
    """

    attribute_layers: Natural = 1
    object_layers: Natural = 2
    heads: Natural = 16
    context: Literal["joint", "roles"] = "joint"
    residual: bool = True
    joint: bool = False
    fully_connected: bool = False
    position: bool = True


CODE = 16
# the most attributes of an object that are read
ATTRIBUTES = 4
# those that a drawing chooses from
CHOICE = 16
VALUE_DROPOUT = 0.05


class Graph(Encoder):
    """Encodes captions from their scene graphs, ``batch.signals["graph_tokens"]``.

    ``entities`` are the objects with their attributes, ``owner`` their captions, ``labels`` what they say;
    ``parts`` are the objects in relation.

    Args:
        vocabulary: words of the fitted signal, for concepts of kind ``"gru"``.
        pretrained: word vectors (``"glove-package"`` or a GloVe text file), or the weights of the text tower;
            ``""`` = random.
        concepts: options of ``Concepts``; structure: of ``Structure``; augmentation: of ``Augmentation``.
        embed_dim: ``D`` of the embedding, a multiple of the heads; 0 = the width of the concepts.
        dropout: of concepts, edges, and between layers.
        pooling: ``"gpo"``, ``"max"`` or ``"mean"``.

    Raises:
        TypeError: an unknown option; ValueError: a value outside its range.
    """

    encodes_text: ClassVar[bool] = True
    output_fields = ("parts", "entities")

    def __init__(
        self,
        *,
        vocabulary: Many[str] | None = None,
        pretrained: str = "",
        concepts: Annotated[Mapping[str, Any] | None, Group(Concepts)] = None,
        structure: Annotated[Mapping[str, Any] | None, Group(Structure)] = None,
        augmentation: Annotated[Mapping[str, Any] | None, Group(Augmentation)] = None,
        embed_dim: Count = 1024,
        dropout: Dropped = 0.15,
        pooling: PoolingName = "gpo",
    ) -> None:
        super().__init__()
        self.structure = Structure(**(structure or {}))
        self.augmentation = Augmentation(**(augmentation or {}))
        chosen = Concepts(**(concepts or {}))
        self.reader = reader_of(chosen, vocabulary, pretrained, self.augmentation)
        width = self.reader.width
        kinds = ("entities", "relations")
        self.embed_dim = embed_dim = embed_dim or width
        require(
            embed_dim == width or not chosen.whole,
            f"graph: the tower's vectors have width {width}; set embed_dim=0, or whole=False",
        )
        # 0, so that a model begins as the tower that it starts from: the graph's own weights are random then.
        self.gate = nn.Parameter(torch.zeros(())) if chosen.whole else None
        self.concept = nn.ModuleDict({kind: nn.Linear(width, embed_dim) for kind in kinds})
        self.stars = self._layers(self.structure.attribute_layers, 0.0)
        self.links = self._layers(self.structure.object_layers, VALUE_DROPOUT)
        self.active, self.passive = (nn.Linear(2 * embed_dim, embed_dim) for _ in range(2))
        self.context_norm = nn.LayerNorm(embed_dim) if self.structure.context == "joint" else None
        self.code = nn.Linear(CODE, embed_dim) if self.structure.position else None
        self.code_norm = nn.LayerNorm(embed_dim) if self.structure.position else None
        self.dropout = nn.Dropout(dropout)
        self.pooling = POOLINGS[pooling]()

    @classmethod
    def text_features(
        cls,
        *,
        concepts: Mapping[str, Any] | None = None,
        augmentation: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> dict[str, dict[str, Any]]:
        """Return ``graph_tokens``, its phrases as this concept encoder reads them, kept beside the image
        features; maybe captions.
        """
        chosen = Concepts(**(concepts or {}))
        reads: dict[str, Any] = {}
        if chosen.kind == "features":
            frozen = chosen.backbone == "frozen"
            reads = {"features": chosen.name} if frozen else {"tokens": {"model": chosen.name}}
        if chosen.kind == "towers":
            reads = Towers.text_features(model=chosen.name)
        drawn = {"attributes": CHOICE} if Augmentation(**(augmentation or {})).draw_attributes else {}
        graphs = {**reads, **drawn, "cache": str(cache_folder())}
        return {"graph_tokens": graphs, **(reads if chosen.whole else {})}

    @classmethod
    def complete(cls, options: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Name the model with the activation that its weights need, since the tag is not kept; and
        where weights follow, those of a text encoder that trains are among them.
        """
        done = super().complete(options, facts)
        concepts = options.get("concepts") or {}
        if concepts.get("backbone") == "trained" and "pretrained" in facts:
            return done | {"concepts": {**concepts, "backbone": "random"}}
        if concepts.get("kind") != "towers":
            return done
        form = fitting_model(str(concepts["name"]), str(options.get("pretrained", "")))
        return done | ({"concepts": {**concepts, "name": form}} if form != concepts["name"] else {})

    def encode_texts(self, batch: Batch) -> Embedding:
        """Embed the captions."""
        signal = batch.signals["graph_tokens"]
        graphs = pack(signal)
        if self.training:
            p = self.augmentation
            graphs = drop_at_random(graphs, objects=p.objects, attributes=p.attributes, relations=p.relations)
        graphs = limit_attributes(graphs, ATTRIBUTES, at_random=self.training)
        attributes, stars = graphs.stars()
        phrases = {"objects": graphs.objects, "attributes": attributes, "relations": graphs.relations}
        rows = {kind: torch.searchsorted(signal["phrases"], ids) for kind, ids in phrases.items()}
        read = self.reader(signal["words"], rows)
        nodes = self._concept_vectors("entities", torch.cat([read["objects"], read["attributes"]]))
        relations = self._concept_vectors("relations", read["relations"])
        if self.structure.joint:
            entities = objects = self._attend_jointly(graphs, nodes, stars, relations)
        else:
            entities = self._attend(self.stars, nodes, stars)[: len(graphs.objects)]
            links = same_caption(graphs.owner) if self.structure.fully_connected else graphs.links()
            objects = self._attend(self.links, self._contextualise(graphs, entities, relations), links)
        index = PackedIndex(graphs.mask)
        parts = index.pad(objects)
        mean = normalize(self.pooling(parts, index.mask), dim=-1)
        entities = normalize(entities, dim=-1)
        if self.gate is not None:
            mean = normalize(self.reader.read(batch.signals["tokens"]) + self.gate * mean, dim=-1)
            entities = normalize(_entity_vectors(graphs, read) + self.gate * entities, dim=-1)
        return Embedding(
            mean,
            parts=parts,
            mask=index.mask,
            entities=entities,
            owner=graphs.owner,
            labels=torch.cat([graphs.objects[:, None], graphs.attributes], dim=1),
        )

    def _layers(self, count: int, value_dropout: float) -> nn.ModuleList:
        """Return layers of graph attention."""
        heads = self.structure.heads
        residual = self.structure.residual
        return nn.ModuleList(
            GraphAttention(self.embed_dim, heads=heads, residual=residual, value_dropout=value_dropout)
            for _ in range(count)
        )

    def _concept_vectors(self, kind: str, vectors: Tensor) -> Tensor:
        concepts: Tensor = self.dropout(self.concept[kind](vectors).relu())
        return concepts

    def _attend(self, layers: nn.ModuleList, nodes: Tensor, edges: Tensor) -> Tensor:
        for number, layer in enumerate(layers):
            nodes = layer(self.dropout(nodes) if number else nodes, edges)
        return nodes

    def _contextualise(self, graphs: Graphs, entities: Tensor, relations: Tensor) -> Tensor:
        """Return entities with the code of their place and what their relations say."""
        if self.code is not None and self.code_norm is not None:
            mask = graphs.mask
            code = position_code(mask.shape[1], CODE).to(entities).expand(len(mask), -1, -1)
            entities = self.code_norm(entities + self.dropout(self.code(code[mask])))
        # As the object of a relation an entity receives the relation and itself.
        pairs = torch.cat([relations, entities[graphs.thing]], dim=1)
        sides = self.active(pairs), self.passive(pairs)
        if self.context_norm is not None:
            sides = self.dropout(sides[0].relu()), self.dropout(sides[1].relu())
        context = edge_context(
            *sides, graphs.subject, graphs.thing, len(entities), mean=self.structure.context
        )
        entities = entities + context
        return entities if self.context_norm is None else self.dropout(self.context_norm(entities))

    def _attend_jointly(self, graphs: Graphs, nodes: Tensor, stars: Tensor, relations: Tensor) -> Tensor:
        """Attend over objects and attributes in one graph; returns the objects."""
        objects = self._contextualise(graphs, nodes[: len(graphs.objects)], relations)
        holder = graphs.attributes.nonzero(as_tuple=True)[0]
        loops = torch.arange(len(nodes), device=nodes.device).expand(2, -1)
        edges = torch.unique(torch.cat([stars, graphs.links(), loops], dim=1), dim=1)
        if self.structure.fully_connected:
            edges = same_caption(torch.cat([graphs.owner, graphs.owner[holder]]))
        both = nn.ModuleList([*self.stars, *self.links])
        return self._attend(both, torch.cat([objects, nodes[len(objects) :]]), edges)[: len(objects)]

    def text_backbone(self) -> dict[str, int]:
        """Return the depth of pre-trained word vectors, or of the text tower's parameters, by name."""
        return {f"reader.{name}": depth for name, depth in self.reader.depths().items()}


def _entity_vectors(graphs: Graphs, read: Mapping[str, Tensor]) -> Tensor:
    """Return ``(N, D)`` unit vectors of the entities, each the mean of what its object and its attributes
    mean.
    """
    objects = torch.arange(len(graphs.objects), device=graphs.objects.device)
    holder = torch.cat([objects, graphs.attributes.nonzero(as_tuple=True)[0]])
    phrases = torch.cat([read["objects"], read["attributes"]])
    return normalize(segment_mean(phrases, holder, len(objects)), dim=-1)


MEMBER = Graph
