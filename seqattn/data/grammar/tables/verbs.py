"""The table of verbs: English, French, who does it, to what, and how it behaves.

A line reads ``english | french | subjects | objects | traits``. English gives the base, with past
and participle after slashes if they are irregular; words after it are its particle ("look for").
French may hold *se* or *y* before the infinitive and words after it ("avoir besoin de").

Traits: *state* has no progressive and an *imparfait* for its past (he wanted, il voulait); *event*
has no progressive; *general* turns bare nouns into *les* and *le* (cats like milk: les chats aiment
le lait); *place*, *with*, *on*, *behind* and *slowly* say what may follow.
"""

# In this order the lexicon looks a verb up: "play" is intransitive unless a frame is asked for.
__all__ = [  # noqa: RUF022
    "INTRANSITIVE",
    "TRANSITIVE",
    "DATIVE",
    "MOTION",
    "CLAUSAL",
    "MODAL",
    "IDIOMS",
    "WEATHER",
    "SPECIAL",
]

INTRANSITIVE = """
    sleep/slept/slept | dormir | person kin animal | | place on
    sing/sang/sung | chanter | person kin bird | | place with
    dance | danser | person kin | | place with slowly
    swim/swam/swum | nager | person swimmer | | slowly
    run/ran/run | courir | person animal | | place
    walk | marcher | person animal | | place slowly
    jump | sauter | animal young | | place
    laugh | rire | person kin | |
    smile | sourire | person kin | |
    cry | pleurer | person kin | |
    work | travailler | person kin | | place with slowly
    play | jouer | young pet monkey | | place with
    dream | rêver | person kin cat | |
    travel | voyager | person kin | | with
    fly/flew/flown | voler | flier | | slowly
    bark | aboyer | dog | | place
    shine/shone/shone | briller | bright | |
    grow/grew/grown | pousser | plant | | place slowly
    fall/fell/fallen | tomber | person animal | | event
    leave/left/left | partir | person kin bus train boat | |
    come/came/come back | revenir | person kin pet | |
    stay | rester | person kin pet | | event place
    hurry | se dépêcher | person kin | |
    rest | se reposer | person kin pet horse | | place
    get/got/got up | se lever | person kin | | event
    wake/woke/woken up | se réveiller | person kin animal | | event
    have/had/had fun | s'amuser | young kin monkey | | place with
    sit/sat/sat | s'asseoir | person kin pet | | event sits
    hide/hid/hidden | se cacher | animal young thief | | behind
    live | habiter | person kin | | state lives
"""

