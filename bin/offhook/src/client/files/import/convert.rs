//! How values of other platforms are read. Each answers the value here, and in words how it differs; `None` where
//! nothing here is like it.

use offhook_domain::{E164, config::is_bcp47_shape};
use offhook_egress::{Policy, TargetUrl};
use serde_json::{Map, Value, json};

use super::secrets;

type Read = Option<(Value, &'static str)>;

/// The members of JSON Schema that platforms use.
const KNOWN: &str = "type properties required description enum items format pattern title default minimum maximum minLength maxLength anyOf oneOf additionalProperties";
const NEAREST: &str = "the nearest model of the catalog";
const LIMITED: &str = "limited to what is allowed here";
const OWN_KEY: &str = "needs the account's own key at the provider; check its name for the model";

pub(super) fn convert(how: &str, value: &Value, root: &Value) -> Read {
    let (how, rest) = how.split_once(' ').unwrap_or((how, ""));
    let exact = |value: Value| Some((value, ""));
    match how {
        // `when PATH WORDS HOW`: only where another field is one of the words.
        "when" => {
            let mut parts = rest.splitn(3, ' ');
            let [path, words, how] = [(); 3].map(|()| parts.next().unwrap_or_default());
            let other = root.pointer(path).and_then(Value::as_str)?;
            words.split(',').find(|word| *word == other)?;
            convert(how, value, root)
        }
        "text" => text(value.as_str()?),
        "list" => exact(value.as_array()?.clone().into()),
        "flag" => exact(value.as_bool()?.into()),
        "not" => exact((!value.as_bool()?).into()),
        "positive" => exact((value.as_f64()? > 0.0).into()),
        "const" => exact(
            value
                .as_str()
                .filter(|text| !text.is_empty())
                .map(|_| rest)?
                .into(),
        ),
        "integer" | "number" => limited(value.as_f64()?, rest, how == "integer"),
        "words" => {
            let text = value.as_str()?;
            let mut pairs = rest.split(' ').filter_map(|pair| pair.split_once('='));
            let (_, ours) = pairs.find(|(word, _)| *word == text)?;
            exact(Some(ours).filter(|ours| *ours != "null").into())
        }
        "language" => {
            let text = match value.as_str()? {
                "eng" | "ENG" => "en",
                text => text,
            };
            let is_short = text.len() == 2 || text.get(2..3) == Some("-");
            (is_short && is_bcp47_shape(text)).then(|| (text.into(), ""))
        }
        "url" => url(value.as_str()?),
        "model" => model(value.as_str()?),
        "voice" => exact(json!({ "provider": "provider_a", "voice_id": value.as_str()? })),
        "messages" => sections(value.as_array()?, |one| {
            let content = one["content"].as_str().filter(|_| one["role"] == "system");
            content.map(str::to_owned)
        }),
        "states" => sections(value.as_array()?, |one| {
            let (name, prompt) = (one["name"].as_str()?, one["state_prompt"].as_str()?);
            Some(format!("## {name}\n\n{prompt}"))
        }),
        "defaults" => {
            let (mut all, mut note) = (Map::new(), "");
            for (name, value) in value.as_object()? {
                let is_secret = secrets::is_named(name, value);
                let is_kept = !is_secret && !value.is_object() && !value.is_array();
                if !is_kept {
                    note = "credentials and structures are no defaults";
                }
                let default = if is_kept { value } else { &Value::Null };
                all.insert(name.clone(), json!({ "default": default }));
            }
            Some((all.into(), note))
        }
        "schema" => {
            let mut schema = schema(value, false);
            let note = "as JSON Schema alone: without constants, variables and the like";
            let note = if schema == *value { "" } else { note };
            schema["type"] = schema.is_object().then_some("object")?.into();
            Some((schema, note))
        }
        "fields" => {
            let all = value.as_array()?.iter();
            fields(all.map(|one| (one["name"].as_str(), one)))
        }
        "properties" => {
            let all = value.as_object()?.iter();
            fields(all.map(|(name, one)| (Some(name.as_str()), one)))
        }
        "target" => target(value),
        _ => None,
    }
}

/// Puts a value at a path: prompts follow prompts, lists lists, and members join members.
pub(super) fn put(into: &mut Value, path: &str, value: Value) {
    let at = path.split('.').fold(into, |at, name| &mut at[name]);
    match (at, value) {
        (Value::Array(all), Value::Array(more)) => all.extend(more),
        (Value::Object(all), Value::Object(more)) => all.extend(more),
        (Value::String(text), Value::String(more)) if path.ends_with("prompt") => {
            *text = format!("{text}\n\n{more}");
        }
        (at, value) => *at = value,
    }
}

fn text(text: &str) -> Read {
    let note = "only `{{name}}` is filled in, no other template";
    Some((text.into(), if text.contains("{%") { note } else { "" }))
}

/// `factor least most`
fn limited(number: f64, rest: &str, is_whole: bool) -> Read {
    let numbers: Vec<f64> = rest.split(' ').filter_map(|one| one.parse().ok()).collect();
    let [factor, least, most] = numbers[..] else {
        return None;
    };
    // Less than nothing is how a limit is turned off.
    let wanted = (number >= 0.0).then_some(number * factor)?;
    let got = wanted.clamp(least, most);
    let whole = is_whole.then(|| json!(got.round() as i64));
    let value = whole.unwrap_or(json!(got));
    Some((value, if got == wanted { "" } else { LIMITED }))
}

fn url(text: &str) -> Read {
    let url = url::Url::parse(text).ok()?;
    let has_login = !url.username().is_empty() || url.password().is_some();
    let is_secret = |name: &str| name == "key" || secrets::is_named(name, &"".into());
    let has_secret = has_login
        || secrets::removed(text).1
        || url.query_pairs().any(|(name, _)| is_secret(&name));
    let is_allowed = TargetUrl::parse(text, Policy::default()).is_ok() && !text.contains('{');
    (is_allowed && !has_secret).then(|| (text.into(), ""))
}

fn model(name: &str) -> Read {
    let mut small = ["mini", "nano", "3.5"].iter();
    let is_small = small.any(|part| name.contains(part));
    let (provider, model, note) = match name {
        "gpt-4.1" | "gpt-4.1-mini" => ("openai", name, ""),
        _ if name.starts_with("gpt-") && is_small => ("openai", "gpt-4.1-mini", NEAREST),
        _ if name.starts_with("gpt-") => ("openai", "gpt-4.1", NEAREST),
        _ if name.starts_with("claude") => ("anthropic", name, OWN_KEY),
        _ if name.starts_with("gemini") => ("google", name, OWN_KEY),
        "custom-llm" => return Some((json!({ "provider": "custom" }), "")),
        _ => return None,
    };
    Some((json!({ "provider": provider, "model": model }), note))
}

/// A prompt of several parts.
fn sections(all: &[Value], section: impl Fn(&Value) -> Option<String>) -> Read {
    let parts: Vec<String> = all.iter().filter_map(section).collect();
    let (prompt, note) = text(&parts.join("\n\n"))?;
    let left_out = "parts that are no instructions are left out";
    let note = if parts.len() < all.len() {
        left_out
    } else {
        note
    };
    (!parts.is_empty()).then_some((prompt, note))
}

/// A schema without what only its platform understands.
fn schema(value: &Value, is_names: bool) -> Value {
    let is_known = |name: &str| is_names || KNOWN.split(' ').any(|known| known == name);
    match value {
        Value::Object(members) => {
            let mut kept = members.clone();
            kept.retain(|name, value| !value.is_null() && is_known(name));
            for (name, value) in &mut kept {
                *value = schema(value, !is_names && name == "properties");
            }
            kept.into()
        }
        Value::Array(items) => items.iter().map(|item| schema(item, false)).collect(),
        value => value.clone(),
    }
}

/// A JSON Schema of fields that are described one by one, as a type and words or in words alone.
fn fields<'a>(all: impl Iterator<Item = (Option<&'a str>, &'a Value)>) -> Read {
    let mut schema = json!({ "type": "object", "properties": {} });
    for (name, field) in all {
        let kind = field["type"].as_str().or(field.as_str());
        let kind = kind.unwrap_or_default();
        let is_type = ["boolean", "number", "integer"].contains(&kind);
        let property = &mut schema["properties"][name?];
        property["type"] = if is_type { kind } else { "string" }.into();
        let own = field.as_str().filter(|_| !is_type);
        let words = field["description"].as_str().or(own);
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            property["description"] = words.into();
        }
        for choices in [&field["choices"], &field["enum"]] {
            if choices.as_array().is_some_and(|all| !all.is_empty()) {
                property["enum"] = choices.clone();
            }
        }
    }
    Some((schema, ""))
}

