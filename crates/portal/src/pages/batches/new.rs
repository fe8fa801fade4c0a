//! A new batch: a form, a review of the list, then sending.

use std::time::Duration;

use maud::Render as _;
use offhook_http::Code;
use offhook_services::BatchBody;
use offhook_services::store::Batch;

use super::rows::{Look, Rows};
use super::{callers, calls_from, no_callers, number_named};
use crate::parts::sample;
use crate::parts::words::count;
use crate::prelude::*;
use crate::visit::upload::{self, FILE_TEXT, SentFile};
use crate::visit::{Upload, first};

/// The largest list: ten thousand people with 400 characters each. The API takes larger ones.
const MOST: usize = 4 * 1024 * 1024;

/// The most numbers that a choice offers.
const NUMBERS: u32 = 300;

/// How far in the past a start may be: choosing the current minute leaves time for the rest of the form.
const SLACK: Duration = Duration::from_secs(60);

/// UTC offsets that are not whole hours: hours and minutes.
const ODD: [(i32, i32); 11] = [
    (-9, -30),
    (-3, -30),
    (3, 30),
    (4, 30),
    (5, 30),
    (5, 45),
    (6, 30),
    (8, 45),
    (9, 30),
    (10, 30),
    (12, 45),
];

/// The fields that are carried from page to page.
const KEPT: [&str; 5] = [
    "name",
    "agent_id",
    "phone_number_id",
    "scheduled_at",
    "offset",
];

/// `GET /portal/batch-calls/new`
pub(super) async fn form(visit: Visit<Developer>) -> Answer {
    let is_to_be_sent = visit.request().path().ends_with("/send");
    let first = visit.t("Choose a list first.", "Elige primero una lista.");
    let body = page(&visit, visit.query(), is_to_be_sent.then_some(first)).await?;
    Ok(visit.page(Section::Batches, title(&visit), &body))
}

/// `POST /portal/batch-calls/new`: writes nothing; shows the list for review.
pub(super) async fn look(mut upload: Upload<Developer>) -> Answer {
    let (fields, file) = upload::read(&mut upload, MOST).await;
    match looked_at(&upload, &fields, file).await {
        Ok(body) => Ok(upload.page(Section::Batches, look_title(&upload), &body)),
        Err(trouble) => {
            let message = upload.message_of(trouble, &labels(upload.lang()))?;
            let body = page(&upload, &fields, Some(&message)).await?;
            Ok(upload.refused(Section::Batches, title(&upload), &body))
        }
    }
}

/// `GET /portal/batch-calls/send`: a list is kept by its page alone.
pub(super) async fn gone(visit: Visit<Developer>) -> Answer {
    let message = visit.t("Choose the list first.", "Primero elige la lista.");
    Ok(visit.go("/batch-calls/new", message))
}

/// `POST /portal/batch-calls/send`
pub(super) async fn send(mut upload: Upload<Developer>) -> Answer {
    let (fields, file) = upload::read_again(&mut upload, MOST).await;
    match taken(&upload, &fields, file).await {
        Ok(id) => {
            let message = upload.t("Batch created.", "Lote creado.");
            let path = format!("/batch-calls/{id}");
            upload.done_once("batch.create", id, &path, message).await
        }
        Err(trouble) => {
            let t = upload.lang();
            let message = upload.message_of(trouble, &labels(t))?;
            let rows = list_of(&fields, t);
            let rows = rows.and_then(|rows| begins_at(&fields, upload.now(), t).map(|_| rows));
            // If the list and the start are valid, other errors are fixed on the review page.
            let (title, body) = match rows {
                Ok(rows) => {
                    let body = look_page(&upload, &fields, &rows, Some(&message)).await?;
                    (look_title(&upload), body)
                }
                Err(_) => (
                    title(&upload),
                    page(&upload, &fields, Some(&message)).await?,
                ),
            };
            Ok(upload.refused(Section::Batches, title, &body))
        }
    }
}

pub(super) fn title(visitor: &Visitor) -> &'static str {
    visitor.t("Create batch", "Crear lote")
}

fn look_title(visitor: &Visitor) -> &'static str {
    visitor.t("Review the list", "Revisar la lista")
}

