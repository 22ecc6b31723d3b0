"""Step 4: phrases are moved to the word they belong to by meaning, where the parser hung them on another.

The parser has learnt where most phrases belong; what is left for rules is what the guide decides by kinds of
things: what is worn, parts of the body and of buildings, surroundings, and "it".
"""

from caption_graphs.tree import Tree
from caption_graphs.vocabulary import known

MODIFIERS = ("acl", "relcl")
# relations of words that stay where they are, but for participles and "for"
STILL = frozenset({"ROOT", "amod", "aux", "cc", "compound", "det", "nsubj", "nummod", "prt", "punct"})
NOUNS = {"VB": "NN", "VBP": "NN", "VBZ": "NNS"}  # by the form of the verb that taggers take them for


def placed(tree: Tree) -> Tree:
    """The tree with its phrases where they belong.

    Args:
        tree: one sentence; it is changed.
    """
    for i in range(len(tree.words)):
        if tree.deps[i] in STILL and tree.tags[i] != "VBG" and tree.given(i) != "for":
            continue
        if tree.deps[i] == "acl":
            _done(tree, i)
            _stuck_out(tree, i)
        elif tree.given(i) == "for":
            _waited_for(tree, i)
        elif tree.noun(i) and tree.deps[i] == "poss":
            _owned(tree, i)
        elif tree.deps[i] == "relcl" and tree.given(i) == "includes":
            _included(tree, i)
        if tree.tags[i] == "VBG":
            _gerund(tree, i)
        if tree.tags[i] in NOUNS and tree.deps[i] == "conj" and not tree.children[i]:
            # "eats bananas, papaya, and | plantains"
            listed = tree.deps[tree.first(i)] in ("dobj", "pobj")
            tree.tags[i] = NOUNS[tree.tags[i]] if listed else tree.tags[i]
        if tree.noun(i) and tree.deps[i] in ("dep", "conj"):
            _listed(tree, i)
        if tree.deps[i] == "prep" and not _on_the_wall(tree, i):
            _engaged(tree, i)
            _worn(tree, i)
            _seen(tree, i)
            _stands(tree, i)
            _of_what_is_held(tree, i)
            targets = tree.below(i, "pobj") or [
                s for c in tree.below(i, "pcomp") for s in tree.below(c, "nsubj")
            ]
            if targets and tree.given(i) == "with":
                _move_with(tree, i, targets[0])
    return tree


def _gerund(tree: Tree, i: int) -> None:
    """What somebody does, "is on the ground | growling", or a thing, "a street that has writing on it"."""
    if i and tree.deps[i - 1] == "aux" and tree.given(i - 1) in known.have:
        _had(tree, i)
    if tree.deps[i] == "pobj" and tree.noun(i - 1) and i > 1:
        above = tree.heads[tree.heads[i]]
        if tree.heads[i - 1] == tree.heads[i] and tree.verb(above):
            tree.hang(i, above, "advcl")
    if tree.tags[i] == "VBG" and tree.deps[i] == "dobj" and tree.root(tree.heads[i]) == "have":
        tree.tags[i] = "NN"


def _had(tree: Tree, i: int) -> None:
    """What somebody has is a thing, whatever its end: "a wall that has | writing on it"."""
    verb, above, dep = i - 1, tree.heads[i], tree.deps[i]
    for c in [c for c in tree.children[i] if c != verb and tree.deps[c] != "prep"]:
        tree.heads[c] = verb
    tree.heads[verb], tree.deps[verb] = (verb if above == i else above), dep
    tree.heads[i], tree.deps[i], tree.tags[i] = verb, "dobj", "NN"
    tree.link()


