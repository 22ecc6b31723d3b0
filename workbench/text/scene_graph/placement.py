"""Step 4, second half: phrases and participles are moved to the word they belong to by meaning, where the
parser hung them on the nearest one.

The rules follow the annotation guide: what is true of the nearer noun only stays there; what fits both
belongs to the verb, or without a verb to the first noun.
"""

from workbench.text.scene_graph.tree import Tree
from workbench.text.scene_graph.wording import known

RAISED = known.motion | known.placing


def placed(tree: Tree) -> Tree:
    """The tree with its phrases where they belong.

    Args:
        tree: one sentence, repaired; it is changed.
    """
    moves = dict.fromkeys(("acl", "relcl"), _move_participle) | {"prep": _move_phrase, "advcl": _lower}
    for i in range(len(tree.words)):
        if tree.deps[i] in moves:
            moves[tree.deps[i]](tree, i)
    return tree


def _move_phrase(tree: Tree, i: int) -> None:
    _on_the_wall(tree, i)
    _worn(tree, i)
    targets = tree.below(i, "pobj") or [s for c in tree.below(i, "pcomp") for s in tree.below(c, "nsubj")]
    if targets and tree.given(i) == "with":
        _move_with(tree, i, targets[0])
    elif targets:
        for _ in range(4):
            tree.hang(i, _above(tree, i, targets[0]), "prep")
        head = tree.heads[i]
        sees = tree.verb(head) and (tree.root(head) in known.seeing or tree.root(head) == "have")
        at = [p for p in tree.below(head, "prep") if p < i and tree.given(p) == "at"]
        seen = [*tree.below(head, "dobj"), *(t for p in at for t in tree.below(p, "pobj"))]
        for thing in [t for t in seen if t < i][-1:] if sees and tree.given(i) in known.placing else ():
            tree.hang(i, thing, "prep")


def _on_the_wall(tree: Tree, i: int) -> None:
    """A place that is part of what has a thing is the thing's place: "a building with graffiti on the walls";
    so is the place after a part of the body: "standing with her hand | on a fence".
    """
    noun, target = i - 1, tree.below(i, "pobj")[:1]
    if i == 0 or not target or tree.given(i) not in known.placing or tree.deps[noun] != "pobj":
        return
    before = tree.heads[noun]
    if tree.given(before) != "with" or tree.heads[before] != tree.heads[i]:
        return
    owner, place = tree.heads[i], tree.name(target[0])
    definite = any(tree.given(c) in ("the", "its") for c in tree.children[target[0]])
    part = tree.noun(owner) and not tree.animate(owner) and definite and place in known.parts | known.surfaces
    if part or (tree.name(noun) in known.body and _own(tree, noun)):
        tree.hang(i, noun, "prep")


def _worn(tree: Tree, i: int) -> None:
    """What someone is in is no place of a verb: "holding the hand of the girl | in the red dress"."""
    head, target = tree.heads[i], tree.below(i, "pobj")[:1]
    worn = target and tree.given(i) == "in" and tree.name(target[0]) in known.clothes
    if worn and i > 0 and tree.verb(head) and tree.animate(i - 1) and tree.root(head) not in known.clothing:
        tree.hang(i, i - 1, "prep")


def _above(tree: Tree, i: int, target: int) -> int:
    """What a phrase should hang on: a word further up, or its head where it is in its place."""
    head = tree.heads[i]
    over, dep = tree.heads[head], tree.deps[head]
    ahead = head > i and (dep == "amod" or (tree.noun(head) and dep in ("nsubj", "nsubjpass")))
    look = tree.tags[head].startswith("JJ") and dep in ("amod", "conj", "acl")
    free = tree.noun(head) and tree.given(i) in RAISED
    done = free and dep == "dobj" and tree.verb(over) and _of_the_verb(tree, i, target)
    if ahead or done or (look and tree.given(i) in known.placing):
        return over
    first = tree.heads[over]
    if free and dep == "pobj" and first != over and _of_the_first(tree, over, head, target):
        filled = tree.deps[first] == "acl" and tree.root(first) in known.filling
        return tree.heads[first] if filled else first
    return head


def _own(tree: Tree, target: int) -> bool:
    return any(tree.tags[c] == "PRP$" for c in tree.below(target, "poss"))


def _of_the_verb(tree: Tree, i: int, target: int) -> bool:
    """Whether a phrase after a verb's object says where or how it is done."""
    noun = tree.heads[i]
    place = tree.name(target) in known.places or _own(tree, target)
    moves = tree.given(i) in known.motion and not tree.animate(noun)
    # "performing a trick | on a bicycle"; but "a jump off a cliff" is a jump of that kind
    does = tree.root(tree.heads[noun]) in known.light and tree.given(i) in known.placing
    if tree.root(tree.heads[noun]) in known.light and moves:
        return False
    place |= does
    return tree.root(tree.heads[noun]) not in known.seeing and (place or moves)


