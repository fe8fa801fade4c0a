//! A tool as the fields of a form, and back. Header values are never sent to a page: an empty one keeps the stored value.

use offhook_domain::json::Fault;
use offhook_domain::tool::{HIDDEN, HttpMethod, ToolKind};
use offhook_services::ToolView;

use super::{kind_name, kind_use};
use crate::pages::agents::document::{
    cell, number, objects, parse, patch, plain, pretty, rows, rows_and_more, unix_lines,
};
use crate::parts::form::{check, form, refusal};
use crate::parts::version::{SHOWN_VERSION, hidden};
use crate::prelude::*;

const HEADERS: (&str, [&str; 2]) = ("http.headers", ["name", "value"]);
const TARGETS: (&str, [&str; 2]) = ("transfer.targets", ["name", "to"]);

/// The checkbox beside a stored header.
const REMOVE: &str = "remove";

/// A header that is stored.
const STORED: &str = "stored";

/// The fields of a form that shows this tool.
pub(super) fn fields_of(tool: &ToolView) -> Fields {
    let definition = &tool.definition;
    let mut fields = Fields::default();
    // Header values are on no page: another revision may have others.
    fields.push(SHOWN_VERSION, &tool.row.revision.to_string());
    for name in ["name", "description", "kind"] {
        fields.push(name, &definition.get(name).map(plain).unwrap_or_default());
    }
    let schema = definition.get("parameters").map(pretty);
    fields.push("parameters", &schema.unwrap_or_default());
    let http = server(definition);
    for name in ["method", "url", "timeout_ms"] {
        let value = http.get(name).map(plain).unwrap_or_default();
        fields.push(&format!("http.{name}"), &value);
    }
    let functions = http.get("functions").and_then(Json::as_array);
    let functions = functions.unwrap_or_default().iter().map(plain);
    fields.push("mcp.functions", &functions.collect::<Vec<_>>().join("\n"));
    for (place, name) in stored_headers(definition).iter().enumerate() {
        fields.push(&cell(HEADERS.0, place, "name"), name);
        fields.push(&cell(HEADERS.0, place, STORED), name);
    }
    let transfer = definition
        .get("transfer")
        .and_then(|transfer| transfer.get("targets"));
    let targets = transfer.and_then(Json::as_array).unwrap_or_default();
    for (place, target) in targets.iter().enumerate() {
        for name in TARGETS.1 {
            let value = target.get(name).map(plain).unwrap_or_default();
            fields.push(&cell(TARGETS.0, place, name), &value);
        }
    }
    fields
}

/// The labels of a tool's fields.
pub(super) const fn labels(t: Lang) -> [(&'static str, &'static str); 12] {
    [
        ("name", t.t("Name", "Nombre")),
        ("description", t.t("Description", "Descripción")),
        (
            "parameters",
            t.t("Arguments (JSON Schema)", "Argumentos (JSON Schema)"),
        ),
        ("http.method", t.t("Method", "Método")),
        ("http.url", "URL"),
        ("http.timeout_ms", timeout_label(t)),
        ("http.headers", t.t("Headers", "Encabezados")),
        ("mcp.url", "URL"),
        ("mcp.timeout_ms", timeout_label(t)),
        ("mcp.headers", t.t("Headers", "Encabezados")),
        ("mcp.functions", t.t("Functions", "Funciones")),
        ("transfer.targets", t.t("Transfer to", "Transferir a")),
    ]
}

const fn timeout_label(t: Lang) -> &'static str {
    t.t("Timeout, in ms", "Tiempo límite, en ms")
}

/// Where the requests of a tool go. The fields of both kinds have the names of `http`.
fn server(definition: &Json) -> &Json {
    let mut kinds = ["http", "mcp"]
        .iter()
        .filter_map(|kind| definition.get(kind));
    kinds
        .find(|server| **server != Json::Null)
        .unwrap_or(&Json::Null)
}

/// The names of the headers that are stored.
fn stored_headers(definition: &Json) -> Vec<String> {
    let headers = server(definition).get("headers");
    let headers = headers.and_then(Json::as_object).unwrap_or_default().iter();
    headers.map(|(name, _)| name.clone()).collect()
}

