//! The JSON Schema of a tool's arguments: checks schemas, and arguments against them. Schemas for extraction from
//! conversations have the same limits.

mod rules;

use std::collections::HashMap;

use offhook_domain::json::{self, Json};
use serde_json::Value;

pub(crate) use rules::Fault;
use rules::{Rules, target};

/// Bytes of a schema's compact text.
const MAX_BYTES: usize = 64 * 1024;

/// Nesting depth of a schema, as written and with its references followed.
const MAX_DEPTH: usize = 32;

/// Parts of a schema with its references followed: without a limit, a few bytes could stand for endless work.
const MAX_PARTS: usize = 10_000;

/// Size limits for a compiled pattern. The smallest limit that all patterns of a schema satisfy is taken as their size.
const PATTERN_BYTES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Patterns per schema, and bytes for all of them together.
const MAX_PATTERNS: usize = 64;
const MAX_PATTERNS_BYTES: usize = 4 << 20;

/// Bytes of a compiled pattern's smallest step. At worst each step processes each byte.
const STEP_BYTES: usize = 64;

/// `unevaluatedProperties` and `unevaluatedItems` per schema. Each evaluates everything below it again, so that each
/// level of nesting more than doubles the time.
const MAX_UNEVALUATED: usize = 8;

/// The limit of a schema's parts and pattern steps, times the bytes of the text. At worst each processes each byte, and
/// blocks the thread meanwhile.
const MAX_WORK: usize = 64 << 20;

/// Every schema must be able to check this many bytes.
const MIN_TEXT: usize = 1 << 10;

/// Violations in arguments that are reported.
const FAULTS: usize = 3;

/// Checks a schema; the error continues the field's name.
pub(crate) fn check(schema: &Json) -> Result<(), json::Fault> {
    let text = schema.to_compact();
    if text.len() > MAX_BYTES {
        return Err(json::Fault::SchemaBytes(MAX_BYTES));
    }
    let value: Value = serde_json::from_str(&text).map_err(|_| json::Fault::SchemaNumber)?;
    if !matches!(value.get("type"), None | Some(Value::String(_)))
        || value.get("type").is_some_and(|kind| kind != "object")
    {
        return Err(json::Fault::SchemaOfArguments);
    }
    Parts::new(&value).validator()?;
    let validator = SchemaValidator::of(&value)?;
    if validator.looks.saturating_mul(MIN_TEXT) > MAX_WORK {
        return Err(json::Fault::SchemaWork);
    }
    Ok(())
}

/// Checks a tool's arguments; the error is a sentence for the model. Returns only the arguments that the schema
/// mentions, so that what a customer talks a model into adding is not sent.
pub(super) fn fit(
    schema: &Json,
    arguments: &str,
) -> Result<serde_json::Map<String, Value>, String> {
    let text = arguments;
    let Ok(Value::Object(arguments)) = serde_json::from_str(text) else {
        return Err(
            "The arguments are not a JSON object. Call the tool again with one.".to_owned(),
        );
    };
    let schema = serde_json::from_str(&schema.to_compact()).map_err(|error| error.to_string())?;
    let mut validator = SchemaValidator::of(&schema).map_err(|fault| fault.to_string())?;
    if validator.is_too_long(text) {
        return Err(
            "The arguments are too long for the tool's schema. Call the tool again with shorter ones.".to_owned(),
        );
    }
    let value = Value::Object(arguments);
    let faults: Vec<String> = validator
        .faults(&value, FAULTS)
        .iter()
        .map(|fault| match fault.place.as_str() {
            "" => format!("the arguments: {fault}"),
            place => format!("{place}: {fault}"),
        })
        .collect();
    if !faults.is_empty() {
        return Err(format!(
            "The arguments do not fit the tool's schema ({}). Call the tool again with arguments that do.",
            faults.join("; ")
        ));
    }
    let covered = validator.rules.covered(&value);
    let Value::Object(arguments) = &value else {
        return Ok(serde_json::Map::new());
    };
    let mut arguments = arguments.clone();
    arguments.retain(|name, _| covered.contains(name.as_str()));
    Ok(arguments)
}

/// Validates values by a schema. Nothing is fetched. Patterns run in time linear in the text; their steps per byte are
/// counted.
pub(crate) struct SchemaValidator {
    rules: Rules,
    /// How many parts of the schema, and pattern steps in it, process a byte at worst.
    looks: usize,
}