fn refused(message: impl Into<String>) -> Trouble {
    Code::InvalidBody.error(message.into()).into()
}

/// The labels of a batch's fields.
const fn labels(t: Lang) -> [(&'static str, &'static str); 4] {
    [
        ("name", t.t("Name", "Nombre")),
        ("agent_id", t.t("Agent", "Agente")),
        (
            "phone_number_id",
            t.t("Number to call from", "Número desde el que se llama"),
        ),
        ("scheduled_at", t.t("Start at", "Comenzar el")),
    ]
}

async fn page(visitor: &Visitor, fields: &Fields, message: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    let agents = callers(visitor).await?;
    if agents.is_empty() {
        let back = ("/batch-calls", t.t("Back to batches", "Volver a los lotes"));
        return Ok(list::empty(
            t.t("No agent available", "Ningún agente disponible"),
            no_callers(t),
            Some(back),
        ));
    }
    let numbers = visitor.services().numbers();
    let numbers = numbers.list(visitor.account(), None, first(NUMBERS));
    let numbers = numbers.await?.items;
    let numbers = numbers.iter().map(number_named);
    let usual = t.t("+00:00", "-06:00");
    Ok(html! {
        (form::refusal(message))
        (upload::form(visitor, "/batch-calls/new", MOST, &html! {
            (Input::text("name", t.t("Name", "Nombre")).value(fields.text("name")).required())
            (agents.field(visitor, "agent_id", t.t("Agent", "Agente"), fields.text("agent_id"), None))
            (Select::new("phone_number_id", t.t("Number to call from", "Número desde el que se llama"))
                .option("", t.t("Agent's number", "Número del agente"))
                .options(numbers)
                .chosen(fields.text("phone_number_id")))
            fieldset {
                legend { (t.t("When", "Cuándo")) }
                (Input::text("scheduled_at", t.t("Start at", "Comenzar el")).kind("datetime-local").value(fields.text("scheduled_at")).hint(t.t(
                    "Leave empty to start now.",
                    "Déjalo vacío para comenzar ahora.",
                )))
                (Select::new("offset", t.t("Time zone", "Zona horaria"))
                    .options(offsets(t))
                    .chosen(fields.get("offset").unwrap_or(usual)))
            }
            (upload::chooser(t.t("List of people (CSV)", "Lista de personas (CSV)"), ".csv,.txt,.tsv,text/csv", t.t(
                "The first row names the columns. One column has the phone numbers, with + and the country code. The others become conversation variables. Up to 10,000 people and 4 MiB.",
                "La primera fila nombra las columnas. Una columna tiene los números, con + y el código del país. Las demás se vuelven variables de la conversación. Hasta 10,000 personas y 4 MiB.",
            )))
            (sample::code(t, "csv", t.t("Example", "Ejemplo"), "to,name\n+525512345678,Ana"))
            p { button.primary type="submit" { (t.t("Review the list", "Revisar la lista")) } }
            p.hint { (t.t("No calls are placed yet.", "Todavía no se hace ninguna llamada.")) }
        }))
    })
}

/// UTC offsets as in timestamps. Where clocks change during the year, the offset is that of the chosen day.
fn offsets(t: Lang) -> Vec<(String, String)> {
    let mut all: Vec<(i32, i32)> = (-12..=14).map(|hours| (hours, 0)).chain(ODD).collect();
    all.sort_unstable_by_key(|(hours, minutes)| hours * 60 + minutes);
    let named = all.into_iter().map(|(hours, minutes)| {
        let sign = if hours < 0 { '-' } else { '+' };
        let value = format!("{sign}{:02}:{:02}", hours.abs(), minutes.abs());
        let place = match (hours, minutes) {
            (-8, 0) => t.t(" Tijuana (winter)", " Tijuana (invierno)"),
            (-7, 0) => t.t(" Hermosillo, Mazatlán", " Hermosillo, Mazatlán"),
            (-6, 0) => t.t(" Mexico City, Monterrey", " Ciudad de México, Monterrey"),
            (-5, 0) => t.t(" Cancún, Bogotá, Lima", " Cancún, Bogotá, Lima"),
            (-3, 0) => " Buenos Aires",
            _ => "",
        };
        (value.clone(), format!("UTC{value}{place}"))
    });
    named.collect()
}