def _listed(tree: Tree, i: int) -> None:
    """A list goes on with the noun before its comma: "a kitchen with a stove, | a can and an oven", "with red
    hair and | a suit"; and who is joined is joined to whoever stands before "and": "a boat pushed by a boy
    and | a man".
    """
    begin, head = min((i, *tree.children[i])), tree.heads[i]
    before = begin - 2
    if before < 0 or head >= before or not tree.noun(before) or tree.deps[before] not in ("pobj", "dobj"):
        return
    comma = tree.deps[i] == "dep" and tree.given(begin - 1) in (",", "and")
    # "a kitchen that has a stove, | a can and an oven"
    has = tree.heads[before]
    told = (tree.root(has), tree.deps[has], tree.heads[has]) == ("have", "relcl", head)
    comma |= told and tree.given(begin - 1) in (",", "and")
    alike = tree.deps[i] == "conj" and tree.given(begin - 1) == "and" and tree.noun(head)
    if comma or (alike and tree.animate(i) and tree.animate(before) and not tree.animate(head)):
        tree.hang(i, before, "conj")


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
    # "a woman standing with her hand | on carrots"
    head = tree.heads[i]
    above = tree.heads[head] if tree.deps[head] == "acl" else head
    if tree.given(before) != "with" or not {head, above} & {tree.heads[before], noun}:
        return False
    owner, place = tree.heads[i], tree.name(target[0])
    definite = any(tree.given(c) in ("the", "its") for c in tree.children[target[0]])
    part = tree.noun(owner) and not tree.animate(owner) and definite and place in known.parts | known.surfaces
    # "with fans | on either side of her"
    part |= place == "side" and any(
        tree.given(c) in ("either", "each", "both") for c in tree.children[target[0]]
    )
    found = part or (tree.name(noun) in known.body and _own(tree, noun)) or tree.given(target[0]) == "it"
    if found:
        tree.hang(i, noun, "prep")
    return found


def _engaged(tree: Tree, i: int) -> None:
    """A place that an adjective asks for belongs to it: "is airborne | over a ramp", "a rider high | in the
    air".
    """
    look = i - 1
    if i == 0 or tree.given(look) not in known.engaged or tree.said(i) not in known.placing | {"over"}:
        return
    if tree.deps[look] in ("amod", "acomp", "advmod"):
        above = tree.heads[look]
        is_so = tree.verb(above) and (tree.root(above) in known.be or tree.given(above) in known.be)
        described = above < look and (tree.animate(above) or tree.given(look) == "high")
        described &= tree.deps[above] != "conj"
        if is_so or (described and not tree.verb(above)):
            tree.deps[look], tree.tags[look] = "acomp" if is_so else "amod", "JJ"
            tree.hang(i, look, "prep")


def _done(tree: Tree, i: int) -> None:
    """What only somebody does is done by whoever there is: "two boys sit in front of a structure | eating",
    "a man with eyeglasses | dressed in a suit".
    """
    noun, root = tree.heads[i], tree.root(i)
    suffers = tree.tags[i] == "VBN" and root not in known.clothing
    # "a sandwich dressed with mustard"
    suffers |= root == "dress" and any(tree.given(p) == "with" for p in tree.below(i, "prep"))
    thing = tree.noun(noun) and not tree.animate(noun) and tree.name(noun) not in known.acting
    # "outside a store | holding money"
    does = root in known.lively or (root in known.handling and tree.name(noun) in known.places)
    if not does or suffers or not thing or tree.given(noun) in known.pronouns:
        return
    above = noun
    while not tree.animate(above) and tree.heads[above] != above:
        above = tree.heads[above]
        doers = [d for d in tree.below(above, "nsubj") if d < noun and tree.animate(d)]
        if doers:
            above = doers[0]
    if tree.animate(above) and above < noun:
        tree.hang(i, above, "acl")


def _stuck_out(tree: Tree, i: int) -> None:
    """What a part of the body does is said right after it: "with its mouth open and tongue | hanging out"."""
    part, owner = i - 1, tree.heads[i]
    named = owner < part and tree.noun(part) and tree.name(part) in known.body
    first = tree.first(part)
    if not named or tree.deps[first] != "pobj" or tree.given(tree.heads[first]) != "with":
        return
    # "with his leg | wrapped in tape"
    kept = tree.tags[i] == "VBN" and tree.root(i) in known.wrapping and _own(tree, part)
    if kept or (tree.root(i) in known.limp and not tree.below(i, "dobj")):
        for clause in tree.below(i, "advcl", "conj"):
            tree.hang(clause, owner, "acl")
        tree.hang(i, part, "acl")


