//! Spanish.

use super::{ANY, ARRANGE, CANCEL, Grammar, PAY, SEND, TELL};

pub(super) const GRAMMAR: Grammar = Grammar {
    tag: "es",
    words: &[
        ("HE", 0, "he hemos"),
        (
            "FILL",
            0,
            "ya le les lo la los las te se me nos también ahora mismo justo recién correctamente debidamente todo usted exitosamente con éxito",
        ),
        (
            "NOT",
            0,
            "no nunca tampoco ni sin nada ninguna ninguno nadie",
        ),
        (
            "NEVER",
            0,
            "no nunca tampoco ni sin nada ninguna ninguno nadie",
        ),
        ("RESET", 0, "confirmo confirmarle decirle informarle pero"),
        (
            "IF",
            0,
            "si cuando vez cuanto después antes hasta mientras menos sé asegurarme asegúrese asegurar ver veo parece según registros aparece dijo dice mencionó importante quiere quiero puede porque quién qué cómo cuándo dónde lamentablemente desafortunadamente",
        ),
        ("TAG", 0, "verdad correcto cierto no sí"),
        (
            "GENERAL",
            0,
            "cuando si cada automáticamente mensualmente solo sólo después hasta dos|por",
        ),
        ("SU", 0, "su sus tu tus"),
        ("ART", 0, "el la los las un una"),
        (
            "PERSON",
            0,
            "hijo hija esposo esposa marido mujer médico doctora doctor banco casero colega",
        ),
        (
            "BE",
            0,
            "está están estás quedó quedaron quedaste queda quedan fue fueron estoy",
        ),
        ("NOW", 0, "está están quedó quedaron quedaste queda quedan"),
        (
            "PART",
            ARRANGE,
            "hecho hecha hechos hechas puesto puesta abierto abierta resuelto resuelta inscrito inscrita inscritos pospuesto pospuesta compuesto compuesta",
        ),
        ("PART", ANY, "hecho hecha"),
        (
            "COMPLETE",
            ARRANGE,
            "completo completa activo activa activada activado listo lista",
        ),
        ("PRET1", ARRANGE, "detuve puse hice abrí resolví pospuse"),
        ("PRET3", ARRANGE, "puso hizo abrió resolvió pospuso pidió"),
        (
            "INF",
            ARRANGE,
            "hacer hacerle hacerlo hacerla poner ponerlo ponerla ponerle darle",
        ),
        ("DONEWORD", ANY, "hecho"),
        (
            "THING",
            0,
            "cita citas reserva reservación reservaciones pedido pedidos mesa habitación boleto boletos refacción solicitud mensaje factura reunión sesión sesiones visita pago reembolso registro inscripción cuenta suscripción membresía póliza cambio cambios transferencia entrega lugar asiento vuelo recargo cargo queja reporte invitación cancelación",
        ),
        (
            "FILE",
            0,
            "expediente cuenta ficha perfil pedido sistema reserva lista clase",
        ),
        ("BAJA", CANCEL, "baja"),
        ("ALTA", ARRANGE, "alta cita"),
        ("NOTE", ARRANGE, "nota mensaje"),
        ("SUCCESS", ARRANGE, "exitoso exitosa exitosamente"),
        (
            "MILD",
            0,
            "escuchado entendido revisado consultado encontrado recibido intentado tratado explicado mencionado comprendido buscado hablado trabajado estado sido tenido podido querido notado pensado llamado esperado preguntado perdido olvidado equivocado decidido verificado comprobado leído oído respondido comentado indicado mirado aprendido conocido vivido recordado llegado detectado observado identificado localizado calculado comparado elegido seleccionado permitido rechazado negado dañado robado retrasado demorado agotado vencido caducado disfrutado atendido repetido sabido servido agradecido interesado incluido seguido logrado gustado demasiado lado resultado",
        ),
        (
            "NOTED",
            ARRANGE,
            "anoté apunté anotado anotada apuntado apuntada",
        ),
        ("CARE", ANY, "encargué encargamos ocupé"),
        ("SAID", TELL, "dije avisé informé pedí notifiqué"),
    ],
    verbs: &[
        (
            ARRANGE,
            "reservar agendar apartar programar reprogramar confirmar registrar inscribir actualizar cambiar mover añadir agregar guardar crear presentar levantar activar desbloquear bloquear asignar aplicar aprobar corregir ordenar posponer pausar vincular conectar restablecer reiniciar completar finalizar adjuntar subir imprimir iniciar aumentar bajar dividir fijar configurar ampliar renovar recorrer realizar tramitar surtir liberar solicitar organizar concertar modificar reagendar asentar extender canjear meter tomar despachar reportar escalar comprar rentar alquilar generar ajustar gestionar elaborar instalar validar autorizar congelar revertir marcar arreglar coordinar gestionar",
        ),
        (
            CANCEL,
            "cancelar eliminar borrar quitar desactivar cerrar suspender condonar anular retirar",
        ),
        (SEND, "enviar mandar compartir reenviar entregar remitir"),
        (
            PAY,
            "pagar cobrar reembolsar abonar transferir emitir procesar acreditar devolver cargar",
        ),
        (
            TELL,
            "avisar informar notificar turnar comunicar invitar pasar pedir",
        ),
    ],
    forms,
    is_participle: |word| word.len() > 4 && (word.ends_with("ado") || word.ends_with("ido")),
    patterns: &[
        "-HE ~ PART|OPEN",
        "-HE ~ hecho|realizado * THING",
        "-HE ~ dado aviso",
        "-HE ~ dado|puesto * BAJA|ALTA",
        "-di ~ * BAJA|ALTA",
        "-HE ~ procedido a INF",
        "-procedí a INF",
        "-acabo|acabamos|terminé de INF",
        "-PRET1",
        "-pude|pudimos|logré|logramos INF",
        "-ya ~ PLURAL1",
        "-dejé|dejamos|HE ~ dejado * PART|NOTE",
        "-dejé|dejamos * PART|NOTE",
        "-le|les dije|pedí a|al",
        "-NOTED * en|para ART|SU * FILE",
        "-tengo|tenemos ~ NOTED para|en",
        "=^ ~ NOW ~ NOTED para|en",
        "-me CARE",
        "-tengo|tenemos ~ PART para",
        "=ha|han ~ sido|quedado ~ PART",
        "=se ~ ha|han ~ PART",
        "=SU * BE ~ PART|COMPLETE !GENERAL",
        "=ART * THING * BE ~ PART|COMPLETE !GENERAL",
        "=ya BE ~ PART",
        "=todo|eso|esto ~ BE ~ PART",
        "=^ ~ NOW ~ PART",
        "=quedó|queda|quedaste ~ PART",
        "=SU !PERSON * se ~ PRET3",
        "=ART * THING * se ~ PRET3",
        "=ya se ~ !inscribió|registró PRET3",
        "=se le|les ~ PRET3",
        "=^ se ~ PRET3",
        "=THING BE|ha|ha ~ sido SUCCESS",
        "=THING BE ~ SUCCESS",
        "^ ~ THING ~ PART|COMPLETE|SUCCESS $",
        "=SU * ha|han ~ sido|quedado ~ OPEN",
        "=SU * quedó|quedaron ~ OPEN",
        "^ PART $",
        "^ DONEWORD $",
    ],
};

