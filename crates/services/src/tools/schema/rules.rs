//! JSON Schema for schemas that refer to themselves by `#/…` only: checks schemas, and values against them. The
//! keywords of drafts 4 to 2020-12 work whichever draft `$schema` names; `format` and content keywords are annotations.
//! The time is linear in the parts of the schema, times the bytes of the value.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};

/// The schema of schemas.
static META: LazyLock<Rules> = LazyLock::new(|| {
    let schema = serde_json::from_str(include_str!("meta.json")).unwrap_or_default();
    Rules {
        schema,
        patterns: HashMap::new(),
        is_tracking: false,
        refers_alone: false,
    }
});

/// Members of these have names chosen by the schema, not by its draft.
const NAMED: [&str; 6] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// These hold values, not schemas.
const VALUES: [&str; 4] = ["const", "default", "enum", "examples"];

/// Characters of a value that an error repeats.
const SHOWN: usize = 300;

/// A violation and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The place in the value: a JSON Pointer, empty for the whole.
    pub(crate) place: String,
    /// The keyword's place in the schema.
    pub(crate) rule: String,
    message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A compiled schema.
#[derive(Debug)]
pub(super) struct Rules {
    schema: Value,
    patterns: HashMap<String, Regex>,
    /// Whether evaluated properties and items must be tracked.
    is_tracking: bool,
    /// Whether keywords beside a reference are ignored, as in drafts 4 to 7.
    refers_alone: bool,
}

impl Rules {
    /// Compiles a schema with patterns of up to `most` bytes each. Its references must not form a cycle. The error says
    /// why the schema is invalid.
    pub(super) fn of(schema: &Value, most: usize) -> Result<Self, Fault> {
        if let Some(fault) = META.faults(schema, 1).pop() {
            return Err(fault);
        }
        let draft = schema.get("$schema").and_then(Value::as_str);
        let mut rules = Self {
            schema: schema.clone(),
            patterns: HashMap::new(),
            is_tracking: false,
            refers_alone: draft.is_some_and(|draft| draft.contains("/draft-0")),
        };
        rules.read(schema, most, &Path::ROOT)?;
        Ok(rules)
    }