def _waited_for(tree: Tree, i: int) -> None:
    """Who is to do something is waited for, or something is done for them: "wait | for a train to go past",
    "throws a stick | for a dog to fetch".
    """
    head = tree.heads[i]
    if tree.deps[i] == "mark":
        clauses, head = [head], tree.heads[head]
    else:
        clauses = tree.below(head, "advcl", "xcomp")
    for clause in clauses:
        to = [c for c in tree.below(clause, "aux") if tree.given(c) == "to"]
        things = [*tree.below(i, "pobj"), *tree.below(clause, "nsubj")]
        things = [t for t in things if to and i < t and to[0] == t + 1 and tree.given(t) not in known.unsaid]
        if (
            things
            and tree.verb(head)
            and (tree.deps[i] == "mark" or tree.root(head) == "wait" or tree.root(clause) in known.fetching)
        ):
            tree.hang(i, head, "prep")
            tree.hang(things[0], i, "pobj")
            tree.hang(clause, things[0], "acl")


def _owned(tree: Tree, i: int) -> None:
    """What stands before an owner is said of the owner, "a black | dog's mouth", but for what is said of one
    thing before several owners: "a coin-operated | children's ride".
    """
    thing = tree.heads[i]
    own = [c for c in tree.below(i, "det", "amod") if c < i]
    marked = tree.tags[i] == "NNS" and tree.below(i, "case") != []
    if marked and any(tree.given(c) in ("a", "an") for c in own):
        for c in own:
            tree.hang(c, thing, tree.deps[c])
    elif not own:
        for c in [c for c in tree.below(thing, "det", "amod", "nummod") if c < i]:
            tree.hang(c, i, tree.deps[c])


def _included(tree: Tree, i: int) -> None:
    """What a plate holds includes something: "a plate of food | that includes beans"."""
    held = [t for t in tree.phrases(tree.heads[i], "of") if t < i]
    if held:
        tree.hang(i, held[-1], "relcl")


def _of_what_is_held(tree: Tree, i: int) -> None:
    """Where something is in relation to who has it, "pulling a trolley | behind it", and where an action goes
    that is a thing: "does a trick | off a ledge".
    """
    verb, held = tree.heads[i], i - 1
    if i == 0 or not tree.verb(verb) or tree.deps[held] != "dobj" or tree.heads[held] != verb:
        return
    tie, root, targets = tree.said(i), tree.root(verb), tree.below(i, "pobj")
    beside = tie in ("behind", "in front of") and root in known.keeping
    back = beside and any(tree.tags[t] == "PRP" for t in targets)
    # "flies a kite | in the sky"
    flown = root == "fly" and tie == "in" and any(tree.name(t) in known.skies for t in targets)
    swing = root == "take" and tree.name(held) == "swing" and tie == "at"
    # but not "makes its way | down" and "does her homework | down the hall"
    goes = root in known.light and tree.name(held) != "way" and not tree.below(held, "poss")
    rest = tie == "from" and tree.name(held) in ("break", "rest") and targets != []
    if back or flown or swing or rest or (goes and tie in ("off", "off of", "down", "over")):
        tree.hang(i, held, "prep")


