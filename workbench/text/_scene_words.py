"""The words that the scene-graph rules know by name: closed classes here, open ones in
``assets/scene_graphs/words.toml``.
"""

from __future__ import annotations

import tomllib

from workbench import assets

_OPEN = tomllib.loads(assets.path("scene_graphs/words.toml").read_text(encoding="utf-8"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FRAMES, GATHERS, PAIRED, PARTITIVES = (
    _words(_OPEN[key]) for key in ("frames", "gathers", "paired", "partitives")
)
COLOURS, MATERIALS, PARTICIPLES, GERUND_NOUNS = (
    _words(_OPEN[key]) for key in ("colours", "materials", "participles", "gerund_nouns")
)
PERSONS, ANIMALS, BODY, CLOTHES, PORTABLE = (
    _words(_OPEN[key]) for key in ("persons", "animals", "body", "clothes", "portable")
)
PARTS, PLACES, VIEWS = (_words(_OPEN[key]) for key in ("parts", "places", "views"))
VERBS, SEEING, DEEDS, POSTURES, SHOWN, MOVING, FILLING, BEGINNINGS = (
    _words(_OPEN[key])
    for key in ("verbs", "seeing", "deeds", "postures", "shown", "moving", "filling", "beginnings")
)
ANIMATE = PERSONS | ANIMALS
SETTLED, HOLDING, MANNERS = (_words(_OPEN[key]) for key in ("settled", "holding", "manners"))
PLURALS = _words(_OPEN["plurals"])
SINGULARS: dict[str, str] = _OPEN["singulars"]
NAMES = frozenset(tuple(name.split()) for name in _OPEN["names"].split(","))

BE = _words("be is are was were am been being 's 're")
HAVE = _words("have has had having")
ARTICLES = _words("a an the this one some")
# What may open "a large group of".
OPENING = ARTICLES | _words("two three four several many few large small big huge")
# A noun after one of these is singular.
ONE = _words("a an one this another each")
DROPPED = _words(
    "a an the some any this that these those another other others each every both all his her its their my your our one either "
    "such what which whose same certain own"
)
COUNTED = _words("no several many few multiple various numerous more")
PRONOUNS = _words("he she it they him them one himself herself itself themselves others other another ones")
PLURAL_PRONOUNS = _words("they them")
PERSON_PRONOUNS = _words("he she him")
REFLEXIVE = _words("himself herself itself themselves")
OTHERS = _words("one ones other others another")
INDEFINITE = _words("someone something everyone everything somebody nobody nothing anyone anything everybody")
RELATIVES = _words("who which that whom")
UNSAID = _words("i we you us me my there this that here what where how why who whom which whose")
NEGATIONS = _words("not n't never")
# Adjectives that a tagger may take for adverbs.
FLAT = _words("plain little small large big tiny huge")
PARTICLES = _words("up down out off away over back around")
# "helps a man cross": who crosses is the object of the first verb.
CONTROLLING = _words("help make let watch see get teach allow show encourage")
MOTION = _words("into to through across toward towards onto against along past over from off")
PLACING = _words("in on at near by under behind beside outside inside above below during around")
# Adjectives that "with" completes.
BUSY = _words("busy full happy filled covered crowded packed familiar pleased")
# Words that end a noun phrase.
STOPPERS = _words(
    "of in on at with and or , near by is to are from for through over under that who which while as into 's"
)
# Shades and looks that make one adjective with the word after them: "dark blue", "nice looking".
SHADES = _words("dark light bright pale deep neon lime navy hot baby sky")
LOOKS = _words("nice good odd strange old delicious weird funny young happy bad tough cute")
# "white haired", "knee deep": one adjective of two words.
MADE = _words(
    "haired skinned eyed colored coloured shaped sized sleeved legged faced headed wheeled tailed footed topped style"
)
DEPTHS = _words("knee waist ankle hip chest shoulder")
# Colours that are also nouns.
COLOUR_NOUNS = _words("orange gold silver lime peach rose bronze khaki tan")
# What may come after a verb that was read as a noun: "a dog runs | on the grass".
OPENERS = _words("a an the his her its their two some another")
FOLLOWERS = OPENERS | _words(
    "in on at through over down up across into along to with near around by off from for out under past "
    "toward towards behind while as and , . outside inside against together"
)
