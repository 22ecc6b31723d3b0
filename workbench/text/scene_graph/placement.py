"""Step 4, second half: phrases and participles are moved to the word they belong to by meaning, where the
parser hung them on the nearest one.

The rules follow the annotation guide: what is true of the nearer noun only stays there; what fits both
belongs to the verb, or without a verb to the first noun.
"""

from workbench.text.scene_graph.tree import Tree
from workbench.text.scene_graph.wording import known

MODIFIERS = ("acl", "relcl")
RAISED = known.motion | known.placing


def placed(tree: Tree) -> Tree:
    """The tree with its phrases where they belong.

    Args:
        tree: one sentence, repaired; it is changed.
    """
    moves = dict.fromkeys(MODIFIERS, _move_participle) | {"prep": _move_phrase, "advcl": _lower}
    for i in range(len(tree.words)):
        if tree.deps[i] in moves:
            moves[tree.deps[i]](tree, i)
    return tree


def _move_phrase(tree: Tree, i: int) -> None:
    if _on_the_wall(tree, i):
        return
    _worn(tree, i)
    targets = tree.below(i, "pobj") or [s for c in tree.below(i, "pcomp") for s in tree.below(c, "nsubj")]
    if targets and tree.given(i) == "with":
        _move_with(tree, i, targets[0])
    elif targets and not _of_a_part(tree, i, targets[0]):
        for _ in range(4):
            above = _above(tree, i, targets[0])
            if above == tree.heads[i]:
                break
            tree.hang(i, above, "prep")
        head = tree.heads[i]
        sees = tree.verb(head) and (tree.root(head) in known.seeing or tree.root(head) == "have")
        at = [p for p in tree.below(head, "prep") if p < i and tree.given(p) == "at"]
        seen = [*tree.below(head, "dobj"), *(t for p in at for t in tree.below(p, "pobj"))]
        people = (
            any(tree.name(s) in known.persons for s in tree.below(head, "nsubj")) or tree.deps[head] == "acl"
        )
        dish = tree.verb(head) and _in_a_dish(tree, i, targets[0]) and tree.root(head) not in known.putting
        sees |= dish and people and not any(tree.deps[c] == "prep" for c in tree.children[head] if c < i)
        for thing in [t for t in seen if t < i][-1:] if sees and tree.given(i) in known.placing else ():
            tree.hang(i, thing, "prep")
        # A room is above nothing: "a bathroom with a mirror | above a sink".
        head = tree.heads[i]
        within = [p for p in tree.below(head, "prep") if p < i and tree.given(p) == "with"]
        if tree.name(head) in known.places and tree.given(i) in known.placing - {"in", "on", "at", "during"}:
            for thing in [t for p in within for t in tree.below(p, "pobj")][-1:]:
                last = max([thing, *(c for c in tree.below(thing, "conj") if c < i)])
                tree.hang(i, thing if last == i - 1 else last, "prep")


def _on_the_wall(tree: Tree, i: int) -> bool:
    """A place that is part of what has a thing is the thing's place: "a building with graffiti on the walls";
    so is the place after a part of the body: "standing with her hand | on a fence", and "it" after what is
    there: "with flowers | in it". Returns whether the phrase is where it belongs.
    """
    noun, target = i - 1, tree.below(i, "pobj")[:1]
    # "with its legs up | in the air"
    noun = i - 2 if i > 1 and tree.deps[noun] == "advmod" and tree.heads[noun] == i - 2 else noun
    if i == 0 or not target or tree.given(i) not in known.placing or tree.deps[noun] != "pobj":
        return False
    before = tree.heads[noun]
    if tree.given(before) != "with" or tree.heads[i] not in (tree.heads[before], noun):
        return False
    owner, place = tree.heads[i], tree.name(target[0])
    definite = any(tree.given(c) in ("the", "its") for c in tree.children[target[0]])
    part = tree.noun(owner) and not tree.animate(owner) and definite and place in known.parts | known.surfaces
    found = part or (tree.name(noun) in known.body and _own(tree, noun)) or tree.given(target[0]) == "it"
    if found:
        tree.hang(i, noun, "prep")
    return found