/// The words that a regular verb gives.
fn forms(verb: &str) -> Vec<(&'static str, String)> {
    let (stem, is_ar) = match verb.strip_suffix("ar") {
        Some(stem) => (stem.to_owned(), true),
        None => (verb[..verb.len() - 2].to_owned(), false),
    };
    let soft = match stem.chars().last() {
        Some('c') if is_ar => format!("{}qu", &stem[..stem.len() - 1]),
        Some('g') if is_ar => format!("{stem}u"),
        Some('z') if is_ar => format!("{}c", &stem[..stem.len() - 1]),
        _ => stem.clone(),
    };
    let (i, he, we, part) = match is_ar {
        true => ("é", "ó", "amos", "ad"),
        false => ("í", "ió", "imos", "id"),
    };
    let mut forms = vec![
        ("PRET1", format!("{soft}{i}")),
        ("PRET3", format!("{stem}{he}")),
        ("PLURAL1", format!("{stem}{we}")),
        ("INF", verb.to_owned()),
    ];
    let endings = ["o", "a", "os", "as"].into_iter();
    forms.extend(endings.map(|ending| ("PART", format!("{stem}{part}{ending}"))));
    let objects = ["le", "les", "lo", "la", "los", "las", "te"].into_iter();
    forms.extend(objects.map(|object| ("INF", format!("{verb}{object}"))));
    for object in ["lo", "la", "los", "las"] {
        for to in ["se", "te"] {
            let stressed = ["ar", "er", "ir"].into_iter().zip(["ár", "ér", "ír"]);
            for (plain, accent) in stressed {
                if let Some(stem) = verb.strip_suffix(plain) {
                    forms.push(("INF", format!("{stem}{accent}{to}{object}")));
                }
            }
        }
    }
    forms
}
