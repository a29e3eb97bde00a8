"""The table of adjectives: English, French, what each may be said of, and how it is compared.

An entry reads ``english french tags``; an irregular feminine follows a slash, the English
comparative follows ">" ("~" if it
has none). "=person" may be said of a person but not put beside one (*un homme grand*); "!" is put
beside only. French puts most adjectives after the noun; beauty, age, goodness and size
(the first block) go before. "big" is *gros*, "large" is *grand*: the tags keep them apart.
"""

__all__ = ["AFTER", "BEFORE"]

BEFORE = """
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
"""

AFTER = """
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
"""
