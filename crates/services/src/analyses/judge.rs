//! Checks whether a model's answer is the data that a schema requires.

use offhook_engine::{EXTRACTION_MAX_BYTES, Misfit};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::prelude::*;
use crate::tools::schema::SchemaValidator;

/// Errors reported to the model.
const FAULTS: usize = 5;

/// Characters per error.
const FAULT_CHARS: usize = 300;

/// Braces after the object that are searched for another object, each to the end of the answer. An answer with more of
/// them does not merely end in a polite sentence.
const BRACES: usize = 64;

/// An answer of this many bytes was cut off, possibly before a character that would have been split.
const CUT: usize = EXTRACTION_MAX_BYTES - 3;

/// Reads answers by one schema.
pub(crate) struct Judge {
    validator: SchemaValidator,
}

impl Judge {
    /// Compiles the schema in this text. The error is a sentence.
    pub(crate) fn of(definition: &str) -> Result<Self, String> {
        let schema: Value = serde_json::from_str(definition).map_err(|error| error.to_string())?;
        Ok(Self {
            validator: SchemaValidator::of(&schema).map_err(|fault| fault.to_string())?,
        })
    }

    /// Returns an answer's data as compact JSON text. [`Misfit`] says why it does not fit.
    pub(crate) fn read(&self, answer: &str) -> Result<String, Misfit> {
        let no_object = || Misfit {
            for_the_model: "Your answer is not one JSON object.".to_owned(),
            for_people: AnalysisFault::NoObject.to_string(),
        };
        let text = object_in(answer).ok_or_else(|| match answer.len() {
            CUT.. => Misfit {
                for_the_model: format!("Your answer is longer than {EXTRACTION_MAX_BYTES} bytes."),
                for_people: AnalysisFault::TooLong.to_string(),
            },
            _ => no_object(),
        })?;
        if self.validator.is_too_long(text) {
            return Err(Misfit {
                for_the_model: "Your answer is too long for the schema.".to_owned(),
                for_people: AnalysisFault::TooLongForSchema.to_string(),
            });
        }
        let data = Json::parse(text.as_bytes()).map_err(|_| no_object())?;
        let value: Value = serde_json::from_str(text).map_err(|_| no_object())?;
        let (mut faults, mut place) = (Vec::new(), None);
        for fault in self.validator.faults(&value, FAULTS) {
            let at = match fault.place.as_str() {
                "" => "the object",
                place => place,
            };
            faults.push(shortened(&format!("{at}: {fault}")));
            place.get_or_insert(fault.rule);
        }
        let place = some_or!(place, data.to_compact());
        let faults = faults.join("; ");
        Err(Misfit {
            for_the_model: format!("Your answer does not fit the schema ({faults})."),
            // Names the place in the schema, which the account wrote. The content of the answer does not belong in an
            // error.
            for_people: AnalysisFault::Unfit(place).to_string(),
        })
    }
}

/// The one object in an answer, without what models write around it: their thoughts, fences, a polite sentence. A draft
/// among the thoughts is not an answer. Of two objects, it is unclear which one is meant.
fn object_in(answer: &str) -> Option<&str> {
    let (before, behind) = answer.split_at(answer.find('{')?);
    let (object, rest) = if before.contains("<think>") {
        first_object(answer.split_once("</think>")?.1)?
    } else {
        // Thoughts may lack an opening tag. The closing tag may also be quoted in the object.
        match first_object(behind) {
            Some((object, rest)) => {
                let thought = rest.rsplit_once("</think>");
                let answered = thought.and_then(|(_, answer)| first_object(answer));
                answered.unwrap_or((object, rest))
            }
            None => first_object(behind.split_once("</think>")?.1)?,
        }
    };
    let mut more = rest.match_indices('{');
    let is_only = more
        .by_ref()
        .take(BRACES)
        .filter_map(|(at, _)| first_object(rest.get(at..)?))
        .next();
    (is_only.is_none() && more.next().is_none()).then_some(object)
}