def _of_the_first(tree: Tree, before: int, noun: int, target: int) -> bool:
    """Whether the second of two phrases says something of what the first one is about."""
    first, name = tree.given(before), tree.name(target)
    pronoun = tree.tags[target].startswith("PRP") and tree.given(target) not in known.reflexive
    if pronoun or (tree.animate(noun) and (name in known.clothes or name in known.colours)):
        return False
    if first == "of":
        return tree.name(tree.heads[before]) not in known.parts
    if first == "with":
        filled = tree.verb(tree.heads[before]) and not tree.animate(noun)
        brought = name in known.places and (
            tree.animate(noun) or tree.name(noun) in known.clothes | known.body | known.portable
        )
        return (filled or brought) and not _own(tree, target) and name not in known.views
    return True


def _move_with(tree: Tree, i: int, target: int) -> None:
    """Move a phrase with "with": clothing, body parts and surroundings go to the subject, tools and
    companions to the verb.
    """
    head, name, around = tree.heads[i], tree.name(target), _surrounding(tree, target)
    while around and tree.deps[head] in ("pobj", "prep", "dobj") and not tree.verb(head):
        head = tree.heads[head]
    if tree.noun(head) and head != tree.heads[i]:
        tree.hang(i, head, "prep")
    elif tree.verb(head):
        described = [tree.heads[head]] if tree.deps[head] == "acl" else []
        subjects = [s for s in tree.below(head, "nsubj", "nsubjpass") if s < i] or described
        things = [t for t in tree.below(head, "dobj") if t < i]
        held = things and tree.root(head) in known.holding and tree.name(things[-1]) in known.containers
        if things and ((name in known.body and not _own(tree, target)) or (held and i == things[-1] + 1)):
            tree.hang(i, things[-1], "prep")
        elif name in known.clothes and tree.animate(i - 1):
            tree.hang(i, i - 1, "prep")
        elif subjects and (around or name in known.clothes or (not things and name in known.body)):
            tree.hang(i, subjects[0], "prep")
    elif tree.deps[head] == "pobj" and tree.noun(head):
        over = tree.heads[tree.heads[head]]
        moves = name in known.animate | known.portable and (tree.verb(over) or tree.animate(over))
        if moves and tree.name(head) in known.places:
            tree.hang(i, over, "prep")


def _surrounding(tree: Tree, target: int) -> bool:
    """Whether a phrase tells what is around: "with a church behind him", "with trees in the background"."""
    clause = [tree.heads[target]] if tree.deps[target] == "nsubj" else []
    ends = [t for own in (target, *tree.below(target, "acl"), *clause) for t in tree.phrases(own)]
    # A towel around his neck is about him; what is in his hand is carried.
    worn = (t for t in ends if _own(tree, t) and tree.name(t) in (known.body | known.clothes) - known.grips)
    return any(tree.tags[t].startswith("PRP") or tree.given(t) in known.views for t in ends) or any(worn)


def _lower(tree: Tree, i: int) -> None:
    """What follows a person or an animal at once is about them: "a woman holding a child | looking at
    giraffes".
    """
    after = i > 0 and tree.deps[i - 1] in ("dobj", "pobj") and tree.animate(i - 1)
    if after and tree.tags[i] == "VBG" and tree.root(i) not in known.manners:
        tree.hang(i, i - 1, "acl")


def _move_participle(tree: Tree, i: int) -> None:
    """Move a participle from what cannot do it: "a man in a shirt holding a bat"."""
    head, deed = tree.heads[i], tree.root(i)
    over = tree.heads[head]
    held = tree.deps[head] == "dobj" and tree.root(over) in known.holding
    part = tree.given(over) == "of" and tree.deps[head] == "pobj"
    # What is worn, held, or in something that stands does not stand or sit by itself.
    idle = held or part or tree.name(head) in known.clothes
    does = deed in known.deeds or (deed in known.postures and idle)
    if tree.animate(head) or not does or tree.tags[i] not in ("VBG", "VBN"):
        return
    while tree.deps[head] == "conj" and tree.noun(tree.heads[head]):
        head = tree.heads[head]
    over = tree.heads[head]
    above = tree.heads[over] if tree.deps[head] == "pobj" else over
    if tree.noun(above) and (tree.animate(above) or tree.given(over) == "of"):
        tree.hang(i, above, "acl")
    elif tree.verb(above):
        tree.hang(i, above, "advcl")
