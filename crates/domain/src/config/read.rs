//! Parses a configuration field by field, in the documented order.

use std::ops::RangeInclusive;

use super::template::is_variable_name;
use super::{AgentConfig, CallingHours, ConfigWrite, DynamicVariable, ModelRef, TimeOfDay};
use crate::body::Body as _;
use crate::json::{Fault, FieldError, Fields, Json, Result, check_string, item_path, member_path};
use crate::metadata::check_scalar;

pub(super) const NAME: RangeInclusive<usize> = 1..=200;
pub(super) const TEXT_CHARS: usize = 2_000;
pub(super) const PROMPT_CHARS: usize = 100_000;
/// Each placeholder may expand to 2000 characters, so this limits the size of a prompt.
const MAX_PLACEHOLDERS: usize = 500;
pub(super) const URL: RangeInclusive<usize> = 1..=2_048;
const MAX_FALLBACKS: usize = 5;
const MAX_FALLBACK_VOICES: usize = 10;
const MAX_VARIABLES: usize = 100;
pub(super) const MAX_DOCUMENTS: usize = 1_000;
pub(super) const MAX_TOOLS: usize = 64;
/// The size of a provider's `settings` as compact JSON, in bytes.
const MAX_SETTINGS_BYTES: usize = 16_384;

pub(super) fn config(json: &Json, path: &str, default_language: &str) -> Result<ConfigWrite> {
    let mut fields = Fields::of(json, path)?;
    let version = fields.optional_integer("version", 0..=i64::from(i32::MAX))?;
    let mut config = AgentConfig::read(fields, &())?;
    if config.language.is_empty() {
        default_language.clone_into(&mut config.language);
    }
    Ok(ConfigWrite { config, version })
}

pub(super) fn fallback(fields: &mut Fields<'_>, name: &str) -> Result<Vec<ModelRef>> {
    list(fields, name, MAX_FALLBACKS, model_ref)
}

fn model_ref(mut fields: Fields<'_>) -> Result<ModelRef> {
    let model = ModelRef {
        provider: fields.required_string("provider", NAME)?.to_owned(),
        model: fields.required_string("model", NAME)?.to_owned(),
    };
    fields.finish()?;
    Ok(model)
}

pub(super) fn fallback_voices(
    fields: &mut Fields<'_>,
    name: &str,
) -> Result<Vec<(String, String)>> {
    let voices = members(fields, name, MAX_FALLBACK_VOICES)?;
    let path = fields.path_of(name);
    let read = |(provider, voice): &(String, Json)| {
        let fault = |fault: Fault| FieldError::new(member_path(&path, provider), fault);
        if !NAME.contains(&provider.chars().count()) {
            return Err(fault(Fault::ProviderName));
        }
        let voice = check_string(voice, &NAME).map_err(fault)?;
        Ok((provider.clone(), voice.to_owned()))
    };
    present(voices).map(read).collect()
}

pub(super) fn dynamic_variables(
    fields: &mut Fields<'_>,
    name: &str,
) -> Result<Vec<DynamicVariable>> {
    let variables = members(fields, name, MAX_VARIABLES)?;
    let path = fields.path_of(name);
    let read = |(name, variable): &(String, Json)| {
        let path = member_path(&path, name);
        if !is_variable_name(name) {
            return Err(FieldError::new(path, Fault::VariableName));
        }
        let mut fields = Fields::of(variable, &path)?;
        let default = fields.present("default").unwrap_or(&Json::Null);
        check_scalar(default).map_err(|fault| fields.fault("default", fault))?;
        fields.finish()?;
        Ok(DynamicVariable {
            name: name.clone(),
            default: default.clone(),
        })
    };
    present(variables).map(read).collect()
}

pub(super) fn calling_hours(fields: &mut Fields<'_>, name: &str) -> Result<Option<CallingHours>> {
    fields.optional_object(name)?.map(hours).transpose()
}

