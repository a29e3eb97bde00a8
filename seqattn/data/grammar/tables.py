"""The words of the grammar: text, to be read and changed by people who know both languages."""

__all__ = ["ADJECTIVES", "NAMES", "NOUNS", "VERBS"]

# Nouns and names: English, French, gender, and what each thing is.
#
# An entry reads "english french gender tags"; an irregular plural follows a slash. The headings are
# tags too, and so is the English word itself: "to open" asks for something *openable*, "to bark"
# for a *dog*. Where English leaves a choice (a friend may be *un ami* or *une amie*) the table
# makes it, so that each English sentence has one translation.
NOUNS = {
    "person": """
        man/men homme m, woman/women femme f, boy garçon m young, girl fille f young,
        child/children enfant m young, king roi m, queen reine f, prince prince m,
        princess princesse f, giant géant m, witch sorcière f, hero/heroes héros m,
        pirate pirate m, knight chevalier m, thief/thieves voleur m, captain capitaine m,
        student étudiant m work, baker boulanger m work, farmer fermier m work,
        doctor médecin m work, nurse infirmière f work, teacher professeur m work,
        painter peintre m work, singer chanteuse f work, dancer danseuse f work,
        actress actrice f work, poet poète m work, sailor marin m work, soldier soldat m work,
        lawyer avocat m work, engineer ingénieur m work, musician musicien m work
    """,
    "kin": """
        mother mère f, father père m, brother frère m, sister sœur f, uncle oncle m, aunt tante f,
        grandmother grand-mère/grands-mères f, grandfather grand-père/grands-pères m, son fils m,
        cousin cousin m, neighbour voisin m, friend ami m
    """,
    "animal": """
        cat chat m pet, dog chien m pet, rabbit lapin m pet, horse cheval m, cow vache f,
        hen poule f, goat chèvre f, pig cochon m, donkey âne m, fox/foxes renard m,
        wolf/wolves loup m, bear ours m, lion lion m, elephant éléphant m, monkey singe m,
        hedgehog hérisson m, squirrel écureuil m, frog grenouille f swimmer, snake serpent m,
        turtle tortue f swimmer, duck canard m swimmer flier, bird oiseau m flier,
        eagle aigle m flier, owl hibou/hiboux m flier, bee abeille f flier,
        butterfly papillon m flier, spider araignée f, mouse/mice souris f
    """,
    "food": """
        apple pomme f fruit, pear poire f fruit, orange orange f fruit, banana banane f fruit,
        strawberry fraise f fruit, cherry cerise f fruit, lemon citron m, cake gâteau m,
        tart tarte f, egg œuf m, carrot carotte f, tomato/tomatoes tomate f, sandwich sandwich m,
        pancake crêpe f
    """,
    "fare": """
        bread pain m, cheese fromage m, meat viande f, rice riz m, butter beurre m, honey miel m,
        chocolate chocolat m, jam confiture f, soup soupe f hot
    """,
    "drink": """
        water eau f, milk lait m, tea thé m hot, coffee café m hot, wine vin m, juice jus m
    """,
    "readable": """
        book livre m written, letter lettre f written, newspaper journal m, story histoire f told,
        poem poème m written, novel roman m written
    """,
    "thing": """
        ball balle f, key clé f, box boîte f openable, bag sac m openable, cup tasse f fragile,
        plate assiette f fragile, glass verre m fragile, bottle bouteille f fragile openable,
        knife/knives couteau m, lamp lampe f fragile, clock horloge f, mirror miroir m fragile,
        picture tableau m, umbrella parapluie m, toy jouet m, gift cadeau m openable, ring bague f,
        basket panier m, candle bougie f, sword épée f, axe hache f
    """,
    "instrument": "piano piano m, guitar guitare f, violin violon m, flute flûte f, harp harpe f",
    "clothes": """
        hat chapeau m, dress robe f, shirt chemise f, coat manteau m, shoe chaussure f,
        scarf/scarves écharpe f, skirt jupe f, glove gant m, boot botte f
    """,
    "vehicle": "car voiture f, bike vélo m, bus autobus m, train train m, boat bateau m",
    "surface": """
        table table f under, chair chaise f seat under, bed lit m seat under, mat tapis m seat,
        sofa canapé m seat, bench banc m seat under, roof toit m seat, wall mur m seat near,
        shelf/shelves étagère f
    """,
    "openable": "door porte f near, window fenêtre f near",
    "inside": """
        house maison f near built home, garden jardin m near, kitchen cuisine f, bedroom chambre f,
        forest forêt f near home, castle château m goal near built home,
        village village m near home, city ville f seen home, street rue f, field champ m,
        tower tour f near built home, shop magasin m
    """,
    "goal": """
        market marché m, station gare f near, school école f near, church église f near,
        theatre théâtre m, museum musée m near seen, park parc m near, library bibliothèque f,
        hospital hôpital m near, hotel hôtel m near, office bureau m, farm ferme f near,
        restaurant restaurant m near, beach plage f near
    """,
    "nature": """
        tree arbre m under near plant, flower fleur f plant, river rivière f near,
        mountain montagne f, island île f, bridge pont m near under built, moon lune f only bright,
        sun soleil m only bright, star étoile f bright, cloud nuage m
    """,
    "learnt": """
        song chanson f, question question f, secret secret m, word mot m, lesson leçon f,
        truth vérité f only, problem problème m
    """,
}