def _worn(tree: Tree, i: int) -> None:
    """What someone is in, or on, is no place of a verb: "holding the hand of the girl | in the red dress",
    "leaning on a wall | in a cap", "filled with men | on bikes".
    """
    head, target = tree.heads[i], tree.below(i, "pobj")[:1]
    if i == 0 or not target or not tree.verb(head) or tree.root(head) in known.clothing:
        return
    name, doers = tree.name(target[0]), [s for s in tree.below(head, "nsubj") if s < i and tree.animate(s)]
    rides = tree.root(head) in known.moving | known.holding | known.light or not tree.animate(i - 1)
    if tree.given(i) == "in" and name in known.clothes:
        for wearer in [i - 1] if tree.animate(i - 1) else doers[:1]:
            tree.hang(i, wearer, "prep")
    elif tree.given(i) == "on" and name in known.ridden and not rides:
        tree.hang(i, i - 1, "prep")


def _of_a_part(tree: Tree, i: int, target: int) -> bool:
    """A place after what a body part does is where its owner is: "with her arms crossed | in a street"."""
    verb = tree.heads[i]
    over = tree.heads[verb]
    part = tree.deps[verb] == "pcomp" and tree.given(over) == "with" and tree.given(i) in known.placing
    bodies = [s for s in tree.below(verb, "nsubj", "nsubjpass") if tree.name(s) in known.body]
    if part and bodies and tree.name(target) in known.places and not _own(tree, target):
        owner = tree.heads[over]
        doing = tree.deps[owner] == "nsubj" and tree.verb(tree.heads[owner])
        tree.hang(i, tree.heads[owner] if doing else owner, "prep")
        return True
    return False


def _above(tree: Tree, i: int, target: int) -> int:
    """What a phrase should hang on: a word further up, or its head where it is in its place."""
    head = tree.heads[i]
    over, dep = tree.heads[head], tree.deps[head]
    fills = dep == "acl" and tree.root(head) in known.filling and tree.phrases(head, before=i)
    if fills and tree.given(i) in known.placing and tree.noun(over):
        # "a plate topped with cheese | on a table"
        return over
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


def _in_a_dish(tree: Tree, i: int, target: int) -> bool:
    """Whether a phrase tells where food or the like is, not who has it: "holding two apples | on a plate"."""
    dish = tree.name(target) in known.containers - known.places and tree.given(i) in ("in", "on")
    return dish and not _own(tree, target)


def _own(tree: Tree, target: int) -> bool:
    return any(tree.tags[c] == "PRP$" for c in tree.below(target, "poss"))


def _of_the_verb(tree: Tree, i: int, target: int) -> bool:
    """Whether a phrase after a verb's object says where or how it is done."""
    noun = tree.heads[i]
    if _in_a_dish(tree, i, target):
        return False
    place = tree.name(target) in known.places or _own(tree, target)
    moves = tree.given(i) in known.motion and not tree.animate(noun)
    # "performing a trick | on a bicycle"; but "a jump off a cliff" is a jump of that kind
    does = tree.root(tree.heads[noun]) in known.light and tree.given(i) in known.placing
    if tree.root(tree.heads[noun]) in known.light and moves:
        return False
    place |= does or tree.given(i) in ("near", "beside", "by")
    return tree.root(tree.heads[noun]) not in known.seeing and (place or moves)