/// What is sent to make a tool, or to change the one of this definition.
///
/// # Errors
/// What the form cannot say in JSON.
pub(super) fn body_of(
    kind: ToolKind,
    fields: &Fields,
    before: Option<&Json>,
) -> Result<Json, FieldError> {
    let mut body = vec![
        ("name", Json::from(fields.text("name"))),
        (
            "description",
            Json::from(unix_lines(fields.text("description")).as_str()),
        ),
    ];
    if before.is_none() {
        body.push(("kind", Json::from(kind.as_str())));
    }
    if matches!(kind, ToolKind::Http | ToolKind::EndCall) {
        body.extend(parameters(fields, before)?.map(|schema| ("parameters", schema)));
    }
    match kind {
        ToolKind::Http | ToolKind::Mcp => body.push((kind.as_str(), http(kind, fields, before)?)),
        ToolKind::Transfer => {
            let targets = objects(fields, TARGETS.0, TARGETS.1);
            body.push(("transfer", Json::object([("targets", targets)])));
        }
        ToolKind::EndCall | ToolKind::Dtmf => {}
    }
    Ok(Json::object(body))
}

/// The patch for the schema of the arguments, which replaces the whole schema; `None` if it is unchanged, also if it is the
/// schema that a tool without one is shown with.
fn parameters(fields: &Fields, before: Option<&Json>) -> Result<Option<Json>, FieldError> {
    let text = fields.text("parameters");
    if text.is_empty() {
        return Ok(Some(Json::Null));
    }
    let wanted = parse(text).map_err(|fault| FieldError::new("parameters", fault))?;
    let old = before.and_then(|before| before.get("parameters"));
    Ok(match old {
        Some(old) if *old == wanted => None,
        Some(old) => Some(patch(old, &wanted)),
        None => Some(wanted),
    })
}

fn http(kind: ToolKind, fields: &Fields, before: Option<&Json>) -> Result<Json, FieldError> {
    let stored = before.map(stored_headers).unwrap_or_default();
    let mut headers: Vec<(String, Json)> = Vec::new();
    for row in rows(fields, HEADERS.0, HEADERS.1) {
        let [name, value] = row.values;
        if fields.is_set(&cell(HEADERS.0, row.place, REMOVE)) {
            continue;
        }
        let path = format!("{kind}.headers.{name}");
        if headers.iter().any(|(other, _)| other == name) {
            return Err(FieldError::new(path, Fault::Twice));
        }
        let value = match value {
            "" if stored.iter().any(|known| known.eq_ignore_ascii_case(name)) => HIDDEN,
            "" | HIDDEN => return Err(FieldError::new(path, Fault::Required)),
            value => value,
        };
        headers.push((name.to_owned(), Json::from(value)));
    }
    for name in stored {
        if !headers.iter().any(|(other, _)| *other == name) {
            headers.push((name, Json::Null));
        }
    }
    let timeout = match fields.text("http.timeout_ms") {
        "" => Json::Null,
        text => number(text),
    };
    let own = match kind {
        ToolKind::Mcp => {
            let names = fields.text("mcp.functions").split_whitespace();
            ("functions", names.map(Json::from).collect())
        }
        _ => ("method", Json::from(fields.text("http.method"))),
    };
    Ok(Json::object([
        own,
        ("url", Json::from(fields.text("http.url"))),
        ("headers", Json::Object(headers)),
        ("timeout_ms", timeout),
    ]))
}

