"""The table of nouns and names: English, French, gender, and what each thing is.

An entry reads ``english french gender tags``; an irregular plural follows a slash. The headings
are tags too, and so is the English word itself: "to open" asks for something *openable*, "to bark"
for a *dog*. Where English leaves a choice (a friend may be *un ami* or *une amie*) the table makes
it, so that each English sentence has one translation.
"""

__all__ = ["NAMES", "NOUNS"]

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