/// The zone of the start, as the choice has it.
fn zone(fields: &Fields, t: Lang) -> String {
    let chosen = fields.get("offset").unwrap_or("");
    let named = offsets(t).into_iter().find(|(value, _)| value == chosen);
    named.map_or_else(|| format!("UTC{chosen}"), |(_, name)| name)
}

async fn looked_at(
    visitor: &Visitor,
    fields: &Fields,
    file: Result<Option<SentFile>>,
) -> Result<Markup> {
    let t = visitor.lang();
    let none = || refused(t.t("Choose a file first.", "Primero elige un archivo."));
    let file = file?.ok_or_else(none)?;
    let rows = Rows::read(&file.content, t).map_err(refused)?;
    begins_at(fields, visitor.now(), t).map_err(refused)?;
    let mut fields = fields.clone();
    // UTF-8, as it was just read.
    fields.push(FILE_TEXT, &String::from_utf8_lossy(&file.content));
    let to = column(&fields, &rows);
    // The phone number column too, since another column may be chosen for that.
    for at in rows.variables(to).into_iter().chain([to]) {
        fields.push("keep", &at.to_string());
    }
    // A list that is submitted twice creates one batch.
    fields.push("once", &format!("portal-{}", visitor.request_id()));
    look_page(visitor, &fields, &rows, None).await
}

fn list_of(fields: &Fields, t: Lang) -> Result<Rows, String> {
    Rows::read(fields.raw(FILE_TEXT).as_bytes(), t)
}

/// The chosen column of numbers, or the likely one.
fn column(fields: &Fields, rows: &Rows) -> usize {
    let chosen = fields.get("column").and_then(|at| at.parse().ok());
    let chosen = chosen.filter(|at| *at < rows.columns.len());
    chosen.unwrap_or_else(|| rows.likely())
}

async fn look_page(
    visitor: &Visitor,
    fields: &Fields,
    rows: &Rows,
    message: Option<&str>,
) -> Result<Markup> {
    let t = visitor.lang();
    let to = column(fields, rows);
    let look = rows.look(to);
    let columns = rows.columns.iter().enumerate();
    let variables = rows.variables(to);
    let (named, nameless): (Vec<_>, Vec<_>) = columns
        .clone()
        .partition(|(at, _)| *at == to || variables.contains(at));
    let chosen = to.to_string();
    let about_to_happen = about_to_happen(visitor, fields, &look).await?;
    Ok(html! {
        (form::refusal(message))
        (about_to_happen)
        (judged(&look, t))
        (unnamed(&nameless, t))
        h2 { (t.t("First rows", "Primeras filas")) }
        (first_rows(rows, &look, t))
        (upload::form(visitor, "/batch-calls/send", MOST, &html! {
            @for name in KEPT { input type="hidden" name=(name) value=(fields.text(name)); }
            input type="hidden" name="once" value=(fields.text("once"));
            h2 { (t.t("Columns", "Columnas")) }
            (Select::new("column", t.t("Phone number column", "Columna de los números"))
                .options(columns.map(|(at, name)| (at.to_string(), shown_name(at, name, t))))
                .chosen(&chosen))
            fieldset {
                legend { (t.t("Variables for the agent", "Variables para el agente")) }
                @for (at, name) in named {
                    @let value = at.to_string();
                    (form::check("keep", &value, &shown_name(at, name, t), fields.all("keep").any(|kept| kept == value)))
                }
                p.hint { (t.t("The phone number column is never a variable.", "La columna de los números nunca es una variable.")) }
            }
            // Last, since it is the longest: the list itself.
            input type="hidden" name=(FILE_TEXT) value=(fields.raw(FILE_TEXT));
            button.primary type="submit" { (begin(&look, fields, t)) }
        }))
        p { a href={ (crate::PATH) "/batch-calls/new" } { (t.t("Start over", "Empezar de nuevo")) } }
    })
}

