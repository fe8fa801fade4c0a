//! Reads a query string parameter by parameter in documented order, so that the first of several errors is reported.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use offhook_domain::json::{Fault, FieldError, member_path};
use offhook_domain::messages::Choices;
use offhook_domain::{E164, E164Error, Timestamp, TimestampError};

/// The parameters that are not read yet.
#[derive(Debug)]
pub(crate) struct QueryReader {
    parameters: Vec<Parameter>,
    path: String,
    /// The filters' values, in documented order and in one spelling: a cursor is only valid for these.
    filters: String,
}

#[derive(Debug)]
struct Parameter {
    name: String,
    /// `None`: the percent-decoded bytes are not UTF-8.
    value: Option<String>,
    taken: bool,
}

/// What a handler reads from the query string.
pub(crate) trait FromQuery: Sized {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError>;
}

/// No parameters.
impl FromQuery for () {
    fn read(_: &mut QueryReader) -> Result<Self, FieldError> {
        Ok(())
    }
}

impl QueryReader {
    /// Splits the query string of a request to `path`.
    pub(crate) fn new(path: &str, query: &str) -> Self {
        let parameters = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Parameter {
                    name: String::from_utf8_lossy(&decode(name).0).into_owned(),
                    value: match decode(value) {
                        (bytes, true) => String::from_utf8(bytes.into_owned()).ok(),
                        (_, false) => None,
                    },
                    taken: false,
                }
            })
            .collect();
        Self {
            parameters,
            path: path.to_owned(),
            filters: String::new(),
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The values of the filters read so far.
    pub(crate) fn filters(&self) -> &str {
        &self.filters
    }

    /// Takes a parameter that selects a part of the list and is not a filter.
    pub(crate) fn take(&mut self, name: &str) -> Result<Option<String>, FieldError> {
        let mut found = None;
        for parameter in &mut self.parameters {
            if parameter.name == name {
                parameter.taken = true;
                if found.is_some() {
                    return Err(FieldError::new(name, Fault::GivenTwice));
                }
                found = Some(parameter.value.take());
            }
        }
        match found {
            None => Ok(None),
            Some(None) => Err(FieldError::new(name, Fault::PercentUtf8)),
            Some(Some(value)) if value.contains('\0') => Err(FieldError::new(name, Fault::Zero)),
            Some(Some(value)) => Ok(Some(value)),
        }
    }

    /// Reads a filter. `said` prints equal values alike, from their text and value.
    fn filter<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, Fault>,
        shown: impl FnOnce(&str, &T) -> String,
    ) -> Result<Option<T>, FieldError> {
        let Some(text) = self.take(name)? else {
            return Ok(None);
        };
        let value = read(&text).map_err(|fault| FieldError::new(name, fault))?;
        self.filters.push_str(name);
        self.filters.push('=');
        self.filters.push_str(&shown(&text, &value));
        self.filters.push('\0');
        Ok(Some(value))
    }

    /// A filter with a few possible words; `choices` lists them for the error message.
    pub(crate) fn choice<T: FromStr>(
        &mut self,
        name: &str,
        choices: impl FnOnce() -> String,
    ) -> Result<Option<T>, FieldError> {
        let read = |text: &str| text.parse().map_err(|_| Fault::Choice(Choices(choices())));
        // The words are lower case. Some are ids or languages, which mean the same in upper case.
        self.filter(name, read, |text, _| text.to_ascii_lowercase())
    }

    /// A filter that takes one of these values, by their printed form.
    pub(crate) fn one_of<T: Copy + Display>(
        &mut self,
        name: &str,
        values: &[T],
    ) -> Result<Option<T>, FieldError> {
        let read = |text: &str| {
            let found = values.iter().find(|value| value.to_string() == text);
            found
                .copied()
                .ok_or_else(|| Fault::Choice(Choices(choices(values))))
        };
        self.filter(name, read, |_, value: &T| value.to_string())
    }

    pub(crate) fn id<T: FromStr + Display>(&mut self, name: &str) -> Result<Option<T>, FieldError> {
        let read = |text: &str| text.parse().map_err(|_| Fault::Uuid);
        self.filter(name, read, |_, id: &T| id.to_string())
    }

    pub(crate) fn phone(&mut self, name: &str) -> Result<Option<E164>, FieldError> {
        let read = |text: &str| text.parse().map_err(Fault::Phone);
        self.filter(name, read, |_, number: &E164| number.to_string())
    }

    /// A filter by text of at most `most` characters.
    pub(crate) fn text(&mut self, name: &str, most: usize) -> Result<Option<String>, FieldError> {
        let read = |text: &str| {
            if text.chars().count() > most {
                return Err(Fault::TooLong(most));
            }
            Ok(text.to_owned())
        };
        self.filter(name, read, |text, _| text.to_owned())
    }

    /// The filters `from` and `to`.
    pub(crate) fn period(&mut self) -> Result<Period, FieldError> {
        let shown = |_: &str, at: &Timestamp| at.micros().to_string();
        let from = self.filter("from", |text| instant(text, Timestamp::parse_from), shown)?;
        let to = self.filter("to", |text| instant(text, Timestamp::parse_to), shown)?;
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            return Err(FieldError::new("from", Fault::AfterTo));
        }
        Ok((from, to))
    }

    /// Fails if the query string has a parameter that was not read.
    pub(crate) fn finish(self) -> Result<(), FieldError> {
        match self.parameters.iter().find(|parameter| !parameter.taken) {
            Some(unnamed) if unnamed.name.is_empty() => {
                Err(FieldError::new("query", Fault::UnnamedParameter))
            }
            Some(unknown) => Err(FieldError::new(
                member_path("", &unknown.name),
                Fault::UnknownParameter,
            )),
            None => Ok(()),
        }
    }
}