fn hours(mut fields: Fields<'_>) -> Result<CallingHours> {
    let hours = CallingHours {
        timezone: fields.required_string("timezone", 1..=64)?.to_owned(),
        days: days(&mut fields, "days")?,
        start: time_of_day(&mut fields, "start")?,
        end: time_of_day(&mut fields, "end")?,
    };
    fields.finish()?;
    Ok(hours)
}

pub(crate) fn days(fields: &mut Fields<'_>, name: &str) -> Result<Vec<u8>> {
    fields.required(name)?;
    let items = fields.optional_array(name, 1..=7)?.unwrap_or_default();
    let mut days = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let fault = |fault: Fault| FieldError::new(item_path(&fields.path_of(name), at), fault);
        let day = item
            .as_i64()
            .and_then(|day| u8::try_from(day).ok())
            .filter(|day| (1..=7).contains(day))
            .ok_or_else(|| fault(Fault::Weekday))?;
        if days.contains(&day) {
            return Err(fault(Fault::Twice));
        }
        days.push(day);
    }
    Ok(days)
}

pub(crate) fn time_of_day(fields: &mut Fields<'_>, name: &str) -> Result<TimeOfDay> {
    let text = fields.required_string(name, 0..=usize::MAX)?;
    text.parse()
        .map_err(|_| fields.fault(name, Fault::TimeOfDay))
}

/// A text with `{{variables}}`; empty by default.
pub(super) fn template(fields: &mut Fields<'_>, name: &str, chars: usize) -> Result<String> {
    let text = fields.optional_string(name, 0..=chars)?.unwrap_or_default();
    if text.matches("{{").count() > MAX_PLACEHOLDERS {
        return Err(fields.fault(name, Fault::Placeholders(MAX_PLACEHOLDERS)));
    }
    Ok(text.to_owned())
}

pub(super) fn sample_rate(fields: &mut Fields<'_>, name: &str) -> Result<Option<i64>> {
    match fields.present(name).map(Json::as_i64) {
        None => Ok(None),
        Some(Some(rate @ (8_000 | 16_000 | 24_000))) => Ok(Some(rate)),
        Some(_) => Err(fields.fault(name, Fault::SampleRate)),
    }
}

pub(super) fn settings(fields: &mut Fields<'_>, name: &str) -> Result<Json> {
    let Some(settings) = fields.present(name) else {
        return Ok(Json::Object(Vec::new()));
    };
    if settings.as_object().is_none() {
        return Err(fields.fault(name, Fault::NotObject));
    }
    if settings.to_compact().len() > MAX_SETTINGS_BYTES {
        return Err(fields.fault(name, Fault::JsonBytes(MAX_SETTINGS_BYTES)));
    }
    Ok(settings.clone())
}

/// An array of objects; empty by default.
pub(super) fn list<T>(
    fields: &mut Fields<'_>,
    name: &str,
    most: usize,
    read: fn(Fields<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let items = fields.optional_array(name, 0..=most)?.unwrap_or_default();
    let path = fields.path_of(name);
    let read = |(at, item)| read(Fields::of(item, &item_path(&path, at))?);
    items.iter().enumerate().map(read).collect()
}

/// The members of an object with client-defined names; empty by default.
fn members<'a>(fields: &mut Fields<'a>, name: &str, most: usize) -> Result<&'a [(String, Json)]> {
    let Some(value) = fields.present(name) else {
        return Ok(&[]);
    };
    let members = value
        .as_object()
        .ok_or_else(|| fields.fault(name, Fault::NotObject))?;
    if members.len() > most {
        return Err(fields.fault(name, Fault::TooManyMembers(most)));
    }
    Ok(members)
}

/// The members that are not null: null means absent.
fn present(members: &[(String, Json)]) -> impl Iterator<Item = &(String, Json)> {
    members.iter().filter(|(_, value)| *value != Json::Null)
}
