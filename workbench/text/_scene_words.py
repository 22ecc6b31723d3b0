"""The words that the scene-graph rules know by name: closed classes of English, and the habits of people who write captions."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What a caption says before it says anything: "a photo of", "an aerial view of".
FRAMES = _words("photo picture image photograph shot view close-up closeup snapshot pic footage close-ups")
# Nouns that gather what follows "of"; they become an attribute of it.
GATHERS = _words(
    "group crowd bunch herd flock team pile stack row set line piece slice kind type sort couple lot lots number variety dozens "
    "hundreds thousands collection assortment pack trio pair series array cluster bit chunk gathering groups rows pieces slices "
    "piles stacks lines types kinds bunches pairs sets flocks herds crowds loads gang swarm school family handful range batch "
    "portion trios dozen selection part"
)
# Things that come in pairs and are one object with the word: "pair of shoes".
PAIRED = _words(
    "shoes glasses scissors skis pants jeans shorts boots gloves socks sunglasses goggles sandals headphones chopsticks skates "
    "trousers slippers sneakers heels tongs pliers mittens binoculars tights"
)
# Words before "of" that leave no trace: "one of the men", "some of them".
PARTITIVES = _words("some all most each both any many several none few two three four")
# Nouns whose dictionary form is plural.
PLURALS = _words(
    "jeans shorts pants glasses sunglasses goggles scissors clothes trousers headphones binoculars tongs tights overalls pajamas "
    "leggings pliers trunks chopsticks earphones khakis outdoors stairs surroundings bleachers spectacles fatigues sweatpants "
    "suspenders belongings groceries"
)
SINGULARS = {
    "people": "people", "police": "police", "vases": "vase", "buses": "bus", "skis": "ski", "cattle": "cattle", "halves": "half",
    "leaves": "leaf", "broccoli": "broccoli", "graffiti": "graffiti", "texas": "texas", "christmas": "christmas", "cookies": "cookie",
    "brownies": "brownie", "selfies": "selfie", "smoothies": "smoothie", "veggies": "veggie", "axes": "axe",
}  # fmt: skip
COLOURS = _words(
    "red orange yellow green blue purple violet pink brown black white gray grey tan beige gold silver golden blonde blond teal "
    "turquoise maroon navy khaki crimson burgundy cream-colored peach lavender magenta lime neon bronze aqua"
)
# Nouns that say what something is made of, or how it is patterned, when they stand before a noun.
MATERIALS = _words(
    "wood brick stone metal plastic leather concrete cement iron steel marble cardboard cotton denim wool silk rubber plaid dirt "
    "gravel granite tile straw chrome aluminum copper porcelain ceramic velvet lace camouflage camo flannel bamboo stucco "
    "asphalt clay fur polka-dot tile hardwood nylon linen tin brass wicker grassy snowy shirtless cobblestone adult toddler "
    "baby teenage male female"
)
# Two words that a tagger reads as adjective or verb and noun, but that name one thing.
NAMES = frozenset(
    tuple(name.split())
    for name in (
        "hot dog|hot dogs|living room|living rooms|dining room|dining table|swimming pool|swimming pools|parking lot|"
        "parking lots|parking meter|parking meters|teddy bear|teddy bears|polar bear|polar bears|fire hydrant|fire hydrants|"
        "stop sign|stop signs|traffic light|traffic lights|cell phone|cell phones|ice cream|bathing suit|bathing suits|"
        "cutting board|cutting boards|frying pan|washing machine|sleeping bag|shopping cart|shopping carts|shopping mall|"
        "shopping bag|shopping bags|rocking chair|walking stick|diving board|climbing wall|life jacket|life jackets|life vest|"
        "life vests|tank top|tank tops|t shirt|t shirts|high chair|remote control|remote controls|remote controller|"
        "wii remote|wii remotes|video game|video games|hot tub|tennis racket|tennis racquet|tennis ball|tennis court|"
        "tennis player|tennis players|baseball player|baseball players|baseball bat|baseball game|baseball field|soccer ball|"
        "soccer player|soccer players|skate park|police officer|police officers|christmas tree|toilet paper|paper towel|"
        "paper towels|paper plate|paper plates|double decker bus|double decker buses|bull dog|hula hoop|hula hoops|high heels|"
        "flip flops|wet suit|wet suits|snow board|skate board|surf board|snow suit|coffee table|coffee cup|running shoes|"
        "fishing pole|fishing rod|fishing boat|fishing boats|guinea pig|french fries|rubber duck|rubber ducks|rain coat|"
        "stuffed animal|stuffed animals|golden retriever|golden retrievers|german shepherd|border collie|merry go round|"
        "watering hole|roller skates|roller blades|ski lift|ski slope|front yard|back yard|orange juice|race car|race cars|"
        "wine glass|wine glasses|dirt bike|dirt bikes|mountain bike|mountain bikes|rock climber|rock wall|rock face|lap top|"
        "cowboy hat|baseball cap|football player|football players|basketball player|basketball players|toy car|"
        "street sign|street signs|street light|street lights|train station|train track|train tracks|railroad tracks|"
        "lacrosse stick|ping pong|ping pong table|safety vest|bus stop|school bus|tour bus|city bus|city street|mini bike"
    ).split("|")
) - {("stuffed", "animal"), ("stuffed", "animals")}
PERSONS = _words(
    "man woman boy girl child kid person people lady guy baby toddler player men women children kids adult teenager skier surfer "
    "snowboarder skateboarder rider biker climber hiker skater swimmer runner worker officer batter catcher umpire pitcher "
    "couple family crowd group team male female individual someone somebody anyone everyone cowboy fireman policeman soldier "
    "mother father mom dad bride groom friend student chef cook driver cyclist bicyclist motorcyclist spectator performer dancer "
    "musician singer teacher actor model boarder racer jumper wrestler boxer golfer fisherman youth teen infant gentleman "
    "businessman tourist pedestrian passenger fan referee coach athlete sportsman clown pirate santa vendor customer patron "
    "bystander onlooker hockey-player brother sister grandmother grandfather parent son daughter shopper owner trainer"
)
ANIMALS = _words(
    "dog cat horse bird elephant giraffe zebra sheep cow bear puppy kitten kitty goat duck goose animal greyhound bull pony lamb "
    "calf monkey lion tiger rabbit bunny squirrel pig poodle collie retriever labrador shepherd terrier bulldog lab fish turtle "
    "seagull pigeon parrot owl swan ox donkey deer cattle dalmatian mutt pup boxer panda butterfly bee dolphin whale seal creature"
)
ANIMATE = PERSONS | ANIMALS
# Verbs of which only what follows "to" counts: "trying to catch" is catching.
BEGINNINGS = _words(
    "try attempt prepare start begin go appear seem continue proceed ready get look about ready manage learn want like love need "
    "plan intend struggle use happen tend set poise prep"
)
BE = _words("be is are was were am been being 's 're")
HAVE = _words("have has had having")
# Singulars: a noun after one of these cannot be a plural.
ONE = frozenset({"a", "an", "one", "this", "another", "each"})
DROPPED = _words(
    "a an the some any this that these those another other others each every both all his her its their my your our one either "
    "such what which whose same certain own"
)
COUNTED = _words("no several many few multiple various numerous more")
PRONOUNS = _words("he she it they him them one himself herself itself themselves others ones")
PLURAL_PRONOUNS = _words("they them themselves")
PERSON_PRONOUNS = _words("he she him himself herself")
RELATIVES = _words("who which that whom")
UNSAID = _words("i we you me us my there this that here what where how why who whom which whose himself herself itself themselves")
NEGATIONS = _words("not n't never")
# Verbs that only introduce what is there.
SHOWING = _words("show depict display feature see portray capture illustrate contain")
# What people and things do in captions: to tell verbs from nouns, and "riding" = "ride" from "rid".
VERBS = _words(
    "stand sit hold play wear run walk jump look ride have fly eat take do pose watch smile cover carry park lay catch dress make "
    "go get climb hang show swing fill throw try pull lie surround wait drive perform prepare talk hit use swim race lean gather "
    "chase come leap stuff drink cross read kick line cut travel slide sleep fall stop reach serve set surf splash rest see paint "
    "display ski graze skateboard pass face light decorate enjoy tie overlook put push fight attach stick shake raise point star "
    "attempt feature work dance move leave laugh open float place cook help chew turn feed give include top snowboard perch mount "
    "blow hike smoke bite hug pet roll kiss seat say color shoot block follow bend land fence touch write relax wade shape appear "
    "brush strip lick grab dive close contain row paddle balance build live grow spot tackle kneel break begin sniff sell check "
    "listen photograph wrestle bounce head sink draw dock reflect grind pick tile pour bear skate lead scale sign shine stretch "
    "lift wrap oppose locate fetch speak crouch spread sled rise train dig seem stack curl crowd practice sing compete celebrate "
    "fish embrace wave share approach return prop grill hand step start enter shave spray soar clean retrieve extend hook fry "
    "strike suspend crash rollerblade keep miss tow examine toss teach huddle enclose drop load guide frost slice wash crawl fold "
    "connect parasail spin dribble squat theme learn participate descend dry pop carve view submerge gaze let hide tug burn pitch "
    "outstretch peer pile control wipe challenge flush arrange post peel clothe wakeboard observe depict bark kayak marry hop "
    "pretend finish expose gate abandon jog bow emerge herd cast knit mix flip call pause bound blur peek stir raft soak buy stay "
    "board mark chop position sail spill advertise cheer complete entertain demonstrate protest juggle illuminate poke bundle trot "
    "squirt pierce stare glide gallop jostle sprint yawn dine bat nap nuzzle groom dunk bike cycle speed wander march pedal drag "
    "swat rub prance paw crouch maneuver navigate steer tumble lunge gesture grin frown shout scream yell scratch inspect admire "
    "cuddle cradle clutch grip grasp sip taste smell graduate operate pilot ram shovel sweep rake mow trim water plant harvest fix "
    "repair paste hang tilt slump lounge recline straddle tread trek trudge stroll ascend scoot grimace wink whisper chat converse "
    "interact socialize mingle applaud bathe shower drench spew gush drip flow pin wield brandish twirl whirl rotate flap hover "
    "swoop land launch taxi bury crush smash slam bump collide skid drift veer hurdle vault somersault cartwheel backflip wheel "
    "exit leave arrive depart board deliver unload haul transport contain consist resemble match compare measure weigh count type "
    "text email browse surf snap film record photograph capture"
)