/// Who calls, from which number, how many people, and when.
async fn about_to_happen(visitor: &Visitor, fields: &Fields, look: &Look) -> Result<Markup> {
    let t = visitor.lang();
    let agents = callers(visitor).await?;
    let agent = agents.name(fields.text("agent_id"));
    let number = calls_from(visitor, fields.text("phone_number_id")).await;
    let begins = match fields.get("scheduled_at") {
        None => t.t("Now", "Ahora").to_owned(),
        Some(local) => format!("{}, {}", local.replace('T', " "), zone(fields, t)),
    };
    Ok(html! {
        dl.facts {
            (list::fact(t.t("Agent", "Agente"), agent))
            (list::fact(t.t("Calls from", "Llama desde"), number))
            (list::fact(t.t("People", "Personas"), people(look)))
            (list::fact(t.t("Starts", "Comienza"), begins))
        }
    })
}

/// How many people the list holds.
fn people(look: &Look) -> String {
    count(i64::try_from(look.total).unwrap_or(i64::MAX))
}

/// The button's label, with the number of people.
fn begin(look: &Look, fields: &Fields, t: Lang) -> String {
    let people = people(look);
    let now = fields.get("scheduled_at").is_none();
    match now {
        true => text!(t, "Call now ({people})", "Llamar ahora ({people})"),
        false => text!(t, "Schedule ({people})", "Programar ({people})"),
    }
}

/// Findings in the whole list.
fn judged(look: &Look, t: Lang) -> Markup {
    let rows: Vec<String> = look.bad.iter().map(ToString::to_string).collect();
    let rows = rows.join(", ");
    let (bad, repeated) = (look.bad_total, look.repeated);
    html! {
        @if bad > 0 {
            p.warning { (text!(t,
                "Rows with a number that cannot be called: {bad}, including row {rows}. Choose the right column below, or fix the file.",
                "Filas con un número al que no se puede llamar: {bad}, incluida la fila {rows}. Elige abajo la columna correcta, o corrige el archivo.")) }
        }
        @if repeated > 0 {
            p.warning { (match repeated {
                1 => t.t(
                    "1 number appears more than once and will be called once for each of its rows.",
                    "1 número aparece más de una vez y se le llamará una vez por cada una de sus filas.",
                ).to_owned(),
                _ => text!(t,
                    "{repeated} numbers appear more than once and will be called once for each of their rows.",
                    "{repeated} números aparecen más de una vez y se les llamará una vez por cada una de sus filas."),
            }) }
        }
    }
}

/// The name of a column in a choice, or which one it is.
fn shown_name(at: usize, name: &str, t: Lang) -> String {
    match name {
        "" => format!("{} {}", t.t("Column", "Columna"), at + 1),
        name => name.to_owned(),
    }
}

/// The columns that cannot become variables.
fn unnamed(columns: &[(usize, &String)], t: Lang) -> Markup {
    let places: Vec<String> = columns.iter().map(|(at, _)| (at + 1).to_string()).collect();
    let places = places.join(", ");
    html! {
        @if !columns.is_empty() {
            p.warning { (text!(t,
                "Columns left out because they have no unique name in the first row: {places}. To include them, give each its own name in the file. \"to\" is the name of the phone number column.",
                "Columnas omitidas porque no tienen un nombre único en la primera fila: {places}. Para incluirlas, da a cada una su propio nombre en el archivo. \"to\" es el nombre de la columna de los números.")) }
        }
    }
}

fn first_rows(rows: &Rows, look: &Look, t: Lang) -> Markup {
    let mut table = Table::of(t.t("First rows", "Primeras filas"), &look.first);
    table = table.column(t.t("Number", "Número"), |(_, fault)| html! { @match fault {
        None => { (badge(Tone::Good, t.t("Can be called", "Se puede llamar"))) }
        Some(fault) => { (badge(Tone::Bad, t.t("Cannot be called", "No se puede llamar"))) p.hint { (fault_name(*fault, t)) } }
    } });
    for (at, name) in rows.columns.iter().enumerate() {
        table = table.column(name, |(cells, _)| cells.get(at).map_or("", String::as_str));
    }
    table.render()
}

wording! {
    /// What is wrong with a number.
    fault_name(E164Error) {
        NoPlus | PlusLost => "The + and country code are missing. Write it as +5215512345678.",
            "Faltan el + y el código del país. Escríbelo como +5215512345678.";
        Malformed => "Not a phone number. Write + and 7 to 15 digits, as in +5215512345678.",
            "No es un número telefónico. Escribe + y de 7 a 15 dígitos, como en +5215512345678.";
    }
}