    /// Compiles the patterns, and notes whether tracking is needed.
    fn read(&mut self, part: &Value, most: usize, path: &Path<'_>) -> Result<(), Fault> {
        let items = part.as_array().into_iter().flatten().enumerate();
        for (number, item) in items {
            self.read(item, most, &path.below(&number))?;
        }
        for (name, value) in part.as_object().into_iter().flatten() {
            let path = path.below(name);
            self.is_tracking |= name.starts_with("unevaluated");
            match (name.as_str(), value) {
                (name, _) if VALUES.contains(&name) => {}
                ("pattern", Value::String(pattern)) => self.pattern(pattern, most, &path)?,
                (keyword, Value::Object(named)) if NAMED.contains(&keyword) => {
                    for (name, schema) in named {
                        if keyword == "patternProperties" {
                            self.pattern(name, most, &path)?;
                        }
                        self.read(schema, most, &path.below(name))?;
                    }
                }
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference))
                    if target(&self.schema, reference).is_none() =>
                {
                    let message = format_args!("{value} leads nowhere");
                    return Err(Fault::of(&path, &path, message));
                }
                _ => self.read(value, most, &path)?,
            }
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &str, most: usize, path: &Path<'_>) -> Result<(), Fault> {
        let compiled = RegexBuilder::new(&translated(pattern))
            .size_limit(most)
            .build();
        let compiled = compiled.map_err(|_| {
            let message = format_args!("{pattern:?} is no pattern that can be used");
            Fault::of(path, path, message)
        })?;
        self.patterns.insert(pattern.to_owned(), compiled);
        Ok(())
    }

    /// The violations in a value, `most` at most.
    pub(super) fn faults(&self, value: &Value, most: usize) -> Vec<Fault> {
        let mut faults = Faults::of(most);
        self.look(&self.schema, value, At::ROOT, &mut faults);
        faults.found
    }

    /// The members that the schema mentions, if the object is valid.
    pub(super) fn covered<'v>(&mut self, object: &'v Value) -> HashSet<&'v str> {
        self.is_tracking = true;
        let seen = self.fits(&self.schema, object);
        seen.map(|seen| seen.names).unwrap_or_default()
    }

    /// The evaluated properties and items, if a value is valid.
    fn fits<'v>(&self, schema: &Value, value: &'v Value) -> Option<Seen<'v>> {
        let mut faults = Faults::of(0);
        let seen = self.look(schema, value, At::ROOT, &mut faults);
        (!faults.any).then_some(seen)
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        let pattern = self.patterns.get(pattern);
        pattern.is_some_and(|pattern| pattern.is_match(text))
    }

    fn look<'v>(
        &self,
        schema: &Value,
        value: &'v Value,
        at: At<'_>,
        faults: &mut Faults,
    ) -> Seen<'v> {
        let mut seen = Seen::default();
        if *schema == Value::Bool(false) {
            faults.add(at, format_args!("{} is not allowed", Shown(value)));
        }
        let Value::Object(members) = schema else {
            return seen;
        };
        let is_alone = self.refers_alone && members.contains_key("$ref");
        // `unevaluated…` keywords come last: only then is it known what was evaluated.
        let is_last = |keyword: &str| keyword.starts_with("unevaluated");
        let first = members.iter().filter(|(keyword, _)| !is_last(keyword));
        let last = members.iter().filter(|(keyword, _)| is_last(keyword));
        for (keyword, rule) in first.chain(last) {
            if faults.are_enough() {
                break;
            }
            if is_alone && keyword != "$ref" {
                continue;
            }
            let at = At {
                rule: &at.rule.below(keyword),
                ..at
            };
            let keyword = Keyword {
                rules: self,
                members,
                name: keyword,
                rule,
                at,
            };
            match value {
                Value::Object(object) => keyword.object(object, value, &mut seen, faults),
                Value::Array(array) => keyword.array(array, value, &mut seen, faults),
                Value::String(text) => keyword.text(text, value, faults),
                Value::Number(number) => keyword.number(number, faults),
                Value::Null | Value::Bool(_) => {}
            }
            keyword.any(value, &mut seen, faults);
        }
        seen
    }
}

#[derive(Clone, Copy)]
struct Keyword<'a> {
    rules: &'a Rules,
    /// The keywords beside it.
    members: &'a Map<String, Value>,
    name: &'a str,
    rule: &'a Value,
    at: At<'a>,
}

impl<'a> Keyword<'a> {
    /// Checks a part of the value.
    fn inside(&self, schema: &Value, inner: &Value, step: &dyn fmt::Display, faults: &mut Faults) {
        let at = At {
            place: &self.at.place.below(step),
            ..self.at
        };
        self.rules.look(schema, inner, at, faults);
    }