fn choices<T: Display>(values: &[T]) -> String {
    let names: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// The first and the last instant of the period.
pub(crate) type Period = (Option<Timestamp>, Option<Timestamp>);

fn instant(
    text: &str,
    parse: impl Fn(&str) -> Result<Timestamp, TimestampError>,
) -> Result<Timestamp, Fault> {
    parse(text).map_err(|error| {
        // `2026-04-30T18:32:11+02:00` with its `+` lost: check whether it is valid with a `+`.
        match text.rsplit_once(' ') {
            Some((moment, offset)) if parse(&format!("{moment}+{offset}")).is_ok() => {
                E164Error::PlusLost.into()
            }
            _ => error.into(),
        }
    })
}

/// Decodes percent-encoding, and `+` as a space. The flag says whether two digits follow every percent sign.
fn decode(text: &str) -> (Cow<'_, [u8]>, bool) {
    if !text.contains(['%', '+']) {
        return (Cow::Borrowed(text.as_bytes()), true);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    let mut whole = true;
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = bytes.hex_ahead();
                match digits {
                    Some(value) => {
                        bytes.nth(1);
                        value
                    }
                    None => {
                        whole = false;
                        b'%'
                    }
                }
            }
            other => other,
        });
    }
    (Cow::Owned(decoded), whole)
}

trait TwoDigits {
    /// The value of the next two hexadecimal digits, without advancing.
    fn hex_ahead(&self) -> Option<u8>;
}