/// The form of a tool of this kind.
pub(super) fn draw(
    visitor: &Visitor,
    path: &str,
    kind: ToolKind,
    fields: &Fields,
    message: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    html! {
        (refusal(message))
        p { (badge(Tone::Plain, kind_name(kind, t))) " " (kind_use(kind, t)) }
        (form(visitor, path, &html! {
            input type="hidden" name="kind" value=(kind.as_str());
            (hidden(fields))
            // Enter presses the first button.
            button.unseen type="submit" tabindex="-1" aria-hidden="true" { (t.t("Save", "Guardar")) }
            (Input::text("name", t.t("Name", "Nombre")).value(fields.raw("name")).required().hint(t.t(
                "The name the model uses: a lowercase letter, then lowercase letters, digits or _. Up to 64 characters.",
                "El nombre que usa el modelo: una minúscula, luego minúsculas, dígitos o _. Hasta 64 caracteres.")))
            (Input::text("description", t.t("Description", "Descripción")).rows(3).value(fields.raw("description")).required().hint(match kind {
                ToolKind::Mcp => t.t(
                    "What the server is for. The model reads it for functions that the server does not describe. Up to 1,024 characters.",
                    "Para qué es el servidor. El modelo la lee en las funciones que el servidor no describe. Hasta 1,024 caracteres."),
                _ => t.t(
                    "Tells the model when to use the tool. Up to 1,024 characters.",
                    "Le dice al modelo cuándo usar la herramienta. Hasta 1,024 caracteres."),
            }))
            @if matches!(kind, ToolKind::Http | ToolKind::Mcp) { (request(visitor, kind, fields)) }
            @if kind == ToolKind::Transfer { (targets(visitor, fields)) }
            @if matches!(kind, ToolKind::Http | ToolKind::EndCall) {
                (Input::text("parameters", t.t("Arguments (JSON Schema)", "Argumentos (JSON Schema)")).json(10).value(fields.raw("parameters")).hint(t.t(
                    "What the model fills in, as a JSON Schema of type object: {\"type\":\"object\",\"properties\":{\"order\":{\"type\":\"string\"}}}. Leave empty for none.",
                    "Lo que el modelo llena, como un JSON Schema de tipo object: {\"type\":\"object\",\"properties\":{\"pedido\":{\"type\":\"string\"}}}. Déjalo vacío si no hay.")))
            }
            button.primary type="submit" { (t.t("Save", "Guardar")) }
        }))
    }
}

fn request(visitor: &Visitor, kind: ToolKind, fields: &Fields) -> Markup {
    let t = visitor.lang();
    let methods = HttpMethod::ALL.iter().map(|method| method.as_str());
    let methods = methods.map(|method| (method, method));
    let all = rows_and_more(fields, HEADERS.0, HEADERS.1, fields.text("add"));
    html! {
        @if kind == ToolKind::Http { (Select::new("http.method", t.t("Method", "Método")).options(methods).chosen(fields.text("http.method")).hint(t.t(
            "GET and DELETE send the arguments in the query string, the others in a JSON body.",
            "GET y DELETE envían los argumentos en la consulta; los demás, en un cuerpo JSON."))) }
        (Input::text("http.url", "URL").value(fields.raw("http.url")).hint(t.t(
            "https:// and a public host name. Variables are not allowed.", "https:// y un nombre de host público. No se permiten variables.")))
        @if kind == ToolKind::Mcp {
            (Input::text("mcp.functions", t.t("Functions", "Funciones")).rows(4).value(fields.raw("mcp.functions")).required().hint(t.t(
                "1 to 16 names of functions of the server, one per line. The model sees them as tool__function.",
                "De 1 a 16 nombres de funciones del servidor, uno por línea. El modelo las ve como herramienta__función.")))
        }
        (Input::text("http.timeout_ms", timeout_label(t)).value(fields.raw("http.timeout_ms")).hint(t.t(
            "100 to 10,000. Default 5,000.", "De 100 a 10,000. Predeterminado: 5,000.")))
        fieldset.rows {
            legend { (t.t("Headers", "Encabezados")) }
            @for (place, row) in all.into_iter().enumerate() {
                @let [name, value] = row.values;
                @let stored = fields.text(&cell(HEADERS.0, row.place, STORED));
                @let removed = fields.is_set(&cell(HEADERS.0, row.place, REMOVE));
                @let name_field = cell(HEADERS.0, place, "name");
                @let value_field = cell(HEADERS.0, place, "value");
                div.row {
                    @if !stored.is_empty() { input type="hidden" name=(cell(HEADERS.0, place, STORED)) value=(stored); }
                    div.field {
                        label for={ "field-" (name_field) } { (t.t("Header", "Encabezado")) }
                        input id={ "field-" (name_field) } type="text" name=(name_field) value=(name) autocomplete="off" spellcheck="false";
                    }
                    div.field {
                        label for={ "field-" (value_field) } {
                            @if stored.is_empty() { (t.t("Value", "Valor")) }
                            @else { (t.t("Value (stored; leave empty to keep)", "Valor (guardado; déjalo vacío para conservarlo)")) }
                        }
                        input id={ "field-" (value_field) } type="password" name=(value_field) value=(value) autocomplete="off";
                    }
                    @if !stored.is_empty() { (check(&cell(HEADERS.0, place, REMOVE), "on", t.t("Remove", "Quitar"), removed)) }
                }
            }
            p.hint { (t.t(
                "Up to 20. Values are encrypted when saved and never shown again.",
                "Hasta 20. Los valores se cifran al guardarse y no se vuelven a mostrar.")) }
            button type="submit" name="add" value=(HEADERS.0) formnovalidate { (t.t("Add rows", "Agregar filas")) }
        }
    }
}