    /// Checks the value by a schema within the keyword.
    fn by<'v>(
        &self,
        schema: &Value,
        step: &dyn fmt::Display,
        value: &'v Value,
        faults: &mut Faults,
    ) -> Seen<'v> {
        let at = At {
            rule: &self.at.rule.below(step),
            ..self.at
        };
        self.rules.look(schema, value, at, faults)
    }

    fn listed(&self) -> impl Iterator<Item = &'a Value> {
        self.rule.as_array().into_iter().flatten()
    }

    fn named(&self, keyword: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let members = self.members.get(keyword).and_then(Value::as_object);
        members.into_iter().flatten()
    }

    fn limit(&self, keyword: &str) -> Option<usize> {
        // Counts may be written `3.0`.
        let limit = self.members.get(keyword)?.as_f64()?;
        Some(limit as usize)
    }

    fn any<'v>(&self, value: &'v Value, seen: &mut Seen<'v>, faults: &mut Faults) {
        let (rules, at, shown) = (self.rules, self.at, Shown(value));
        match self.name {
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                let target = self.rule.as_str().map(|path| target(&rules.schema, path));
                if let Some(Some(schema)) = target {
                    seen.add(rules.look(schema, value, at, faults));
                }
            }
            "type" => {
                let one = [self.rule];
                let kinds: Vec<_> = self.listed().collect();
                let kinds = if kinds.is_empty() { &one[..] } else { &kinds };
                if !kinds.iter().any(|kind| is_of(kind, value)) {
                    let kinds: Vec<_> = kinds.iter().map(ToString::to_string).collect();
                    let kinds = kinds.join(" or ");
                    faults.add(at, format_args!("{shown} is not of type {kinds}"));
                }
            }
            "enum" if !self.listed().any(|one| same(one, value)) => {
                let listed = Shown(self.rule);
                faults.add(at, format_args!("{shown} is not one of {listed}"));
            }
            "const" if !same(self.rule, value) => {
                faults.add(at, format_args!("{} was expected", Shown(self.rule)));
            }
            "allOf" => {
                for (number, schema) in self.listed().enumerate() {
                    seen.add(self.by(schema, &number, value, faults));
                }
            }
            "anyOf" => {
                let mut fitting = self.listed().filter_map(|one| rules.fits(one, value));
                match fitting.next() {
                    None => faults.add(at, format_args!("{shown} fits none of these schemas")),
                    Some(first) => seen.add(first),
                }
                if rules.is_tracking {
                    fitting.for_each(|more| seen.add(more));
                }
            }
            "oneOf" => {
                let mut fitting = self.listed().filter_map(|one| rules.fits(one, value));
                match (fitting.next(), fitting.next()) {
                    (Some(one), None) => seen.add(one),
                    (None, _) => {
                        faults.add(at, format_args!("{shown} fits none of these schemas"));
                    }
                    _ => faults.add(at, format_args!("{shown} fits more than one schema")),
                }
            }
            "not" if rules.fits(self.rule, value).is_some() => {
                faults.add(at, format_args!("{shown} fits what is excluded"));
            }
            "if" => {
                let fits = rules.fits(self.rule, value);
                let branch = if fits.is_some() { "then" } else { "else" };
                seen.add(fits.unwrap_or_default());
                if let Some(schema) = self.members.get(branch) {
                    seen.add(self.by(schema, &branch, value, faults));
                }
            }
            _ => {}
        }
    }

    fn object<'v>(
        &self,
        object: &'v Map<String, Value>,
        value: &'v Value,
        seen: &mut Seen<'v>,
        faults: &mut Faults,
    ) {
        let (rules, at, shown) = (self.rules, self.at, Shown(value));
        match self.name {
            "properties" => {
                for (name, schema) in self.named(self.name) {
                    if let Some((name, inner)) = object.get_key_value(name) {
                        seen.names
                            .extend(rules.is_tracking.then_some(name.as_str()));
                        let at = At {
                            rule: &at.rule.below(name),
                            place: &at.place.below(name),
                        };
                        rules.look(schema, inner, at, faults);
                    }
                }
            }
            "patternProperties" => {
                for (pattern, schema) in self.named(self.name) {
                    for (name, inner) in object
                        .iter()
                        .filter(|(name, _)| rules.matches(pattern, name))
                    {
                        seen.names
                            .extend(rules.is_tracking.then_some(name.as_str()));
                        self.inside(schema, inner, name, faults);
                    }
                }
            }
            "additionalProperties" => {
                let named = self.members.get("properties");
                let is_other = |name: &str| {
                    let is_named = named.is_some_and(|named| named.get(name).is_some());
                    let mut patterns = self.named("patternProperties");
                    !is_named && !patterns.any(|(pattern, _)| rules.matches(pattern, name))
                };
                let others = object.iter().filter(|(name, _)| is_other(name));
                self.others(&others.collect::<Vec<_>>(), faults);
                let all = object.keys().map(String::as_str);
                seen.names.extend(all.filter(|_| rules.is_tracking));
            }
            "unevaluatedProperties" => {
                let others = object.iter();
                let others = others.filter(|(name, _)| !seen.names.contains(name.as_str()));
                self.others(&others.collect::<Vec<_>>(), faults);
                seen.names.extend(object.keys().map(String::as_str));
            }
            "propertyNames" => {
                for name in object.keys() {
                    rules.look(self.rule, &Value::from(name.as_str()), at, faults);
                }
            }
            "required" => self.required(self.rule, object, faults),
            "dependentRequired" | "dependentSchemas" | "dependencies" => {
                for (name, rule) in self.named(self.name) {
                    match object.contains_key(name) {
                        true if rule.is_array() => self.required(rule, object, faults),
                        true => seen.add(self.by(rule, name, value, faults)),
                        false => {}
                    }
                }
            }
            "minProperties" if self.limit(self.name) > Some(object.len()) => {
                faults.add(
                    at,
                    format_args!("{shown} has fewer than {} properties", self.rule),
                );
            }
            "maxProperties" if self.limit(self.name) < Some(object.len()) => {
                faults.add(
                    at,
                    format_args!("{shown} has more than {} properties", self.rule),
                );
            }
            _ => {}
        }
    }

    /// Checks the properties that no other keyword covers.
    fn others(&self, others: &[(&String, &Value)], faults: &mut Faults) {
        if *self.rule == Value::Bool(false) && !others.is_empty() {
            let names: Vec<&str> = others.iter().map(|(name, _)| name.as_str()).collect();
            let names = Value::from(names);
            let message = format_args!("no other properties are allowed: {}", Shown(&names));
            return faults.add(self.at, message);
        }
        for (name, inner) in others {
            self.inside(self.rule, inner, name, faults);
        }
    }

    fn required(&self, names: &Value, object: &Map<String, Value>, faults: &mut Faults) {
        for name in names.as_array().into_iter().flatten() {
            if name.as_str().is_some_and(|name| !object.contains_key(name)) {
                faults.add(self.at, format_args!("{name} is a required property"));
            }
        }
    }

    fn array<'v>(
        &self,
        array: &'v [Value],
        value: &'v Value,
        seen: &mut Seen<'v>,
        faults: &mut Faults,
    ) {
        let (rules, at, shown) = (self.rules, self.at, Shown(value));
        let listed = |keyword| self.members.get(keyword).and_then(Value::as_array);
        // The first item that this keyword covers.
        let from = match self.name {
            "items" | "prefixItems" if self.rule.is_array() => {
                for (number, (schema, inner)) in self.listed().zip(array).enumerate() {
                    self.inside(schema, inner, &number, faults);
                }
                let looked_at = (0..array.len()).take(self.listed().count());
                return seen.items.extend(looked_at.filter(|_| rules.is_tracking));
            }
            "items" => listed("prefixItems").map_or(0, Vec::len),
            "additionalItems" => listed("items").map_or(array.len(), Vec::len),
            "unevaluatedItems" => 0,
            "contains" => {
                let fits = |inner: &Value| rules.fits(self.rule, inner).is_some();
                let fitting = (0..array.len()).filter(|number| fits(&array[*number]));
                let fitting: Vec<usize> = fitting.collect();
                if fitting.len() < self.limit("minContains").unwrap_or(1) {
                    faults.add(at, format_args!("{shown} contains too few that fit"));
                }
                if self
                    .limit("maxContains")
                    .is_some_and(|most| fitting.len() > most)
                {
                    faults.add(at, format_args!("{shown} contains too many that fit"));
                }
                return seen.items.extend(fitting);
            }
            "minItems" if self.limit(self.name) > Some(array.len()) => {
                return faults.add(
                    at,
                    format_args!("{shown} has fewer than {} items", self.rule),
                );
            }
            "maxItems" if self.limit(self.name) < Some(array.len()) => {
                return faults.add(
                    at,
                    format_args!("{shown} has more than {} items", self.rule),
                );
            }
            "uniqueItems" if *self.rule == Value::Bool(true) => {
                let distinct: HashSet<String> = array.iter().map(key).collect();
                if distinct.len() < array.len() {
                    faults.add(at, format_args!("{shown} has an item twice"));
                }
                return;
            }
            _ => return,
        };
        for (number, inner) in array.iter().enumerate().skip(from) {
            if self.name != "unevaluatedItems" || !seen.items.contains(&number) {
                self.inside(self.rule, inner, &number, faults);
            }
            seen.items.extend(rules.is_tracking.then_some(number));
        }
    }

    fn text(&self, text: &str, value: &Value, faults: &mut Faults) {
        let (at, rule, shown) = (self.at, self.rule, Shown(value));
        match self.name {
            "minLength" if self.limit(self.name) > Some(text.chars().count()) => {
                faults.add(
                    at,
                    format_args!("{shown} is shorter than {rule} characters"),
                );
            }
            "maxLength" if self.limit(self.name) < Some(text.chars().count()) => {
                faults.add(at, format_args!("{shown} is longer than {rule} characters"));
            }
            "pattern"
                if !rule
                    .as_str()
                    .is_some_and(|rule| self.rules.matches(rule, text)) =>
            {
                faults.add(at, format_args!("{shown} does not match {rule}"));
            }
            _ => {}
        }
    }

    fn number(&self, number: &Number, faults: &mut Faults) {
        let Value::Number(limit) = self.rule else {
            return;
        };
        // As in draft 4.
        let is_exclusive = |keyword| self.members.get(keyword) == Some(&Value::Bool(true));
        let order = order(number, limit);
        let message = match self.name {
            "minimum" if order == Ordering::Less => "less than",
            "maximum" if order == Ordering::Greater => "greater than",
            "exclusiveMinimum" if order != Ordering::Greater => "not greater than",
            "exclusiveMaximum" if order != Ordering::Less => "not less than",
            "minimum" if order.is_eq() && is_exclusive("exclusiveMinimum") => "not greater than",
            "maximum" if order.is_eq() && is_exclusive("exclusiveMaximum") => "not less than",
            "multipleOf" if !is_multiple(number, limit) => "not a multiple of",
            _ => return,
        };
        faults.add(self.at, format_args!("{number} is {message} {limit}"));
    }
}