impl SchemaValidator {
    /// Compiles a schema. The error, for an invalid or too costly one, continues its name.
    pub(crate) fn of(schema: &Value) -> Result<Self, json::Fault> {
        let mut costly = Costly::default();
        costly.count(schema);
        if costly.unevaluated > MAX_UNEVALUATED {
            return Err(json::Fault::SchemaUnevaluated(MAX_UNEVALUATED));
        }
        if costly.patterns > MAX_PATTERNS {
            return Err(json::Fault::SchemaPatterns(MAX_PATTERNS));
        }
        let sum = Parts::new(schema).validator()?;
        let (rules, bytes) = compile(schema, MAX_PATTERNS_BYTES / costly.patterns.max(1))?;
        let steps = sum.patterns.saturating_mul(bytes / STEP_BYTES);
        Ok(Self {
            rules,
            looks: sum.parts.saturating_add(steps),
        })
    }

    /// Whether validating this text would take too long.
    pub(crate) fn is_too_long(&self, text: &str) -> bool {
        self.looks.saturating_mul(text.len()) > MAX_WORK
    }

    /// The violations in a value, `most` at most.
    pub(crate) fn faults(&self, value: &Value, most: usize) -> Vec<Fault> {
        self.rules.faults(value, most)
    }
}

/// Rules with patterns of up to `most` bytes each, and the size limit that they satisfied.
fn compile(schema: &Value, most: usize) -> Result<(Rules, usize), json::Fault> {
    let smaller = PATTERN_BYTES.into_iter().filter(|bytes| *bytes < most);
    for bytes in smaller {
        if let Ok(rules) = Rules::of(schema, bytes) {
            return Ok((rules, bytes));
        }
    }
    let bytes = most.min(PATTERN_BYTES[PATTERN_BYTES.len() - 1]);
    let rules =
        Rules::of(schema, bytes).map_err(|fault| match (fault.to_string(), fault.place) {
            (why, place) if place.is_empty() => json::Fault::SchemaInvalid(why),
            (why, place) => json::Fault::SchemaInvalidAt { place, why },
        })?;
    Ok((rules, bytes))
}

/// Counts what in a schema costs more time or memory than its text.
#[derive(Default)]
struct Costly {
    unevaluated: usize,
    patterns: usize,
}

impl Costly {
    fn count(&mut self, part: &Value) {
        match part {
            Value::Object(members) => {
                self.patterns += patterns_of(part);
                for (name, value) in members {
                    if matches!(name.as_str(), "unevaluatedProperties" | "unevaluatedItems") {
                        self.unevaluated += 1;
                    }
                    self.count(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.count(item)),
            _ => {}
        }
    }
}

/// How many patterns a part itself has.
fn patterns_of(part: &Value) -> usize {
    let one = part.get("pattern").is_some_and(Value::is_string);
    let more = part.get("patternProperties").and_then(Value::as_object);
    usize::from(one) + more.map_or(0, serde_json::Map::len)
}

/// The size of a schema, with its references followed.
#[derive(Clone, Copy)]
struct Sum {
    parts: usize,
    patterns: usize,
}

impl Sum {
    const fn plus(self, other: Self) -> Self {
        Self {
            parts: self.parts.saturating_add(other.parts),
            patterns: self.patterns.saturating_add(other.patterns),
        }
    }
}

/// The parts of a schema: every value in it, and the targets of its references.
struct Parts<'a> {
    root: &'a Value,
    /// Whether `id` has the meaning that later drafts give `$id`.
    is_draft_4: bool,
    /// Depth and size of measured parts, by address; `None` while a part is being measured.
    known: HashMap<*const Value, Option<(usize, Sum)>>,
}

impl<'a> Parts<'a> {
    fn new(root: &'a Value) -> Self {
        Self {
            root,
            is_draft_4: root.to_string().contains("json-schema.org/draft-04/"),
            known: HashMap::new(),
        }
    }

    fn validator(&mut self) -> Result<Sum, json::Fault> {
        let root = self.root;
        self.part(root, 1).map(|(_, size)| size)
    }