def _worn(tree: Tree, i: int) -> None:
    """What someone is in, or on, is no place of a verb: "holding the hand of the girl | in the red dress",
    "leaning on a wall | in a cap", "filled with men | on bikes".
    """
    head, target = tree.heads[i], tree.below(i, "pobj")[:1]
    if i == 0 or not target or not tree.verb(head) or tree.root(head) in known.clothing:
        return
    name, described = tree.name(target[0]), [tree.heads[head]] if tree.deps[head] == "acl" else []
    doers = [s for s in (*tree.below(head, "nsubj"), *described) if s < i and tree.animate(s)]
    rides = tree.root(head) in known.moving | known.holding | known.light or not tree.animate(i - 1)
    above = list[int]()
    if tree.given(i) == "in" and name in known.clothes:
        above = [i - 1] if tree.animate(i - 1) else doers[:1]
    elif tree.root(head) == "wear" and (tree.said(i) == "next to" or name in known.ridden):
        # "wearing a green shirt | on a bike"
        above = doers[:1]
    elif tree.given(i) == "on" and name in known.ridden and not rides:
        above = [i - 1]
    for one in above:
        tree.hang(i, one, "prep")


def _seen(tree: Tree, i: int) -> None:
    """A place is the place of what is seen: "watching two dogs | in the water", "looks at a child | on a
    swing".
    """
    head, seen = tree.heads[i], i - 1
    if i == 0 or not tree.verb(head) or tree.root(head) not in known.seeing or not tree.noun(seen):
        return
    before = tree.heads[seen]
    at = tree.deps[seen] == "pobj" and tree.given(before) == "at" and tree.heads[before] == head
    thing = tree.name(seen) not in known.lenses and tree.below(i, "pobj") != []
    if thing and tree.given(i) in known.placing and (at or (tree.deps[seen] == "dobj" and before == head)):
        tree.hang(i, seen, "prep")


def _stands(tree: Tree, i: int) -> None:
    """What one stands on to stay dry is where it is: "sits on a rock | in the river", "walks along a bridge |
    over the river".
    """
    noun, target, tie = i - 1, tree.below(i, "pobj")[:1], tree.said(i)
    if i == 0 or not target or not tree.noun(noun):
        return
    below = tree.deps[noun] == "pobj" and tree.heads[tree.heads[noun]] == tree.heads[i]
    on = below and tree.given(tree.heads[noun]) == "on" and tree.name(noun) in known.stones
    dry = on and tie == "in" and tree.name(target[0]) in known.waters
    bridge = tree.name(noun) == "bridge" and tie in ("over", "across") and tree.verb(tree.heads[i])
    if dry or (bridge and (below or tree.heads[noun] == tree.heads[i])):
        tree.hang(i, noun, "prep")


def _own(tree: Tree, target: int) -> bool:
    return any(tree.tags[c] == "PRP$" for c in tree.below(target, "poss"))


def _move_with(tree: Tree, i: int, target: int) -> None:
    """Move a phrase with "with": clothing, body parts and surroundings go to the subject, tools and
    companions to the verb.
    """
    if tree.deps[target + 1] == "prep":
        _on_the_wall(tree, target + 1)
    head, name, around = tree.heads[i], tree.name(target), _surrounding(tree, target)
    by = _to_it(tree, target)
    if by and (_of_it(tree, i, by) or (tree.noun(head) and not tree.animate(head))):
        return
    if not around and _stands_with(tree, i, target):
        head = i - 1
    while around and tree.deps[head] in ("pobj", "prep", "dobj") and not tree.verb(head):
        head = tree.heads[head]
    # "going down a slide | with her arms up"
    if name in known.body and _own(tree, target) and tree.deps[head] == "dobj" and not tree.animate(head):
        head = tree.heads[head]
        tree.hang(i, head, "prep")
    if tree.noun(head) and head != tree.heads[i]:
        tree.hang(i, head, "prep")
    elif tree.verb(head):
        _of_a_verb(tree, i, target, head, around=around)
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


