//! Parses a tool field by field, in order.

use std::ops::RangeInclusive;

use super::{Described, HIDDEN, Header, HttpMethod, HttpRequest, Tool, ToolKind, TransferTarget};
use crate::E164;
use crate::json::{Fault, FieldError, Fields, Json, Result, check_string, item_path, member_path};

const NAME_CHARS: RangeInclusive<usize> = 1..=64;
const DESCRIPTION: RangeInclusive<usize> = 1..=1_024;
const URL: RangeInclusive<usize> = 1..=2_048;
const TIMEOUT_MS: RangeInclusive<i64> = 100..=10_000;
const DEFAULT_TIMEOUT_MS: i64 = 5_000;
const MAX_HEADERS: usize = 20;
const HEADER_VALUE: RangeInclusive<usize> = 1..=4_096;
const TARGETS: RangeInclusive<usize> = 1..=20;
const FUNCTIONS: RangeInclusive<usize> = 1..=16;

/// Fields of stored tools only.
pub(super) const FUNCTION: &str = "function";
pub(super) const DESCRIBED: &str = "described";

/// Headers that frame the request, or that the service sets itself.
const OWN_HEADERS: [&str; 14] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn tool(json: &Json, kept: &[Header]) -> Result<(Tool, Vec<Header>)> {
    let mut fields = Fields::of(json, "")?;
    let name = fields.required_string("name", 1..=usize::MAX)?;
    let name = identifier(name)
        .ok_or_else(|| fields.fault("name", Fault::ToolName))?
        .to_owned();
    let description = fields.required_string("description", DESCRIPTION)?;
    if description.trim().is_empty() {
        return Err(fields.fault("description", Fault::Blank));
    }
    let kind = fields
        .optional_choice::<ToolKind>("kind", ToolKind::choices)?
        .ok_or_else(|| fields.fault("kind", Fault::Required))?;
    let parameters = fields.present("parameters");
    let http = fields.optional_object("http")?;
    let transfer = fields.optional_object("transfer")?;
    let mcp = fields.optional_object("mcp")?;
    for (name, of, given) in [
        ("http", ToolKind::Http, http.is_some()),
        ("transfer", ToolKind::Transfer, transfer.is_some()),
        ("mcp", ToolKind::Mcp, mcp.is_some()),
    ] {
        if (kind == of) != given {
            let fault = if given {
                Fault::OfKind
            } else {
                Fault::RequiredOfKind
            };
            return Err(fields.fault(name, fault(of.as_str())));
        }
    }
    let targets = transfer.map(targets).transpose()?;
    let parameters = parameters_of(kind, parameters, targets.as_deref(), &fields)?;
    let mut functions = Vec::new();
    let (http, values) = match (http, mcp) {
        (Some(http), _) => {
            let (http, values) = request(http, None, kept)?;
            (Some(http), values)
        }
        (None, Some(mcp)) => {
            let (http, values) = request(mcp, Some((&name, &mut functions)), kept)?;
            (Some(http), values)
        }
        (None, None) => (None, Vec::new()),
    };
    fields.finish()?;
    let tool = Tool {
        name,
        description: description.to_owned(),
        kind,
        parameters,
        http,
        targets,
        functions,
        described: Vec::new(),
        function: None,
    };
    Ok((tool, values))
}

pub(super) fn merged(old: &Tool, patch: &Json, kept: &[Header]) -> Result<(Tool, Vec<Header>)> {
    let Some(changes) = patch.as_object() else {
        return Err(FieldError::new("", Fault::NotObject));
    };
    for name in ["id", "created_at", "updated_at"] {
        if patch.get(name).is_some() {
            return Err(FieldError::new(name, Fault::ReadOnly));
        }
    }
    for name in ["name", "description", "kind"] {
        if matches!(patch.get(name), Some(Json::Null)) {
            return Err(FieldError::new(name, Fault::Null));
        }
    }
    // Derived parameters are derived again.
    let mut members = old.to_json().as_object().unwrap_or_default().to_vec();
    let derived = old.parameters == derived(old.kind, old.targets.as_deref());
    members.retain(|(name, _)| name != "parameters" || !derived);
    // Stored header values are secrets for one server: they must not go to another one.
    let url = ["http", "mcp"]
        .iter()
        .find_map(|member| patch.get(member)?.get("url")?.as_str());
    let moves = url
        .zip(old.http.as_ref())
        .is_some_and(|(url, http)| origin(url) != origin(&http.url));
    let kept = if moves { &[] } else { kept };
    for (name, value) in &mut members {
        if let (true, "http" | "mcp", Json::Object(http)) = (moves, name.as_str(), value) {
            http.retain(|(name, _)| name != "headers");
        }
    }
    let before = Json::Object(members);
    // A patch removes what it sets to null. With the nulls kept, an unknown field is detected.
    if let Some((name, _)) = changes
        .iter()
        .find(|(name, value)| *value == Json::Null && old.to_json().get(name).is_none())
    {
        return Err(FieldError::new(member_path("", name), Fault::Unknown));
    }
    let (mut changed, values) = tool(&before.merge_patch(patch), kept)?;
    changed.function.clone_from(&old.function);
    Ok((changed, values))
}