    /// Depth and size of a part with its references followed.
    fn part(&mut self, part: &'a Value, level: usize) -> Result<(usize, Sum), json::Fault> {
        if !matches!(part, Value::Object(_) | Value::Array(_)) {
            let one = Sum {
                parts: 1,
                patterns: 0,
            };
            return Ok((0, one));
        }
        let known = self.known.get(&std::ptr::from_ref(part)).copied();
        let below = known.flatten().map_or(1, |(depth, _)| depth);
        if level + below - 1 > MAX_DEPTH {
            return Err(json::Fault::SchemaDepth(MAX_DEPTH));
        }
        match known {
            Some(Some(known)) => return Ok(known),
            Some(None) => return Err(json::Fault::SchemaCircle),
            None => {}
        }
        self.known.insert(part, None);
        let mut depth = 1;
        let mut size = Sum {
            parts: 1,
            patterns: patterns_of(part),
        };
        for inner in self.inner(part)? {
            let (inner_depth, inner_size) = self.part(inner, level + 1)?;
            depth = depth.max(inner_depth + 1);
            size = size.plus(inner_size);
        }
        if size.parts > MAX_PARTS {
            return Err(json::Fault::SchemaParts(MAX_PARTS));
        }
        self.known.insert(part, Some((depth, size)));
        Ok((depth, size))
    }

    /// The values within a part, and those that it refers to.
    fn inner(&self, part: &'a Value) -> Result<Vec<&'a Value>, json::Fault> {
        let members = match part {
            Value::Array(items) => return Ok(items.iter().collect()),
            Value::Object(members) => members,
            _ => return Ok(Vec::new()),
        };
        let mut inner = Vec::with_capacity(members.len());
        for (name, value) in members {
            inner.push(value);
            let Value::String(text) = value else {
                continue;
            };
            match name.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => inner.push(self.target(text)?),
                "$id" | "$anchor" | "$dynamicAnchor" => return Err(other_base(name)),
                "id" if self.is_draft_4 => return Err(other_base(name)),
                _ => {}
            }
        }
        Ok(inner)
    }

    fn target(&self, reference: &str) -> Result<&'a Value, json::Fault> {
        if reference != "#" && !reference.starts_with("#/") {
            return Err(json::Fault::SchemaForeignRef);
        }
        target(self.root, reference).ok_or(json::Fault::SchemaLostRef)
    }
}