fn targets(visitor: &Visitor, fields: &Fields) -> Markup {
    let t = visitor.lang();
    let all = rows_and_more(fields, TARGETS.0, TARGETS.1, fields.text("add"));
    let labels = [t.t("Name", "Nombre"), t.t("Number", "Número")];
    html! {
        fieldset.rows {
            legend { (t.t("Transfer to", "Transferir a")) }
            @for (place, row) in all.into_iter().enumerate() {
                div.row {
                    @for (at, column) in TARGETS.1.into_iter().enumerate() {
                        @let name = cell(TARGETS.0, place, column);
                        div.field {
                            label for={ "field-" (name) } { (labels[at]) }
                            input id={ "field-" (name) } type="text" name=(name) value=(row.values[at]) autocomplete="off" spellcheck="false";
                        }
                    }
                }
            }
            p.hint { (t.t(
                "1 to 20. The model chooses by name (\"sales\"). Write numbers in E.164 format: +525512345678.",
                "De 1 a 20. El modelo elige por nombre (\"ventas\"). Escribe los números en formato E.164: +525512345678.")) }
            button type="submit" name="add" value=(TARGETS.0) formnovalidate { (t.t("Add rows", "Agregar filas")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(kind: ToolKind, form: &str, before: Option<&str>) -> String {
        let before = before.map(|text| Json::parse(text.as_bytes()).unwrap());
        let fields = Fields::parse(form.as_bytes());
        match body_of(kind, &fields, before.as_ref()) {
            Ok(body) => body.to_compact(),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn a_header_without_a_value_keeps_the_stored_one_and_one_that_is_removed_is_null() {
        let before = r#"{"http":{"headers":{"X-Key":"***","X-Old":"***"}}}"#;
        let form = "name=a&description=b&http.method=GET&http.url=https://a.example&http.timeout_ms=\
                    &http.headers[0].name=X-Key&http.headers[0].value=&http.headers[1].name=X-Old&http.headers[1].remove=on\
                    &http.headers[2].name=X-New&http.headers[2].value=secret";
        let message = r#"{"name":"a","description":"b","parameters":null,"http":{"method":"GET","url":"https://a.example","headers":{"X-Key":"***","X-New":"secret","X-Old":null},"timeout_ms":null}}"#;
        assert_eq!(body(ToolKind::Http, form, Some(before)), message);
    }

    #[test]
    fn a_schema_that_stays_as_it_is_shown_is_not_sent() {
        let before = r#"{"parameters":{"type":"object","properties":{}}}"#;
        let form = "name=a&description=b&parameters={\"type\":\"object\",%0D%0A\"properties\":{}}";
        let message = r#"{"name":"a","description":"b"}"#;
        assert_eq!(body(ToolKind::EndCall, form, Some(before)), message);
    }

    #[test]
    fn a_new_header_needs_its_value() {
        let form = "http.headers[0].name=X-Key&http.headers[0].value=";
        let message = "`http.headers.X-Key`: is required";
        assert_eq!(body(ToolKind::Http, form, None), message);
    }

    #[test]
    fn the_targets_of_a_transfer_are_the_rows_that_have_something_in_them() {
        let form = "name=a&description=b&transfer.targets[0].name=sales&transfer.targets[0].to=%2B525512345678\
                    &transfer.targets[1].name=&transfer.targets[1].to=";
        let message = r#"{"name":"a","description":"b","kind":"transfer","transfer":{"targets":[{"name":"sales","to":"+525512345678"}]}}"#;
        assert_eq!(body(ToolKind::Transfer, form, None), message);
    }
}