/// The scheme, host and port of a URL, as written.
fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}").to_lowercase()
}

/// A stored tool; its header values are stored separately.
pub(super) fn stored(json: &Json) -> Result<Tool> {
    let headers = ["http", "mcp"]
        .iter()
        .find_map(|member| json.get(member)?.get("headers"));
    let names = headers.and_then(Json::as_object).unwrap_or_default();
    let kept: Vec<Header> = names
        .iter()
        .map(|(name, _)| (name.clone(), HIDDEN.to_owned()))
        .collect();
    let function = json.get(FUNCTION).and_then(Json::as_str);
    let described = json.get(DESCRIBED).and_then(Json::as_array);
    let mut shown = json.clone();
    if let Json::Object(members) = &mut shown {
        members.retain(|(name, _)| ![FUNCTION, DESCRIBED].contains(&name.as_str()));
    }
    let (stored, _) = tool(&shown, &kept)?;
    let described = described.unwrap_or_default().iter().map(|function| {
        let mut fields = Fields::of(function, DESCRIBED)?;
        Ok(Described {
            description: fields
                .required_string("description", DESCRIPTION)?
                .to_owned(),
            parameters: fields.required("parameters")?.clone(),
        })
    });
    Ok(Tool {
        function: function.map(str::to_owned),
        described: described.collect::<Result<_>>()?,
        ..stored
    })
}

/// `^[a-z][a-z0-9_]{0,63}$`.
fn identifier(text: &str) -> Option<&str> {
    let mut bytes = text.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase());
    let rest = bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    (first && rest && NAME_CHARS.contains(&text.len())).then_some(text)
}

/// The schema of the arguments. For a `transfer` and a `dtmf` tool it follows from the tool's type.
fn parameters_of(
    kind: ToolKind,
    given: Option<&Json>,
    targets: Option<&[TransferTarget]>,
    fields: &Fields<'_>,
) -> Result<Json> {
    let own = derived(kind, targets);
    match (kind, given) {
        (_, None) => Ok(own),
        (ToolKind::Http | ToolKind::EndCall, Some(given)) => match given {
            Json::Object(_) => Ok(given.clone()),
            _ => Err(fields.fault("parameters", Fault::Schema)),
        },
        (ToolKind::Transfer | ToolKind::Dtmf | ToolKind::Mcp, Some(given)) => {
            if given.canonical() == own.canonical() {
                return Ok(own);
            }
            Err(fields.fault("parameters", Fault::Derived(kind.as_str())))
        }
    }
}

/// The schema of a tool without a schema of its own.
fn derived(kind: ToolKind, targets: Option<&[TransferTarget]>) -> Json {
    let property = |name: &str, schema: Json| {
        Json::object([
            ("type", Json::from("object")),
            ("properties", Json::object([(name, schema)])),
            ("required", Json::Array(vec![Json::from(name)])),
            ("additionalProperties", Json::Bool(false)),
        ])
    };
    match kind {
        ToolKind::Http | ToolKind::EndCall | ToolKind::Mcp => Json::object([
            ("type", Json::from("object")),
            ("properties", Json::Object(Vec::new())),
        ]),
        ToolKind::Transfer => {
            let names = targets.unwrap_or_default().iter();
            let names = names.map(|target| Json::from(target.name.as_str()));
            let words = Json::object([
                ("type", Json::from("string")),
                ("enum", names.collect::<Json>()),
            ]);
            property("target", words)
        }
        ToolKind::Dtmf => {
            let digits = Json::object([
                ("type", Json::from("string")),
                (
                    "description",
                    Json::from("0-9, *, #, A-D; w waits half a second"),
                ),
                ("pattern", Json::from("^[0-9*#A-Dw]{1,32}$")),
            ]);
            property("digits", digits)
        }
    }
}