/// The path to a part of a value or of a schema.
#[derive(Clone, Copy)]
struct Path<'a> {
    above: Option<&'a Path<'a>>,
    step: &'a dyn fmt::Display,
}

impl Path<'_> {
    const ROOT: Path<'static> = Path {
        above: None,
        step: &"",
    };

    fn below<'b>(&'b self, step: &'b dyn fmt::Display) -> Path<'b> {
        Path {
            above: Some(self),
            step,
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(above) = self.above else {
            return Ok(());
        };
        let step = self.step.to_string().replace('~', "~0").replace('/', "~1");
        write!(f, "{above}/{step}")
    }
}

/// The current place in the value and in the schema.
#[derive(Clone, Copy)]
struct At<'a> {
    place: &'a Path<'a>,
    rule: &'a Path<'a>,
}

impl At<'_> {
    const ROOT: At<'static> = At {
        place: &Path::ROOT,
        rule: &Path::ROOT,
    };
}

impl Fault {
    fn of(place: &Path<'_>, rule: &Path<'_>, message: fmt::Arguments<'_>) -> Self {
        Self {
            place: place.to_string(),
            rule: rule.to_string(),
            message: message.to_string(),
        }
    }
}

/// The violations found. With no room for one, only its existence is recorded.
struct Faults {
    found: Vec<Fault>,
    most: usize,
    any: bool,
}