/// A number that calls are transferred to, with what is said of it as its name.
fn target(value: &Value) -> Read {
    let numbers = [
        "/number",
        "/phone_number",
        "/transfer_destination/phone_number",
    ];
    let number = numbers.iter().find_map(|at| value.pointer(at)?.as_str())?;
    number.parse::<E164>().ok()?;
    let names = ["description", "condition", "type"];
    let mut names = names.iter().filter_map(|name| value[*name].as_str());
    let name = names.find(|name| !name.trim().is_empty()).unwrap_or(number);
    let name: String = secrets::removed(name).0.chars().take(64).collect();
    Some((json!([{ "name": name.trim(), "to": number }]), ""))
}

/// A name that a tool may have.
pub(super) fn tool_name(name: &str) -> String {
    let (mut snake, mut is_word) = (String::new(), false);
    for c in secrets::removed(name).0.chars().take(60) {
        if c.is_ascii_uppercase() && is_word || !c.is_ascii_alphanumeric() && !snake.ends_with('_')
        {
            snake.push('_');
        }
        snake.extend(c.is_ascii_alphanumeric().then(|| c.to_ascii_lowercase()));
        is_word = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    let snake = snake.trim_start_matches(|c: char| !c.is_ascii_lowercase());
    match snake.trim_end_matches('_') {
        "" => "tool".to_owned(),
        name => name.chars().take(60).collect(),
    }
}