/// The object that begins at the first brace, and the text after it.
fn first_object(text: &str) -> Option<(&str, &str)> {
    let object = text.get(text.find('{')?..)?;
    let mut values = serde_json::Deserializer::from_str(object).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    object.split_at_checked(values.byte_offset())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(FAULT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge() -> Judge {
        let schema = r##"{"type":"object","properties":{"day":{"$ref":"#/$defs/day"},"rooms":{"type":"integer"}},
            "required":["day"],"additionalProperties":false,"$defs":{"day":{"enum":["Mon","Tue"]}}}"##;
        Judge::of(schema).unwrap()
    }

    #[test]
    fn data_is_read_out_of_what_models_write_around_it() {
        let kept = r#"{"rooms":2,"day":"Mon"}"#;
        for answer in [
            kept.to_owned(),
            format!("\n {kept} \n"),
            format!("```json\n{kept}\n```"),
            format!("```\n{kept}\n```\nIs there anything else?"),
            format!("Here you are: {kept}"),
            format!("<think>Is {{\"day\": \"Sun\"}} right?</think>\n{kept}"),
            format!("Is {{\"day\": \"Sun\"}} right? No.</think>\n{kept}"),
            format!("{kept}\nLet me know if {{day}} is right </think>."),
            "{\n  \"rooms\": 2,\n  \"day\": \"Mon\"\n}".to_owned(),
        ] {
            assert_eq!(judge().read(&answer).as_deref(), Ok(kept), "{answer}");
        }
    }

    #[test]
    fn a_draft_among_thoughts_is_no_answer_and_neither_are_two() {
        for answer in [
            r#"<think>Maybe {"day":"Mon"}? I do not know.</think> I cannot tell."#,
            r#"<think>{"day":"Mon"}</think>{"day":"Tue","no"#,
            r#"<think>{"day":"Mon"}"#,
            r#"{"day":"Mon"} Correction: {"day":"Tue"}"#,
            r#"{"day":"Mon"} {x} {"day":"Tue"}"#,
        ] {
            let misfit = judge().read(answer).unwrap_err();
            let no_object = "the model's answer was not a JSON object";
            assert_eq!(misfit.for_people, no_object, "{answer}");
        }
    }

    #[test]
    fn braces_without_end_are_no_answer() {
        let braces = r#"{"":"#.repeat(EXTRACTION_MAX_BYTES / 5);
        assert_eq!(object_in(&format!("{{}}{braces}")), None);
    }

    #[test]
    fn what_ends_thoughts_may_be_quoted() {
        for quoted in [
            "they wrote </think> to us",
            "</think> {x}",
            "{x} </think> {",
        ] {
            let object = serde_json::json!({"quote": quoted}).to_string();
            assert_eq!(object_in(&object), Some(object.as_str()));
        }
    }

    #[test]
    fn many_rules_for_many_values_are_not_measured() {
        let rules = vec![r#"{"type":"number"}"#; 4_000].join(",");
        let schema = format!(r#"{{"properties":{{"a":{{"items":{{"allOf":[{rules}]}}}}}}}}"#);
        let judge = Judge::of(&schema).unwrap();
        assert_eq!(judge.read(r#"{"a":[1]}"#).as_deref(), Ok(r#"{"a":[1]}"#));
        let many = format!(r#"{{"a":[{}]}}"#, vec!["1"; 30_000].join(","));
        let misfit = judge.read(&many).unwrap_err();
        assert_eq!(
            misfit.for_people,
            "the model's answer was too long for so large a schema"
        );
    }

    #[test]
    fn what_does_not_fit_is_told_to_the_model_and_only_its_place_to_people() {
        let no_object = "the model's answer was not a JSON object";
        let cut = format!("{{\"day\":\"{}", "x".repeat(EXTRACTION_MAX_BYTES - 8));
        let deep = format!("{}1{}", "{\"day\":".repeat(100_000), "}".repeat(100_000));
        for (answer, for_people) in [
            ("", no_object),
            ("I cannot do that.", no_object),
            ("[1, 2]", no_object),
            ("{\"day\": \"Mon\"", no_object),
            ("}{", no_object),
            (r#"{"day":"Mon","day":"Tue"}"#, no_object),
            (r#"{"day":"Mon","rooms":1e999}"#, no_object),
            (r#"{"day":"M\u0000n"}"#, no_object),
            (deep.as_str(), no_object),
            (cut.as_str(), "the model's answer was too long"),
            (
                "{}",
                "the model's answer did not fit the schema at `/required`",
            ),
            (
                r#"{"day":"Mon","rooms":"secret"}"#,
                "the model's answer did not fit the schema at `/properties/rooms/type`",
            ),
            (
                r#"{"day":"Mon","secret":1}"#,
                "the model's answer did not fit the schema at `/additionalProperties`",
            ),
        ] {
            let misfit = judge().read(answer).unwrap_err();
            assert_eq!(misfit.for_people, for_people, "{answer}");
        }
        let misfit = judge().read(r#"{"day":"Mon","rooms":"two"}"#).unwrap_err();
        assert_eq!(
            misfit.for_the_model,
            "Your answer does not fit the schema (/rooms: \"two\" is not of type \"integer\")."
        );
        let long = format!(r#"{{"day":"{}"}}"#, "é".repeat(5_000));
        let misfit = judge().read(&long).unwrap_err();
        assert!(misfit.for_the_model.chars().count() < 400);
    }
}