impl Faults {
    const fn of(most: usize) -> Self {
        Self {
            found: Vec::new(),
            most,
            any: false,
        }
    }

    const fn are_enough(&self) -> bool {
        self.any && self.found.len() >= self.most
    }

    fn add(&mut self, at: At<'_>, message: fmt::Arguments<'_>) {
        self.any = true;
        if self.found.len() < self.most {
            self.found.push(Fault::of(at.place, at.rule, message));
        }
    }
}

/// The evaluated properties and items of one value, if tracked.
#[derive(Default)]
struct Seen<'v> {
    names: HashSet<&'v str>,
    items: HashSet<usize>,
}

impl Seen<'_> {
    fn add(&mut self, other: Self) {
        self.names.extend(other.names);
        self.items.extend(other.items);
    }
}

/// Displays the beginning of a value.
struct Shown<'a>(&'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => write!(f, "{}…", &text[..end]),
            None => f.write_str(&text),
        }
    }
}

/// The part of a schema that a reference points to; it may be percent-encoded.
pub(super) fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = percent_decoded(reference.strip_prefix('#')?)?;
    root.pointer(&pointer)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        if *byte == b'%' {
            let (digits, tail) = tail.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn is_of(kind: &Value, value: &Value) -> bool {
    let names = match value {
        Value::Null => ["null"; 2],
        Value::Bool(_) => ["boolean"; 2],
        Value::Object(_) => ["object"; 2],
        Value::Array(_) => ["array"; 2],
        Value::String(_) => ["string"; 2],
        Value::Number(number) if number.as_f64().is_some_and(|n| n.fract() == 0.0) => {
            ["number", "integer"]
        }
        Value::Number(_) => ["number"; 2],
    };
    kind.as_str().is_some_and(|kind| names.contains(&kind))
}

fn whole(number: &Number) -> Option<i128> {
    let positive = number.as_u64().map(i128::from);
    positive.or_else(|| number.as_i64().map(i128::from))
}

fn order(one: &Number, other: &Number) -> Ordering {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => {
            let order = one.as_f64().partial_cmp(&other.as_f64());
            order.unwrap_or(Ordering::Equal)
        }
    }
}