def _of_a_verb(tree: Tree, i: int, target: int, verb: int, *, around: bool) -> None:
    """Move a phrase with "with" from a verb to its subject or object, where it tells of these.

    Args:
        tree: one sentence; it is changed.
        i: position of "with".
        target: position of what it is with.
        verb: position of the verb.
        around: whether what it is with is what is around.
    """
    root, name = tree.root(verb), tree.name(target)
    # "dressed | with scarves", but not "dressed in a coat | with a feather on her hat"
    if root in known.filling or (root in known.clothing and verb == i - 1):
        return
    described = [tree.heads[verb]] if tree.deps[verb] == "acl" else []
    subjects = [s for s in tree.below(verb, "nsubj", "nsubjpass") if s < i] or described
    things = [t for t in tree.below(verb, "dobj") if t < i]
    so = any(c > target for c in tree.below(target, "advmod", "amod", "acl"))
    held = things and root in known.holding and tree.name(things[-1]) in known.containers
    parts = name in known.body - known.grips and not _own(tree, target)
    if things and (parts or (held and i == things[-1] + 1)):
        tree.hang(i, things[-1], "prep")
    elif name in known.clothes and tree.animate(i - 1):
        tree.hang(i, i - 1, "prep")
    elif subjects and (around or name in known.clothes or ((so or not things) and name in known.body)):
        tree.hang(i, subjects[0], "prep")


def _stands_with(tree: Tree, i: int, target: int) -> bool:
    """Who is with somebody is so while they do something: "a girl stands | with other children". Moves the
    phrase to the verb before it, and returns whether it did.
    """
    head, verb = tree.heads[i], i - 1
    does = tree.verb(verb) and head < verb and (tree.heads[verb] == head or tree.heads[head] == verb)
    alone = tree.animate(target) and not tree.below(target, "acl", "relcl")
    if does and alone and tree.animate(head):
        tree.hang(i, verb, "prep")
        return True
    return False


def _of_it(tree: Tree, i: int, by: set[str]) -> bool:
    """Who does something is not "it": in "a man holding a board with a fish | on it" the board is. Moves the
    phrase to what is meant, and returns whether it did.

    Args:
        tree: one sentence; it is changed.
        i: position of "with".
        by: the prepositions before "it".
    """
    # "lying on a carpet with a ball | on it", but "behind it" would be behind who lies there
    before = [i - 1] if tree.noun(i - 1) and tree.deps[i - 1] == "pobj" and by <= {"on", "in"} else []
    verb = tree.heads[i]
    if before and tree.noun(verb) and tree.animate(verb) and not tree.animate(i - 1):
        tree.hang(i, i - 1, "prep")
        return True
    verb = tree.heads[verb] if tree.deps[verb] == "dobj" else verb
    if not tree.verb(verb):
        return False
    doers = [*tree.below(verb, "nsubj"), *([tree.heads[verb]] if tree.deps[verb] in MODIFIERS else [])]
    things = [t for t in (*before, *tree.below(verb, "dobj")) if t < i and not tree.animate(t)]
    if things and any(map(tree.animate, doers)):
        tree.hang(i, things[-1], "prep")
        return True
    return False


def _to_it(tree: Tree, target: int) -> set[str]:
    """The prepositions by which things are said to be on, in or around "it"."""
    nouns = [t for one in (target, *tree.below(target, "conj")) for t in tree.phrases(one)]
    return {tree.given(tree.heads[t]) for t in nouns if tree.given(t) == "it"}


def _surrounding(tree: Tree, target: int) -> bool:
    """Whether a phrase tells what is around: "with a church behind him", "with trees in the background"."""
    clause = [tree.heads[target]] if tree.deps[target] == "nsubj" else []
    owners = (target, *tree.below(target, "acl", "conj"), *clause)
    near = any(tree.given(c) == "nearby" for own in owners for c in tree.below(own, "advmod"))
    ends = [t for own in owners for t in tree.phrases(own)]
    # A towel around his neck is about him; what is in his hand is carried.
    worn = (t for t in ends if _own(tree, t) and tree.name(t) in known.personal - known.grips)
    # "on either side | of her"
    ends += [t for end in ends if tree.name(end) == "side" for t in tree.phrases(end)]
    seen = any(tree.tags[t].startswith("PRP") or tree.given(t) in known.views for t in ends)
    # but not "wears a tie | with a blue background"
    backdrop = tree.name(target) == "background" and tree.deps[tree.heads[target] - 1] != "dobj"
    return seen or near or any(worn) or backdrop
