//! Portuguese.

use super::{ANY, ARRANGE, CANCEL, Grammar, PAY, SEND, TELL};

pub(super) const GRAMMAR: Grammar = Grammar {
    tag: "pt",
    words: &[
        (
            "FILL",
            0,
            "já lhe lhes o a os as te se me nos também agora mesmo tudo você com sucesso corretamente devidamente imediatamente aqui",
        ),
        (
            "NOT",
            0,
            "não nunca nem sem nada nenhum nenhuma ninguém tampouco",
        ),
        (
            "NEVER",
            0,
            "não nunca nem sem nada nenhum nenhuma ninguém tampouco",
        ),
        (
            "IF",
            0,
            "se quando assim depois antes até enquanto sei ver verificar verifico vejo parece segundo conforme consta disse mencionou quer quero pode porque quem qual onde infelizmente certificar importante precisa",
        ),
        ("RESET", 0, "confirmo informo mas"),
        ("TAG", 0, "certo correto verdade né não sim"),
        (
            "GENERAL",
            0,
            "se quando automaticamente todo cada após depois só somente",
        ),
        ("SEU", 0, "seu sua seus suas teu tua teus tuas"),
        ("ART", 0, "o a os as um uma"),
        ("BE", 0, "está estão foi foram ficou ficaram fica"),
        (
            "PART",
            ARRANGE,
            "feito feita feitos feitas posto posta aberto aberta resolvido resolvida inscrito inscrita salvo salva salvos salvas aceito aceita",
        ),
        ("PART", SEND, "entregue entregues"),
        ("PART", PAY, "pago paga pagos pagas"),
        (
            "COMPLETE",
            ARRANGE,
            "completo completa ativo ativa pronto pronta concluído concluída",
        ),
        (
            "STATE",
            ARRANGE,
            "inscrito inscrita registrado registrada registado agendado agendada cadastrado cadastrada confirmado confirmada",
        ),
        ("PRET1", ARRANGE, "pus abri"),
        ("DONEWORD", ANY, "feito"),
        ("CARE", ANY, "cuidei tratei"),
        ("MADE", ARRANGE, "fiz fizemos dei"),
        (
            "THING",
            0,
            "consulta consultas reserva reservas pedido pedidos mesa quarto bilhete bilhetes ingresso ingressos solicitação mensagem fatura reunião sessão sessões visita pagamento reembolso registro registo inscrição conta assinatura plano apólice alteração alterações mudança transferência entrega lugar assento voo cobrança queixa reclamação cancelamento passagem agendamento marcação encomenda cadastro entrada troca peça táxi horário",
        ),
        (
            "FILE",
            0,
            "ficha cadastro conta perfil pedido sistema reserva lista prontuário",
        ),
        ("NOTED", ARRANGE, "anotei anotamos anotado anotada"),
        ("NOTE", ARRANGE, "nota recado observação"),
        ("SAID", TELL, "avisei informei notifiquei pedi"),
        ("INF", ARRANGE, "fazer pôr"),
    ],
    verbs: &[
        (
            ARRANGE,
            "reservar agendar reagendar marcar remarcar programar confirmar registrar registar cadastrar inscrever atualizar mudar alterar trocar mover adicionar acrescentar guardar salvar criar ativar reativar desbloquear bloquear atribuir aplicar aprovar corrigir encomendar adiar pausar vincular conectar redefinir reiniciar concluir finalizar anexar imprimir iniciar aumentar reduzir baixar dividir fixar configurar prolongar renovar realizar efetuar liberar solicitar organizar modificar separar incluir colocar antecipar resgatar prorrogar reportar escalar restabelecer restaurar gerar ajustar autorizar congelar validar instalar estender ampliar comprar lançar protocolar",
        ),
        (
            CANCEL,
            "cancelar eliminar excluir apagar remover retirar tirar desativar encerrar suspender desmarcar isentar",
        ),
        (
            SEND,
            "enviar mandar compartilhar partilhar reenviar encaminhar despachar",
        ),
        (
            PAY,
            "pagar cobrar reembolsar estornar creditar transferir emitir processar devolver debitar",
        ),
        (
            TELL,
            "avisar informar notificar comunicar convidar passar repassar pedir",
        ),
    ],
    forms,
    is_participle: |_| false,
    patterns: &[
        "-PRET1",
        "-já ~ PLURAL1",
        "-MADE * THING",
        "-já CARE",
        "-CARE disso|deste|desse",
        "-chamei um|o táxi",
        "-acabei|acabamos de ~ INF",
        "-consegui|conseguimos ~ INF",
        "-deixei|deixamos * PART|NOTE",
        "-NOTED * na|no|em * FILE",
        "-tenho|temos ~ PART para",
        "=SEU * BE ~ PART|COMPLETE !GENERAL",
        "=ART * THING * BE ~ PART|COMPLETE !GENERAL",
        "=^ THING BE ~ PART|COMPLETE !GENERAL",
        "=ART * foi|foram ~ PART !GENERAL",
        "=você ~ está|foi|ficou ~ PART|STATE",
        "=já ~ está|estão|ficou|foi|foram ~ PART",
        "=tudo|isso ~ está|ficou|foi ~ PART",
        "^ ~ está|ficou|fica ~ PART",
        "^ ~ THING ~ PART|COMPLETE $",
        "^ ~ PART $",
        "^ ~ DONEWORD $",
    ],
};

/// The words that a regular verb gives.
fn forms(verb: &str) -> Vec<(&'static str, String)> {
    let Some((stem, end)) = verb.split_at_checked(verb.len() - 2) else {
        return Vec::new();
    };
    let soft = match stem.chars().last() {
        Some('c') if end == "ar" => format!("{}qu", &stem[..stem.len() - 1]),
        Some('g') if end == "ar" => format!("{stem}u"),
        Some('ç') if end == "ar" => format!("{}c", &stem[..stem.len() - 'ç'.len_utf8()]),
        _ => stem.to_owned(),
    };
    let (i, we, part) = match end {
        "ar" => ("ei", "amos", "ad"),
        "er" => ("i", "emos", "id"),
        _ => ("i", "imos", "id"),
    };
    // "Incluir" has "incluí" and "incluído".
    let (i, part) = match stem.ends_with('u') && end == "ir" {
        true => ("í", "íd"),
        false => (i, part),
    };
    let mut forms = vec![
        ("PRET1", format!("{soft}{i}")),
        ("PLURAL1", format!("{stem}{we}")),
        ("INF", verb.to_owned()),
    ];
    let endings = ["o", "a", "os", "as"].into_iter();
    forms.extend(endings.map(|ending| ("PART", format!("{stem}{part}{ending}"))));
    forms
}