fn is_multiple(number: &Number, of: &Number) -> bool {
    if let (Some(number), Some(of)) = (whole(number), whole(of)) {
        return number % of == 0;
    }
    let (number, of) = (number.as_f64().unwrap_or(0.0), of.as_f64().unwrap_or(1.0));
    let times = number / of;
    if times.is_infinite() {
        return number % of == 0.0;
    }
    // Decimal fractions are stored only approximately.
    (times - times.round()).abs() <= f64::EPSILON * times.abs().max(1.0)
}

/// Whether two values are equal in JSON, where `1` is `1.0` and members have no order.
fn same(one: &Value, other: &Value) -> bool {
    one == other || key(one) == key(other)
}

/// A text that is the same for equal values.
fn key(value: &Value) -> String {
    match value {
        Value::Number(number) => match (whole(number), number.as_f64()) {
            (Some(number), _) => number.to_string(),
            (None, Some(float)) if float.fract() == 0.0 => format!("{float:.0}"),
            _ => number.to_string(),
        },
        Value::Array(items) => format!("{:?}", items.iter().map(key).collect::<Vec<_>>()),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name, key(value)));
            format!(
                "{:?}",
                members.collect::<std::collections::BTreeMap<_, _>>()
            )
        }
        other => other.to_string(),
    }
}