def _of_the_first(tree: Tree, before: int, noun: int, target: int) -> bool:
    """Whether the second of two phrases says something of what the first one is about."""
    first, name = tree.given(before), tree.name(target)
    pronoun = tree.tags[target].startswith("PRP") and tree.given(target) not in known.reflexive
    if pronoun or (tree.animate(noun) and (name in known.clothes or name in known.colours)):
        return False
    # "beside a man | on a bike"
    if tree.animate(noun) and name in known.ridden and first not in ("of", "with"):
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
    if _of_it(tree, i, target):
        return
    while around and tree.deps[head] in ("pobj", "prep", "dobj") and not tree.verb(head):
        head = tree.heads[head]
    # "going down a slide | with her arms up"
    if name in known.body and _own(tree, target) and tree.deps[head] == "dobj" and not tree.animate(head):
        head = tree.heads[head]
        tree.hang(i, head, "prep")
    if tree.noun(head) and head != tree.heads[i]:
        tree.hang(i, head, "prep")
    elif tree.verb(head) and tree.root(head) not in known.filling:
        described = [tree.heads[head]] if tree.deps[head] == "acl" else []
        subjects = [s for s in tree.below(head, "nsubj", "nsubjpass") if s < i] or described
        things = [t for t in tree.below(head, "dobj") if t < i]
        so = any(c > target for c in tree.below(target, "advmod", "amod", "acl"))
        held = things and tree.root(head) in known.holding and tree.name(things[-1]) in known.containers
        if things and (
            (name in known.body - known.grips and not _own(tree, target)) or (held and i == things[-1] + 1)
        ):
            tree.hang(i, things[-1], "prep")
        elif name in known.clothes and tree.animate(i - 1):
            tree.hang(i, i - 1, "prep")
        elif subjects and (around or name in known.clothes or ((so or not things) and name in known.body)):
            tree.hang(i, subjects[0], "prep")
    elif tree.deps[head] == "pobj" and tree.noun(head):
        over = tree.heads[tree.heads[head]]
        moves = name in known.animate | known.portable and (tree.verb(over) or tree.animate(over))
        has = name in known.body and tree.name(head) in known.clothes
        if (has and tree.animate(over)) or (
            moves and (_own(tree, target) or tree.name(head) in known.places)
        ):
            tree.hang(i, over, "prep")
    if tree.deps[head] == "dobj" and name in known.animate and tree.root(tree.heads[head]) in known.light:
        # "doing a trick | with a dog"
        tree.hang(i, tree.heads[head], "prep")


def _of_it(tree: Tree, i: int, target: int) -> bool:
    """Who does something is not "it": in "a man holding a board with a fish | on it" the board is."""
    verb = tree.heads[i]
    verb = tree.heads[verb] if tree.deps[verb] == "dobj" else verb
    if not any(tree.given(t) == "it" for t in tree.phrases(target)) or not tree.verb(verb):
        return False
    doers = [*tree.below(verb, "nsubj"), *([tree.heads[verb]] if tree.deps[verb] in MODIFIERS else [])]
    things = [t for t in tree.below(verb, "dobj") if t < i and not tree.animate(t)]
    if things and any(map(tree.animate, doers)):
        tree.hang(i, things[-1], "prep")
        return True
    return False


def _surrounding(tree: Tree, target: int) -> bool:
    """Whether a phrase tells what is around: "with a church behind him", "with trees in the background"."""
    clause = [tree.heads[target]] if tree.deps[target] == "nsubj" else []
    owners = (target, *tree.below(target, "acl", "conj"), *clause)
    ends = [t for own in owners for t in tree.phrases(own)]
    # A towel around his neck is about him; what is in his hand is carried.
    worn = (t for t in ends if _own(tree, t) and tree.name(t) in (known.body | known.clothes) - known.grips)
    return any(tree.tags[t].startswith("PRP") or tree.given(t) in known.views for t in ends) or any(worn)


def _lower(tree: Tree, i: int) -> None:
    """What follows a person or an animal at once is about them: "a woman holding a child | looking at
    giraffes".
    """
    # "with its tongue hanging out | running on grass"
    over = tree.heads[tree.heads[i]]
    part = (
        tree.deps[tree.heads[i]] in MODIFIERS and tree.name(over) in known.body and tree.deps[over] == "pobj"
    )
    if part and tree.root(i) in known.moving | known.deeds:
        tree.hang(i, tree.heads[tree.heads[over]], "acl")
        return
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
    # A beak does not fly.
    does |= deed in known.moving and tree.name(head) in known.body and tree.deps[head] == "pobj"
    # What is painted did not paint.
    does &= tree.tags[i] == "VBG" or (tree.tags[i] == "VBN" and deed in known.postures)
    # A party does not clap its hands.
    stays = tree.name(head) in known.places and deed not in known.stative | known.filling
    does |= tree.tags[i] == "VBG" and stays and bool(tree.below(i, "dobj"))
    if tree.animate(head) or not does:
        return
    while tree.deps[head] == "conj" and tree.noun(tree.heads[head]):
        head = tree.heads[head]
    over = tree.heads[head]
    above = tree.heads[over] if tree.deps[head] == "pobj" else over
    worn = tree.given(over) == "in" and tree.name(head) in known.clothes
    if tree.noun(above) and (tree.animate(above) or worn or tree.given(over) == "of"):
        tree.hang(i, above, "acl")
    elif tree.verb(above) and tree.deps[head] != "attr":
        tree.hang(i, above, "advcl")