NAMES = "marie f, paul m, alice f, louis m, emma f, jean m"

# Adjectives: English, French, what each may be said of, and how it is compared.
#
# An entry reads "english french tags"; an irregular feminine follows a slash, the English
# comparative follows ">" ("~" if it has none). "=person" may be said of a person but not put beside
# one (*un homme grand*); "!" is put beside only. French puts most adjectives after the noun;
# beauty, age, goodness and size go before. "big" is *gros*, "large" is *grand*: the tags keep them
# apart.
ADJECTIVES = {
    "before": """
    small>smaller petit thing surface inside nature food clothes openable animal
    little!>~ petit young
    big>bigger gros/grosse animal food thing
    large>larger grand inside goal surface openable clothes
    tall>taller grand tree =person =tower =giant
    great!>~ grand poet painter king queen musician actress singer dancer captain
    young>younger jeune person kin animal
    old>older vieux/vieille person kin animal thing readable clothes inside goal vehicle
    new!>~ nouveau/nouvelle thing clothes vehicle readable learnt
    beautiful>more beautiful beau/belle woman queen princess prince flower horse bird inside nature
    pretty>prettier joli clothes flower girl butterfly thing song village
    good>~ bon/bonne food fare drink readable king queen work friend
    bad>~ mauvais readable king queen
    long>longer long/longue letter story novel dress scarf street river bridge song lesson
    poor>poorer pauvre person
    kind>kinder gentil/gentille person kin
    """,
    "after": """
    red>~ rouge clothes thing vehicle flower openable fruit
    blue>~ bleu clothes thing vehicle openable bird flower
    green>~ vert clothes thing vehicle openable frog snake
    yellow>~ jaune clothes thing vehicle flower bird
    black>~ noir clothes animal thing vehicle
    white>~ blanc/blanche clothes animal flower house horse
    grey>~ gris clothes animal cloud
    happy>happier heureux/heureuse person kin
    sad>sadder triste person kin song story
    clever>cleverer intelligent person kin animal
    brave>braver courageux/courageuse person kin
    shy>shyer timide person kin animal
    lazy>lazier paresseux/paresseuse person kin animal
    famous>more famous célèbre work picture novel museum
    rich>richer riche person kin
    strong>stronger fort person kin animal
    curious>more curious curieux/curieuse person animal
    tired>~ fatigué person kin animal
    sick>~ malade person kin animal
    jealous>more jealous jaloux/jalouse person kin
    funny>funnier drôle person story monkey
    wild!>~ sauvage animal
    dangerous>more dangerous dangereux/dangereuse snake wolf bear lion forest axe knife pirate
    french>~ français work newspaper novel song cheese wine king
    english>~ anglais work newspaper novel song queen captain
    magic>~ magique sword ring mirror flute key lamp
    round>~ rond table box mirror plate
    heavy>heavier lourd thing surface
    expensive>more expensive cher/chère clothes thing vehicle instrument
    useful>more useful utile umbrella lamp basket bag key book lesson
    empty>~ vide box bag bottle basket glass house street
    clean>~ propre clothes inside fragile
    dirty>~ sale clothes thing
    broken>~ cassé fragile toy chair clock
    hot>hotter chaud hot tart pancake
    cold>colder froid fare drink
    sweet>sweeter sucré fruit cake tart jam juice
    delicious>~ délicieux/délicieuse food fare
    modern>more modern moderne inside goal
    strange>stranger étrange learnt readable person thing
    interesting>more interesting intéressant readable museum lesson question
    boring>more boring ennuyeux/ennuyeuse readable lesson
    difficult>more difficult difficile question word lesson problem
    easy>easier facile question word lesson problem
    quiet>quieter calme village street garden river beach
    closed>~ fermé openable goal
    open>~ ouvert openable goal
    """,
}