TRANSITIVE = """
    see/saw/seen | voir | person kin pet | person kin animal nature inside thing | event
    hear/heard/heard | entendre | person kin pet | person animal | event
    watch | regarder | person kin pet owl | person animal nature |
    look for | chercher | person kin | thing clothes pet readable |
    find/found/found | trouver | person kin | thing clothes pet readable | event
    lose/lost/lost | perdre | person kin | thing clothes | event
    love | aimer | person kin | person kin pet | state
    like | aimer | person kin animal | fare drink fruit | state general
    hate | détester | person kin | fare drink spider snake mouse | state general
    prefer | préférer | person kin | fare drink fruit | state general
    eat/ate/eaten | manger | person kin animal | food fare |
    eat/ate/eaten | manger | animal | fruit carrot bread |
    eat/ate/eaten | manger | cat fox owl snake | mouse egg |
    drink/drank/drunk | boire | person kin | drink |
    drink/drank/drunk | boire | animal | water milk |
    prepare | préparer | person kin | tart soup tea coffee sandwich lesson |
    taste | goûter | person kin | food fare drink |
    read/read/read | lire | person kin | readable |
    write/wrote/written | écrire | person kin | written song |
    buy/bought/bought | acheter | person kin | food fare thing clothes vehicle readable |
    sell/sold/sold | vendre | person kin | food fare thing clothes readable |
    open | ouvrir | person kin | openable |
    close | fermer | person kin | openable |
    carry | porter | person kin | thing |
    wear/wore/worn | porter | person kin | clothes |
    take/took/taken | prendre | person kin | thing clothes vehicle |
    break/broke/broken | casser | person kin cat monkey | fragile toy |
    wash | laver | person kin | clothes fragile fruit pet car |
    clean | nettoyer | person kin | bedroom kitchen house table window shop |
    paint | peindre | person kin | nature wall door person animal |
    draw/drew/drawn | dessiner | person kin | nature animal house |
    build/built/built | construire | person kin | built boat |
    visit | visiter | person kin | seen castle church island |
    meet/met/met | rencontrer | person kin | person kin | event
    help | aider | person kin | person kin |
    follow | suivre | person kin animal | person animal |
    call | appeler | person kin | person kin pet |
    thank | remercier | person kin | person kin |
    invite | inviter | person kin | person kin |
    kiss | embrasser | person kin | person kin |
    know/knew/known | connaître | person kin | person song secret | state
    understand/understood/understood | comprendre | person kin | learnt | event
    forget/forgot/forgotten | oublier | person kin | learnt key umbrella hat | event
    learn | apprendre | person kin | song word lesson poem |
    choose/chose/chosen | choisir | person kin | clothes thing readable food |
    drive/drove/driven | conduire | person kin | car bus train |
    bite/bit/bitten | mordre | dog snake fox | person animal | event
    chase | poursuivre | animal | animal thief |
    catch/caught/caught | attraper | cat dog fox young | ball mouse bird butterfly | event
    feed/fed/fed | nourrir | person kin | animal |
    throw/threw/thrown | lancer | young | ball |
    push | pousser | person kin | bike car door table |
    pull | tirer | person kin horse donkey | boat box |
    repair | réparer | person kin | vehicle bike clock toy roof chair |
    hold/held/held | tenir | person kin | thing |
    admire | admirer | person kin | person nature picture castle |
    protect | protéger | person kin dog | person animal |
    save | sauver | hero knight person | person animal village | event
    steal/stole/stolen | voler | thief pirate fox monkey | thing hen egg | event
    want | vouloir | person kin | food fare drink toy | state
    have/had/had | avoir | person kin | thing clothes pet readable | state
    need | avoir besoin de | person kin | thing clothes person | state
    be afraid of | avoir peur de | person kin animal | animal witch giant pirate thief | state
    wait for | attendre | person kin | person bus train letter |
    listen to | écouter | person kin | person bird song story |
    obey | obéir à | person dog | king queen captain teacher father mother | event
    answer | répondre à | person kin | question person | event
    look like | ressembler à | person kin | person kin | state
    play | jouer de | person kin | instrument |
"""

DATIVE = """
    give/gave/given | donner | person kin | thing food readable flower |
    show/showed/shown | montrer | person kin | thing readable clothes picture |
    lend/lent/lent | prêter | person kin | thing readable clothes |
    send/sent/sent | envoyer | person kin | readable gift flower |
    offer | offrir | person kin | gift flower thing fruit |
    bring/brought/brought | apporter | person kin | food thing flower readable |
    tell/told/told | raconter | person kin | told |
    explain | expliquer | person kin | learnt |
"""

CLAUSAL = """
    think/thought/thought | penser | person kin | | event
    know/knew/known | savoir | person kin | | state
    say/said/said | dire | person kin | | event
    believe | croire | person kin | | event
    hope | espérer | person kin | | event
"""

MODAL = """
    can | pouvoir | | | state bare
    must | devoir | | | state bare
    want | vouloir | | | state
    have/had/had | devoir | | | event
    like | aimer | | | state
    prefer | préférer | | | state
    know/knew/known how | savoir | | | state
    begin/began/begun | commencer à | | | event
    try | essayer de | | | event
    forget/forgot/forgotten | oublier de | | | event
    go/went/gone | aller | | | going
"""

IDIOMS = """
    be hungry | avoir faim | person kin animal | | state
    be thirsty | avoir soif | person kin animal | | state
    be cold | avoir froid | person kin | | state
    be hot | avoir chaud | person kin | | state
    be sleepy | avoir sommeil | person kin | | state
    be right | avoir raison | person kin | | state
    be wrong | avoir tort | person kin | | state
    be late | être en retard | person kin bus train | | state
    be angry | être en colère | person kin | | state
"""

WEATHER = """
    rain | pleuvoir | | |
    snow | neiger | | |
    be cold | faire froid | | | state
    be hot | faire chaud | | | state
"""

MOTION = """
    go/went/gone | aller | person kin | goal |
    come/came/come | venir | person kin | goal |
    arrive | arriver | person kin | goal | event
"""

# The grammar itself asks for these four by name.
SPECIAL = """
    be | être | | | state
    be | y avoir | | | state
    be | avoir | | | state
    miss | manquer à | person kin | person kin pet | state
"""