impl TwoDigits for std::str::Bytes<'_> {
    fn hex_ahead(&self) -> Option<u8> {
        let mut ahead = self.clone();
        let mut digit = || char::from(ahead.next()?).to_digit(16);
        let value = digit()? * 16 + digit()?;
        u8::try_from(value).ok()
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::{AgentId, ConversationStatus};

    use super::*;

    fn reader(query: &str) -> QueryReader {
        QueryReader::new("/v1/things", query)
    }

    fn shown<T>(result: Result<T, FieldError>) -> String {
        result
            .err()
            .map(|fault| fault.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn values_are_decoded_once() {
        let mut query = reader("q=a%20b+c%2Bd%25zz&empty&&x=");
        assert_eq!(query.text("q", 100), Ok(Some("a b c+d%zz".to_owned())));
        assert_eq!(query.take("empty"), Ok(Some(String::new())));
        assert_eq!(query.take("x"), Ok(Some(String::new())));
        assert_eq!(query.finish(), Ok(()));
        assert_eq!(reader("").finish(), Ok(()));
    }

    #[test]
    fn broken_escapes_and_nul_are_faults_of_their_parameter() {
        for broken in ["q=%", "q=%4", "q=%zz", "q=%ff", "q=%c3"] {
            assert_eq!(
                shown(reader(broken).text("q", 9)),
                "`q`: is not percent-encoded UTF-8",
                "{broken}"
            );
        }
        assert_eq!(
            shown(reader("q=a%00").text("q", 9)),
            "`q`: must not contain U+0000"
        );
    }

    #[test]
    fn repeated_and_unknown_parameters_are_faults() {
        assert_eq!(
            shown(reader("q=a&q=a").text("q", 9)),
            "`q`: is given more than once"
        );
        assert_eq!(shown(reader("b=1&a=2").finish()), "`b`: unknown parameter");
        assert_eq!(shown(reader("Q=1").finish()), "`Q`: unknown parameter");
    }

    #[test]
    fn a_plus_that_became_a_space_is_explained() {
        assert_eq!(
            shown(reader("phone=+15005550100").phone("phone")),
            "`phone`: the `+` arrived as a space: write it as %2B in a URL"
        );
        assert_eq!(
            shown(reader("from=2026-04-30T18:32:11+02:00").period()),
            "`from`: the `+` arrived as a space: write it as %2B in a URL"
        );
        assert_eq!(
            shown(reader("to=2026-04-30+18:32").period()),
            "`to`: must be an ISO 8601 date or datetime, such as 2026-04-30 or 2026-04-30T18:32:11Z"
        );
    }

    #[test]
    fn a_period_must_not_end_before_it_begins() {
        assert!(reader("from=2026-04-30&to=2026-04-30").period().is_ok());
        assert_eq!(
            shown(reader("to=2026-04-29&from=2026-04-30").period()),
            "`from`: must not be after `to`"
        );
    }

    #[test]
    fn words_and_ids_name_what_they_may_be() {
        let choices = ConversationStatus::choices;
        let status = reader("status=done").choice::<ConversationStatus>("status", choices);
        assert_eq!(
            shown(status),
            "`status`: must be `completed`, `failed` or `unknown`"
        );
        assert_eq!(
            shown(reader("agent_id=x").id::<AgentId>("agent_id")),
            "`agent_id`: must be a UUID"
        );
    }

    #[test]
    fn the_order_of_parameters_does_not_change_what_the_filters_are() {
        let read = |text: &str| {
            let mut query = reader(text);
            query.period().unwrap();
            query.text("q", 9).unwrap();
            query.filters().to_owned()
        };
        assert_eq!(read("q=a&from=2026-04-30"), read("from=2026-04-30&q=a"));
        assert_ne!(read("q=a"), read("q=b"));
    }

    #[test]
    fn filters_are_told_apart_by_what_they_say_and_not_by_how_it_is_spelled() {
        let shown = |query: &str| {
            let mut query = reader(query);
            query.id::<AgentId>("agent_id").unwrap();
            query.text("q", 9).unwrap();
            query.period().unwrap();
            query.filters().to_owned()
        };
        let id = "0190163d-8694-739b-aea5-966c26f8ad91";
        let plain = shown(&format!("agent_id={id}&from=2026-04-30T16:00:00Z"));
        let upper = id.to_uppercase();
        assert_eq!(
            shown(&format!(
                "from=2026-04-30T18:00:00%2B02:00&agent_id={upper}"
            )),
            plain
        );
        assert_ne!(shown(&format!("agent_id={id}")), plain);
        assert_ne!(shown("q=a"), shown("q=A"));
    }
}