/// With another base, `#/…` would point elsewhere than the check follows it, possibly in a circle.
fn other_base(name: &str) -> json::Fault {
    json::Fault::SchemaBase(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn fault(schema: &str) -> String {
        check(&json(schema)).map_or_else(|fault| fault.to_string(), |()| String::new())
    }

    #[test]
    fn schemas_of_every_day_are_accepted() {
        for schema in [
            "{}",
            r#"{"type":"object"}"#,
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}"#,
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/id"},"b":{"$ref":"#/$defs/id"}},"required":["a"],
                "$defs":{"id":{"type":"string","pattern":"^[A-Z]{2}[0-9]+$"}}}"##,
            r##"{"properties":{"a":{"$ref":"#/definitions/a%20b"}},"definitions":{"a b":{"type":"integer"}}}"##,
        ] {
            assert_eq!(fault(schema), "", "{schema}");
        }
    }

    #[test]
    fn references_lead_to_places_in_the_schema_and_never_round() {
        let not_local = "has a `$ref` that is not local: only `#` and `#/…` are followed";
        for reference in [
            "https://example.com/schema.json",
            "file:///etc/passwd",
            "other.json#/a",
            "#name",
            "json-schema:///x",
        ] {
            let schema = format!(r#"{{"properties":{{"a":{{"$ref":"{reference}"}}}}}}"#);
            assert_eq!(fault(&schema), not_local, "{reference}");
        }
        let round = "has a `$ref` that leads back to itself: write it out";
        for schema in [
            r##"{"$ref":"#"}"##,
            r##"{"properties":{"a":{"$ref":"#"}}}"##,
            r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
            r##"{"properties":{"a":{"items":{"$ref":"#/properties/a"}}}}"##,
        ] {
            assert_eq!(fault(schema), round, "{schema}");
        }
        assert_eq!(
            fault(r##"{"$ref":"#/$defs/a"}"##),
            "has a `$ref` that leads nowhere"
        );
        assert_eq!(
            fault(r#"{"$id":"https://a.example/"}"#),
            "must not use `$id`: refer by `#/…` alone"
        );
        // Refers to itself through the base that `id` sets.
        let draft_4 = |part: &str| {
            fault(&format!(
                r#"{{"$schema":"http://json-schema.org/draft-04/schema#","definitions":{{"a":{{}}}},"properties":{part}}}"#
            ))
        };
        let round =
            r##"{"x":{"id":"http://x.example/","definitions":{"a":{"$ref":"#/definitions/a"}}}}"##;
        assert_eq!(draft_4(round), "must not use `id`: refer by `#/…` alone");
        let plain = r##"{"id":{"$ref":"#/definitions/a"}}"##;
        assert_eq!(draft_4(plain), "", "a member of that name");
    }

    #[test]
    fn absurd_schemas_are_refused_with_a_sentence() {
        let deep = "nests deeper than 32 levels, references followed";
        let nested = format!("{}{{}}{}", r#"{"not":"#.repeat(40), "}".repeat(40));
        assert_eq!(fault(&nested), deep);
        let chain: Vec<String> = (0..40)
            .map(|n| format!(r##""d{n}":{{"$ref":"#/$defs/d{}"}}"##, n + 1))
            .collect();
        let chain = format!(
            r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d40":{{}}}}}}"##,
            chain.join(",")
        );
        assert_eq!(fault(&chain), deep);
        let doubling: Vec<String> = (0..20)
            .map(|n| {
                let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, n + 1);
                format!(r#""d{n}":{{"allOf":[{next},{next}]}}"#)
            })
            .collect();
        let bomb = format!(
            r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d20":{{}}}}}}"##,
            doubling.join(",")
        );
        let refused = fault(&bomb);
        assert!(
            refused == deep || refused.starts_with("has more than"),
            "{refused}"
        );
        let long = format!(r#"{{"description":"{}"}}"#, "x".repeat(MAX_BYTES));
        assert_eq!(fault(&long), "is longer than 65536 bytes of compact JSON");
        assert_eq!(
            fault(r#"{"type":"array"}"#),
            "must have the `type` `object`: models send arguments as an object"
        );
        for invalid in [
            r#"{"properties":{"a":{"type":"strnig"}}}"#,
            r#"{"required":"a"}"#,
            r#"{"properties":{"a":{"pattern":"("}}}"#,
            r#"{"properties":{"a":{"pattern":"(?=a)b"}}}"#,
            r#"{"properties":{"a":{"pattern":"((a{1,999}){1,999}){1,999}"}}}"#,
            r#"{"$schema":"https://example.com/mine"}"#,
        ] {
            let refused = fault(invalid);
            assert!(
                refused.starts_with("is no valid JSON Schema"),
                "{invalid}: {refused}"
            );
        }
    }

    #[test]
    fn what_takes_more_than_its_text_is_bounded_in_sum() {
        let nested = |levels: usize| {
            let open = r#"{"type":"object","unevaluatedProperties":{},"then":{},"if":"#;
            format!("{}{{}}{}", open.repeat(levels), "}".repeat(levels))
        };
        let too_many = "has more than 8 of `unevaluatedProperties` and `unevaluatedItems`";
        assert_eq!(fault(&nested(27)), too_many);
        assert_eq!(fault(&nested(8)), "");
        fit(&json(&nested(8)), r#"{"a":1}"#).unwrap();
        let patterns = |count: usize, pattern: &str| {
            let one = |n| format!(r#""p{n}":{{"pattern":"{pattern}{n}$"}}"#);
            let all: Vec<String> = (0..count).map(one).collect();
            format!(r#"{{"properties":{{{}}}}}"#, all.join(","))
        };
        assert_eq!(
            fault(&patterns(65, "^[A-Z]{2}")),
            "has more than 64 patterns"
        );
        assert_eq!(fault(&patterns(64, "^[A-Z]{2}")), "");
        let named = r#"{"properties":{"pattern":{"type":"string"}}}"#;
        assert_eq!(fault(named), "", "a member of that name");
        // Each of them may be that long alone.
        let long = "\\\\p{L}{12}";
        assert_eq!(fault(&patterns(1, long)), "");
        assert!(fault(&patterns(64, long)).starts_with("is no valid JSON Schema"));
    }

    #[test]
    fn arguments_are_measured_by_the_schema_and_the_fault_is_told() {
        let schema = json(
            r#"{"type":"object","properties":{"id":{"type":"integer","minimum":1}},"required":["id"],
                "additionalProperties":false}"#,
        );
        let arguments = fit(&schema, r#"{"id":7}"#).unwrap();
        assert_eq!(arguments["id"], 7);
        let message = fit(&schema, r#"{"id":"7"}"#).unwrap_err();
        assert_eq!(
            message,
            "The arguments do not fit the tool's schema (/id: \"7\" is not of type \"integer\"). Call the tool again \
             with arguments that do."
        );
        assert!(
            fit(&schema, "{}")
                .unwrap_err()
                .contains("\"id\" is a required property")
        );
        let left = |schema: &str, arguments| fit(&json(schema), arguments).map(Value::Object);
        let (given, one) = (r#"{"id":7,"x_y":1,"admin":true}"#, r#"{"id":7}"#);
        for (schema, expected) in [
            ("{}", "{}"),
            (r#"{"properties":{"id":{}}}"#, one),
            (
                r##"{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"properties":{"id":{}}}}}"##,
                one,
            ),
            (
                r#"{"anyOf":[{"properties":{"id":{}}},{"properties":{"admin":{"type":"string"}}}]}"#,
                one,
            ),
            (r#"{"patternProperties":{"^x_":{}}}"#, r#"{"x_y":1}"#),
            (
                r#"{"properties":{"id":{}},"additionalProperties":{}}"#,
                given,
            ),
        ] {
            let expected = Ok(serde_json::from_str(expected).unwrap());
            assert_eq!(left(schema, given), expected, "{schema}");
        }
        for broken in ["", "[]", "7", "{\"id\":"] {
            let message = fit(&schema, broken).unwrap_err();
            assert!(
                message.starts_with("The arguments are not a JSON object."),
                "{broken}"
            );
        }
    }

    #[test]
    fn many_rules_for_many_values_are_not_measured() {
        let rules = vec![r#"{"type":"number"}"#; 3_500].join(",");
        let schema = json(&format!(
            r#"{{"properties":{{"a":{{"items":{{"allOf":[{rules}]}}}}}}}}"#
        ));
        check(&schema).unwrap();
        fit(&schema, r#"{"a":[1,2,3]}"#).unwrap();
        let many = format!(r#"{{"a":[{}]}}"#, vec!["1"; 30_000].join(","));
        let message = fit(&schema, &many).unwrap_err();
        assert!(
            message.starts_with("The arguments are too long for the tool's schema."),
            "{message}"
        );
        fit(&json("{}"), &many).unwrap();
    }

    #[test]
    fn hostile_patterns_take_no_time() {
        let schema = json(r#"{"properties":{"a":{"pattern":"^(a+)+$"}}}"#);
        check(&schema).unwrap();
        let arguments = format!(r#"{{"a":"{}!"}}"#, "a".repeat(50_000));
        assert!(fit(&schema, &arguments).is_err());
    }

    /// A pattern whose many steps all process each 0 and 1, and a text of those.
    fn counting(steps: usize) -> (String, String) {
        let mut seed = 1_u32;
        let mut digit = || {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            if seed & 1 == 0 { '0' } else { '1' }
        };
        let text: String = (0..60_000).map(|_| digit()).collect();
        (format!("^[01]*1[01]{{{steps}}}$"), text)
    }

    #[test]
    fn patterns_of_many_steps_measure_no_long_text() {
        let (pattern, text) = counting(1_000);
        let one = format!(r#"{{"pattern":"{pattern}"}}"#);
        let several = json(&format!(
            r#"{{"properties":{{"a":{{"allOf":[{}]}}}}}}"#,
            [one.as_str(); 8].join(",")
        ));
        check(&several).unwrap();
        let began = std::time::Instant::now();
        let message = fit(&several, &format!(r#"{{"a":"{text}"}}"#)).unwrap_err();
        assert!(
            message.starts_with("The arguments are too long for the tool's schema."),
            "{message}"
        );
        let message = fit(&several, &format!(r#"{{"a":"{}2"}}"#, &text[..1_500])).unwrap_err();
        assert!(message.contains("does not match"), "{message}");
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());

        // The same pattern again and again, by reference.
        let again = vec![r##"{"$ref":"#/$defs/p"}"##; 2_000].join(",");
        let referred = |pattern: &str| {
            fault(&format!(
                r#"{{"$defs":{{"p":{{"pattern":"{pattern}"}}}},"properties":{{"a":{{"allOf":[{again}]}}}}}}"#
            ))
        };
        assert_eq!(
            referred("^[01]+$"),
            "has patterns that take too long: write shorter or fewer ones"
        );
        // Many of them, each as large as a single one may be.
        let many = vec![format!(r#"{{"pattern":"{}"}}"#, counting(5_000).0); 64].join(",");
        let many = fault(&format!(r#"{{"properties":{{"a":{{"allOf":[{many}]}}}}}}"#));
        assert!(many.starts_with("is no valid JSON Schema"), "{many}");
    }
}