/// The request of an `http` tool; with a tool's name, those of an `mcp` tool, and its functions.
fn request(
    mut fields: Fields<'_>,
    mcp: Option<(&str, &mut Vec<String>)>,
    kept: &[Header],
) -> Result<(HttpRequest, Vec<Header>)> {
    let method = match mcp {
        Some(_) => HttpMethod::Post,
        None => fields
            .optional_choice::<HttpMethod>("method", HttpMethod::choices)?
            .ok_or_else(|| fields.fault("method", Fault::Required))?,
    };
    let url = fields.required_string("url", URL)?.to_owned();
    let values = headers(&mut fields, kept)?;
    let timeout_ms = fields
        .optional_integer("timeout_ms", TIMEOUT_MS)?
        .unwrap_or(DEFAULT_TIMEOUT_MS);
    if let Some((tool, functions)) = mcp {
        *functions = functions_of(tool, &mut fields)?;
    }
    fields.finish()?;
    let request = HttpRequest {
        method,
        url,
        headers: values.iter().map(|(name, _)| name.clone()).collect(),
        timeout_ms,
    };
    Ok((request, values))
}

/// An `mcp` tool's functions, each of which has another name for models.
fn functions_of(tool: &str, fields: &mut Fields<'_>) -> Result<Vec<String>> {
    let items = fields
        .optional_array("functions", FUNCTIONS)?
        .ok_or_else(|| fields.fault("functions", Fault::Required))?;
    let path = fields.path_of("functions");
    let mut functions: Vec<String> = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let fault = |fault: Fault| FieldError::new(item_path(&path, at), fault);
        let function = check_string(item, &(1..=128)).map_err(fault)?;
        let is_known = |b: u8| b.is_ascii_alphanumeric() || b"_-./".contains(&b);
        if !function.bytes().all(is_known) {
            return Err(fault(Fault::FunctionName));
        }
        let name = name_of(tool, function);
        if !NAME_CHARS.contains(&name.len()) {
            return Err(fault(Fault::FunctionTooLong));
        }
        if functions.iter().any(|other| name_of(tool, other) == name) {
            return Err(fault(Fault::Twice));
        }
        functions.push(function.to_owned());
    }
    Ok(functions)
}

/// Vendors take letters, digits, `_` and `-` in the name of a function.
pub(super) fn name_of(tool: &str, function: &str) -> String {
    format!("{tool}__{}", function.replace(['.', '/'], "_"))
}

fn headers(fields: &mut Fields<'_>, kept: &[Header]) -> Result<Vec<Header>> {
    let Some(value) = fields.present("headers") else {
        return Ok(Vec::new());
    };
    let path = fields.path_of("headers");
    let members = value
        .as_object()
        .ok_or_else(|| FieldError::new(path.as_str(), Fault::NotObject))?;
    if members.len() > MAX_HEADERS {
        return Err(FieldError::new(path, Fault::TooManyMembers(MAX_HEADERS)));
    }
    let mut values: Vec<Header> = Vec::with_capacity(members.len());
    for (name, value) in members {
        let fault = |fault: Fault| FieldError::new(member_path(&path, name), fault);
        check_header_name(name).map_err(fault)?;
        if values
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
        {
            return Err(fault(Fault::HeaderTwice));
        }
        let value = check_string(value, &HEADER_VALUE).map_err(fault)?;
        let value = if value == HIDDEN {
            let known = kept
                .iter()
                .find(|(other, _)| other.eq_ignore_ascii_case(name));
            known
                .map(|(_, value)| value.as_str())
                .ok_or_else(|| fault(Fault::NothingHidden))?
        } else {
            value
        };
        let is_visible = |c: char| matches!(c, ' '..='~');
        if !value.chars().all(is_visible) || value.trim() != value {
            return Err(fault(Fault::Trimmed));
        }
        values.push((name.clone(), value.to_owned()));
    }
    Ok(values)
}

/// A token of RFC 9110 that the service does not set itself.
fn check_header_name(name: &str) -> Result<(), Fault> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if !NAME_CHARS.contains(&name.len()) || !name.bytes().all(is_token) {
        return Err(Fault::HeaderName);
    }
    if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(Fault::OwnHeader);
    }
    Ok(())
}

fn targets(mut fields: Fields<'_>) -> Result<Vec<TransferTarget>> {
    let items = fields
        .optional_array("targets", TARGETS)?
        .ok_or_else(|| fields.fault("targets", Fault::Required))?;
    let path = fields.path_of("targets");
    let mut targets: Vec<TransferTarget> = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let mut fields = Fields::of(item, &item_path(&path, at))?;
        let name = fields.required_string("name", NAME_CHARS)?.to_owned();
        if name.trim().is_empty() {
            return Err(fields.fault("name", Fault::Blank));
        }
        if targets.iter().any(|target| target.name == name) {
            return Err(fields.fault("name", Fault::Twice));
        }
        let to = fields.required_string("to", 1..=64)?;
        let to: E164 = to
            .parse()
            .map_err(|error: crate::E164Error| fields.fault("to", error))?;
        fields.finish()?;
        targets.push(TransferTarget { name, to });
    }
    fields.finish()?;
    Ok(targets)
}