/// When the batch starts; `None` is now. The API also starts a past one at once, but here the page would have said that its
/// calls are scheduled.
fn begins_at(fields: &Fields, now: Timestamp, t: Lang) -> Result<Option<Timestamp>, String> {
    let Some(local) = fields.get("scheduled_at") else {
        return Ok(None);
    };
    let text = format!("{local}{}", fields.get("offset").unwrap_or("Z"));
    let Ok(at) = Timestamp::parse_from(&text) else {
        let message = t.t(
            "\"Start at\" must be a date and time, such as 2026-11-22T09:00.",
            "\"Comenzar el\" debe ser una fecha y hora, como 2026-11-22T09:00.",
        );
        return Err(message.to_owned());
    };
    if at < now.minus(SLACK) {
        let (local, zone) = (local.replace('T', " "), zone(fields, t));
        return Err(text!(
            t,
            "\"Start at\" is in the past: {local}, {zone}. Choose a later time, or leave it empty to start now.",
            "\"Comenzar el\" ya pasó: {local}, {zone}. Elige una hora posterior, o déjalo vacío para comenzar ahora."
        ));
    }
    Ok(Some(at))
}

async fn taken(
    visitor: &Visitor,
    fields: &Fields,
    file: Result<Option<SentFile>>,
) -> Result<BatchId> {
    let t = visitor.lang();
    file?;
    let rows = list_of(fields, t).map_err(refused)?;
    let to = column(fields, &rows);
    let kept = fields.all("keep").filter_map(|at| at.parse().ok());
    let kept: Vec<usize> = kept.collect();
    let mut members = vec![
        ("name", Json::from(fields.text("name"))),
        ("agent_id", Json::from(fields.text("agent_id"))),
    ];
    if let Some(number) = fields.get("phone_number_id") {
        members.push(("phone_number_id", Json::from(number)));
    }
    if let Some(at) = begins_at(fields, visitor.now(), t).map_err(refused)? {
        members.push(("scheduled_at", Json::from(at.to_string().as_str())));
    }
    let body = BatchBody::Csv {
        fields: Json::object(members),
        file: rows.sent(to, &kept),
    };
    let once = fields.get("once").filter(|once| once.len() <= 64);
    let once = once.map(str::to_owned);
    let batches = visitor.services().batches();
    let reply = batches.create(visitor.caller(), once, &body, printed);
    id_of(&reply.await?.location)
}

/// The stored result of a submission: its location is enough.
pub(super) fn printed(_: &Batch) -> Vec<u8> {
    Vec::new()
}

/// The batch of a `Location`.
fn id_of(location: &str) -> Result<BatchId> {
    let id = location.rsplit('/').next().unwrap_or("");
    id.parse().map_err(|_| Trouble::not_found())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starting(local: &str) -> Fields {
        let mut fields = Fields::default();
        fields.push("scheduled_at", local);
        fields.push("offset", "-06:00");
        fields
    }

    #[test]
    fn a_start_may_lie_a_minute_in_the_past() {
        let at = Timestamp::parse_from("2026-11-22T15:00:00Z").unwrap();
        let fields = starting("2026-11-22T09:00");
        let seen = |seconds| begins_at(&fields, at.plus(Duration::from_secs(seconds)), Lang::En);
        assert_eq!(seen(60), Ok(Some(at)));
        let message = seen(61).unwrap_err();
        assert!(
            message.contains("2026-11-22 09:00, UTC-06:00 Mexico City"),
            "{message}"
        );
    }

    #[test]
    fn every_offset_is_one_of_a_timestamp() {
        for (value, _) in offsets(Lang::En) {
            let text = format!("2026-11-22T09:00{value}");
            assert!(Timestamp::parse_from(&text).is_ok(), "{text}");
        }
        let all: Vec<String> = offsets(Lang::En).into_iter().map(|(at, _)| at).collect();
        assert_eq!(all[..4], ["-12:00", "-11:00", "-10:00", "-09:30"]);
        assert_eq!(
            all[all.len() - 4..],
            ["+12:00", "+12:45", "+13:00", "+14:00"]
        );
    }
}
