//! French.

use super::{ANY, ARRANGE, CANCEL, Grammar, PAY, SEND, TELL};

pub(super) const GRAMMAR: Grammar = Grammar {
    tag: "fr",
    words: &[
        ("JE", 0, "j je nous"),
        ("AI", 0, "ai avons"),
        (
            "FILL",
            0,
            "vous te t le la les lui leur l y en déjà bien donc aussi également tout toute tous juste immédiatement maintenant directement personnellement correctement enfin",
        ),
        (
            "NOT",
            0,
            "n ne pas jamais aucun aucune rien personne sans ni",
        ),
        (
            "NEVER",
            0,
            "n ne pas jamais aucun aucune rien personne sans ni",
        ),
        (
            "IF",
            0,
            "si s quand lorsque lorsqu dès après avant jusqu tant sauf vérifier vérifie savoir sais assurer assurez vois voir semble selon dit souhaitez voulez veux faut malheureusement mentionné pourquoi comment où afin",
        ),
        ("RESET", 0, "confirme mais"),
        ("TAG", 0, "correct exact cela ça non oui bien"),
        (
            "GENERAL",
            0,
            "si quand lorsque dès automatiquement chaque par après sous dans",
        ),
        ("VOTRE", 0, "votre vos ton ta tes"),
        ("LE", 0, "le la les l ce cette ces"),
        ("EST", 0, "est sont"),
        (
            "PART",
            ARRANGE,
            "inscrit inscrite inscrits mis mise ouvert ouverte remis remise saisi saisie rempli remplie établi établie rétabli rétablie réduit réduite souscrit souscrite résolu résolue obtenu obtenue joint jointe suspendu suspendue étendu étendue retenu retenue élargi",
        ),
        ("PART", CANCEL, "désinscrit désinscrite"),
        ("PART", SEND, "transmis transmise"),
        ("PART", PAY, "émis émise"),
        (
            "MILD",
            0,
            "trouvé regardé vérifié expliqué mentionné écouté cherché parlé travaillé essayé tenté pensé oublié noté rappelé appelé constaté remarqué consulté étudié calculé comparé aimé apprécié discuté raté manqué préféré proposé montré donné posé gagné déménagé voyagé compté sélectionné identifié localisé listé indiqué précisé évoqué téléphoné espéré souhaité recherché répété considéré analysé refusé détaillé aidé",
        ),
        ("TAKEN", ARRANGE, "pris prise"),
        (
            "TOLD",
            TELL,
            "prévenu informé averti demandé signalé prévenue informée avertie prévenus",
        ),
        (
            "STATE",
            ARRANGE,
            "inscrit inscrite enregistré enregistrée ajouté ajoutée attendu attendue",
        ),
        (
            "STATE",
            CANCEL,
            "désinscrit désinscrite désabonné désabonnée",
        ),
        ("DONEWORD", ANY, "fait faite"),
        ("DONEWORD", ARRANGE, "réglé actif active terminé terminée"),
        ("COMPLETE", ARRANGE, "complet complète"),
        ("CARE", ANY, "occupé occupée chargé chargée"),
        ("MADE", ARRANGE, "fait pris passé effectué procédé rempli"),
        (
            "THING",
            0,
            "rendez rdv réservation commande table chambre billet billets demande message facture réunion séance séances visite paiement remboursement inscription compte abonnement contrat changement changements virement livraison créneau place places vol annulation modification pièce taxi dossier",
        ),
        ("NOTED", ARRANGE, "noté notée"),
        (
            "FILE",
            0,
            "dossier compte fiche profil système réservation commande",
        ),
    ],
    verbs: &[
        (
            ARRANGE,
            "réserver confirmer modifier changer déplacer décaler reporter enregistrer ajouter créer programmer planifier bloquer débloquer activer réactiver prolonger renouveler commander valider finaliser fixer caler avancer repousser abonner déclarer passer relier connecter lier associer rattacher préparer sécuriser arrêter relancer réexpédier télécharger importer numériser relever diviser conserver pauser basculer accepter laisser utiliser adapter ajuster assigner générer régénérer gérer autoriser geler installer configurer verrouiller déverrouiller appliquer accorder corriger traiter effectuer attribuer affecter organiser lancer échanger remplacer surclasser augmenter baisser réinitialiser redémarrer actualiser bloquer déposer imprimer garder libérer approuver",
        ),
        (
            CANCEL,
            "annuler supprimer résilier désactiver retirer désabonner couper clôturer fermer effacer",
        ),
        (
            SEND,
            "envoyer renvoyer transférer adresser expédier partager poster",
        ),
        (PAY, "rembourser créditer débiter payer régler virer"),
        (TELL, "alerter inviter"),
    ],
    forms: |verb| {
        let Some(stem) = verb.strip_suffix("er") else {
            return Vec::new();
        };
        let endings = ["é", "ée", "és", "ées"].into_iter();
        let mut forms: Vec<_> = endings
            .map(|ending| ("PART", format!("{stem}{ending}")))
            .collect();
        forms.push(("INF", verb.to_owned()));
        forms
    },
    is_participle: |word| word.len() > 4 && word.ends_with('é'),
    patterns: &[
        "-JE ~ AI ~ PART|OPEN|TAKEN !note|connaissance|du",
        "-JE AI ~ TOLD",
        "-JE AI dit au|à",
        "-JE ~ AI ~ appelé un|le taxi",
        "-m en suis CARE",
        "-JE ~ AI ~ MADE * THING",
        "-JE ~ AI ~ NOTED * dans|sur|à * FILE",
        "-viens|venons|vient de|d ~ INF",
        "-ai|avons pu ~ INF",
        "=a|ont|avez|as ~ été ~ PART|TOLD",
        "=VOTRE * EST ~ PART|TAKEN|DONEWORD|COMPLETE !GENERAL",
        "=LE * THING * EST ~ PART|DONEWORD !GENERAL",
        "=vous êtes ~ STATE",
        "=tu es ~ STATE",
        "=c|tout EST ~ PART|DONEWORD !GENERAL",
        "=c est chose DONEWORD",
        "^ ~ THING ~ PART $",
        "^ ~ PART $",
        "^ ~ DONEWORD $",
    ],
};