# Verbs: English, French, who does it, to what, and how it behaves.
#
# A line reads "english | french | subjects | objects | traits". English gives the base, with past
# and participle after slashes if they are irregular; words after it are its particle ("look for").
# French may hold *se* or *y* before the infinitive and words after it ("avoir besoin de").
#
# Traits: *state* has no progressive and an *imparfait* for its past (he wanted, il voulait);
# *event* has no progressive; *general* turns bare nouns into *les* and *le* (cats like milk: les
# chats aiment le lait); *place*, *with*, *on*, *behind* and *slowly* say what may follow.
#
# The lexicon looks a verb up in this order: "play" is intransitive unless a frame is asked for.
VERBS = {
    "INTRANSITIVE": """
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
    """,
    "TRANSITIVE": """
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
    """,
    "DATIVE": """
    give/gave/given | donner | person kin | thing food readable flower |
    show/showed/shown | montrer | person kin | thing readable clothes picture |
    lend/lent/lent | prêter | person kin | thing readable clothes |
    send/sent/sent | envoyer | person kin | readable gift flower |
    offer | offrir | person kin | gift flower thing fruit |
    bring/brought/brought | apporter | person kin | food thing flower readable |
    tell/told/told | raconter | person kin | told |
    explain | expliquer | person kin | learnt |
    """,
    "MOTION": """
    go/went/gone | aller | person kin | goal |
    come/came/come | venir | person kin | goal |
    arrive | arriver | person kin | goal | event
    """,
    "CLAUSAL": """
    think/thought/thought | penser | person kin | | event
    know/knew/known | savoir | person kin | | state
    say/said/said | dire | person kin | | event
    believe | croire | person kin | | event
    hope | espérer | person kin | | event
    """,
    "MODAL": """
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
    """,
    "IDIOMS": """
    be hungry | avoir faim | person kin animal | | state
    be thirsty | avoir soif | person kin animal | | state
    be cold | avoir froid | person kin | | state
    be hot | avoir chaud | person kin | | state
    be sleepy | avoir sommeil | person kin | | state
    be right | avoir raison | person kin | | state
    be wrong | avoir tort | person kin | | state
    be late | être en retard | person kin bus train | | state
    be angry | être en colère | person kin | | state
    """,
    "WEATHER": """
    rain | pleuvoir | | |
    snow | neiger | | |
    be cold | faire froid | | | state
    be hot | faire chaud | | | state
    """,
    # The grammar itself asks for these four by name.
    "SPECIAL": """
    be | être | | | state
    be | y avoir | | | state
    be | avoir | | | state
    miss | manquer à | person kin | person kin pet | state
    """,
}