/// Translates an ECMAScript pattern for the crate `regex`, where digits, words and spaces have other members, and a
/// bracket within brackets opens a set.
fn translated(pattern: &str) -> String {
    const SPACES: &str =
        r"\t-\r\x20\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";
    let mut text = String::with_capacity(pattern.len());
    let mut in_class = false;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('d') => text.push_str("[0-9]"),
                Some('D') => text.push_str("[^0-9]"),
                Some('w') => text.push_str("[A-Za-z0-9_]"),
                Some('W') => text.push_str("[^A-Za-z0-9_]"),
                Some('b') => text.push_str(if in_class { "\\x08" } else { "(?-u:\\b)" }),
                Some('B') => text.push_str("(?-u:\\B)"),
                Some('s') => text.extend(["[", SPACES, "]"]),
                Some('S') => text.extend(["[^", SPACES, "]"]),
                // `\c` and a letter is a control character. With anything else it is invalid, as `\c` is in `regex`.
                Some('c') => match characters.next().filter(char::is_ascii_alphabetic) {
                    Some(letter) => text.extend(char::from_u32(letter as u32 % 32)),
                    None => text.push_str("\\c"),
                },
                Some('/') => text.push('/'),
                // ECMAScript lacks these; `\c` makes `regex` refuse them.
                Some('a' | 'A' | 'z' | 'U' | '<' | '>') => text.push_str("\\c"),
                Some(other) => text.extend(['\\', other]),
                None => text.push('\\'),
            },
            '[' | '&' | '~' if in_class => text.extend(['\\', character]),
            _ => {
                in_class = (in_class || character == '[') && character != ']';
                text.push(character);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(schema: &Value) -> Rules {
        Rules::of(schema, 1 << 20).unwrap()
    }

    #[test]
    fn values_fit_or_not_as_each_keyword_says() {
        for (schema, fitting, other) in [
            (
                json!({"type": ["integer", "null"]}),
                json!([1, 2.0, null]),
                json!([1.5, "1"]),
            ),
            (
                json!({"const": {"a": 1, "b": [2.0]}}),
                json!([{"b": [2], "a": 1.0}]),
                json!([{"a": 1}]),
            ),
            (
                json!({"enum": [0, "0"]}),
                json!([0.0, "0"]),
                json!([false, null]),
            ),
            (
                json!({"multipleOf": 0.01}),
                json!([19.99, 7, -0.07]),
                json!([0.001, 4.015]),
            ),
            (
                json!({"minimum": 1, "exclusiveMaximum": 3}),
                json!([1, 2.9, "0"]),
                json!([0, 3]),
            ),
            (
                json!({"minimum": 1, "exclusiveMinimum": true}),
                json!([2]),
                json!([1]),
            ),
            (
                json!({"minLength": 2, "maxLength": 3}),
                json!(["año", "😀😀"]),
                json!(["ñ", "four"]),
            ),
            (
                json!({"pattern": "^\\d+[\\w-]\\b[^\\s&&]$"}),
                json!(["12a.", "1-x"]),
                json!(["٣a.", "1ñ.", "1a&", "1aa"]),
            ),
            (
                json!({"items": {"type": "string"}, "prefixItems": [{"type": "null"}]}),
                json!([[null, "a"], []]),
                json!([["a"], [null, 1]]),
            ),
            (
                json!({"items": [{}, {"type": "null"}], "additionalItems": false}),
                json!([[1, null]]),
                json!([[1, 2], [1, null, 3]]),
            ),
            (
                json!({"contains": {"type": "null"}, "minContains": 2, "maxContains": 2}),
                json!([[null, 1, null]]),
                json!([[null], [null, null, null]]),
            ),
            (
                json!({"uniqueItems": true, "minItems": 1}),
                json!([[1, "1", [1]]]),
                json!([[], [1, 1.0], [{"a": 1}, {"a": 1}]]),
            ),
            (
                json!({"properties": {"a": {"type": "null"}}, "patternProperties": {"^x-": {}}, "additionalProperties": false}),
                json!([{"a": null, "x-b": 1}]),
                json!([{"a": 1}, {"b": 1}]),
            ),
            (
                json!({"required": ["a"], "maxProperties": 1, "propertyNames": {"maxLength": 1}}),
                json!([{"a": 1}]),
                json!([{}, {"a": 1, "b": 2}, {"aa": 1}]),
            ),
            (
                json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"b": {"minProperties": 2}}}),
                json!([{}, {"a": 1, "b": 1}]),
                json!([{"a": 1}, {"b": 1}]),
            ),
            (
                json!({"allOf": [{"anyOf": [{"const": 1}, {"const": 2}]}, {"not": {"const": 2}}]}),
                json!([1]),
                json!([2, 3]),
            ),
            (
                json!({"oneOf": [{"minimum": 1}, {"maximum": 1}]}),
                json!([0, 2]),
                json!([1]),
            ),
            (
                json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": false}),
                json!([{"a": 1, "b": 1}]),
                json!([{"a": 1}, {}]),
            ),
            (
                json!({"$ref": "#/$defs/a~1b", "maximum": 3, "$defs": {"a/b": {"minimum": 2}}}),
                json!([2, 3]),
                json!([1, 4]),
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a%25", "maximum": 3,
                    "definitions": {"a%": {"minimum": 2}}}),
                json!([2, 4]),
                json!([1]),
            ),
            (
                json!({"anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}],
                    "unevaluatedProperties": false}),
                json!([{"a": 1, "b": 1}, {"b": 1}]),
                json!([{"a": 1, "c": 1}]),
            ),
            (
                json!({"prefixItems": [{}], "contains": {"const": 7}, "unevaluatedItems": {"type": "null"}}),
                json!([[1, 7, null]]),
                json!([[1, 7, 1]]),
            ),
        ] {
            let rules = rules(&schema);
            for value in fitting.as_array().unwrap() {
                assert_eq!(rules.faults(value, 1), [], "{schema}: {value}");
            }
            for value in other.as_array().unwrap() {
                assert_eq!(rules.faults(value, 1).len(), 1, "{schema}: {value}");
            }
        }
    }

    #[test]
    fn faults_say_where_they_are_and_are_as_many_as_are_asked_for() {
        let rules = rules(&json!({
            "properties": {"a/b": {"items": {"$ref": "#/$defs/n"}}}, "required": ["c"], "$defs": {"n": {"type": "integer"}},
        }));
        let value = json!({"a/b": [1, "x".repeat(400), "y", "z"]});
        let faults = rules.faults(&value, 3);
        let found = faults
            .iter()
            .map(|fault| (fault.place.as_str(), fault.rule.as_str()));
        let found: Vec<_> = found.collect();
        let rule = "/properties/a~1b/items/$ref/type";
        assert_eq!(
            found,
            [("/a~1b/1", rule), ("/a~1b/2", rule), ("/a~1b/3", rule)]
        );
        assert_eq!(faults[1].to_string(), "\"y\" is not of type \"integer\"");
        assert!(faults[0].to_string().chars().count() < 350);
        assert_eq!(rules.faults(&value, 9).len(), 4);
    }

    #[test]
    fn what_is_no_schema_is_refused_with_its_place() {
        for (schema, place) in [
            (
                json!({"properties": {"a": {"type": "strnig"}}}),
                "/properties/a/type",
            ),
            (json!({"properties": {"a": 7}}), "/properties/a"),
            (json!({"required": ["a", "a"]}), "/required"),
            (json!({"allOf": []}), "/allOf"),
            (json!({"minLength": -1}), "/minLength"),
            (json!({"multipleOf": 0}), "/multipleOf"),
            (
                json!({"patternProperties": {"(": {}}}),
                "/patternProperties",
            ),
            (json!({"items": {"pattern": "(?=a)b"}}), "/items/pattern"),
            (json!({"pattern": "\\c1"}), "/pattern"),
            (json!({"not": {"$ref": "#/$defs/a"}}), "/not/$ref"),
            (
                json!({"$schema": "https://json-schema.org/draft/next/schema"}),
                "/$schema",
            ),
        ] {
            let fault = Rules::of(&schema, 1 << 20).unwrap_err();
            assert_eq!(fault.place, place, "{schema}: {fault}");
        }
        // Not everything that looks like a keyword is one.
        rules(
            &json!({"enum": [{"pattern": "("}], "properties": {"pattern": {}, "const": {"pattern": "a"}}}),
        );
    }
}
