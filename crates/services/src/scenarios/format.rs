//! What a scenario says: who calls, what the tools answer, and what is checked.

use std::ops::RangeInclusive;

use offhook_domain::body::{
    Body, Flag, Id, Integer, LongText, Name, Optional, Or, Own, Required, Text, Word,
};
use offhook_domain::json::{Fault, FieldError, Fields, Json, item_path, member_path};
use offhook_domain::{CheckKind, ConversationId, EndedBy, Metadata, SaidLanguage, body};
use ring::digest::{SHA256, digest};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::tools::schema::SchemaValidator;

/// Lines of a caller, mocked tools and checks at most.
pub(super) const LINES: usize = 50;
pub(super) const MOCKS: usize = 32;
pub(super) const CHECKS: usize = 32;

/// Characters of a line, as of a chat's message.
pub(super) const LINE_CHARS: usize = 4_000;

/// Bytes of an agent's reply at most.
const REPLY_BYTES: usize = 16 * 1024;

/// Bytes of a mocked answer as compact JSON.
const ANSWER_BYTES: usize = 8_192;

body! {
    /// What a tool answers in place of what it does.
    #[derive(Debug, Clone, PartialEq, Serialize)]
    pub Mock {
        name: String, Required(Text(1..=64)), "The tool's name. Of several entries with the same name each answers once, in this order, and the last one from then on.";
        #[serde(skip_serializing_if = "Option::is_none")] answer: Option<Json>, Optional(Own(answer)), "What it answers: any JSON; a text is answered as it is.";
        #[serde(skip_serializing_if = "Option::is_none")] error: Option<String>, Optional(Text(1..=2_000)), "The failure that the model is told, in place of an answer.";
        delay_ms: i64, Or(Integer(0..=30_000), 0), "How long it takes, in milliseconds (default 0). What takes longer than a tool may fails as it does in a call.";
        live: bool, Or(Flag, false), "Whether the tool itself runs, with its effects (default false).";
    }
}

body! {
    /// What must be so after the conversation.
    #[derive(Debug, Clone, PartialEq, Serialize)]
    pub Check {
        kind: CheckKind, Required(Word::of()), "What is checked.";
        #[serde(skip_serializing_if = "Option::is_none")] text: Option<String>, Optional(Text(1..=2_000)), "Of `said` and `never_said`: words in what the agent says, whatever their case.";
        #[serde(skip_serializing_if = "Option::is_none")] pattern: Option<String>, Optional(Text(1..=1_000)), "Of `said` and `never_said`: a regular expression that is looked for, in place of `text`.";
        #[serde(skip_serializing_if = "Option::is_none")] language: Option<SaidLanguage>, Optional(Word::of()), "Of `said` and `never_said`: what the agent says in this language, in place of `text`. What has fewer than 12 letters is in none.";
        #[serde(skip_serializing_if = "Option::is_none")] turn: Option<i64>, Optional(Integer(0..=LINES as i64)), "Of `said`, `never_said`, `tool_called`, `tool_never_called` and `latency`: only in the answer to the caller's line with this number; 0 is the first message.";
        #[serde(skip_serializing_if = "Option::is_none")] tool: Option<String>, Optional(Text(1..=64)), "Of `tool_called` and `tool_never_called`: the tool's name.";
        #[serde(skip_serializing_if = "Option::is_none")] arguments: Option<Json>, Optional(Own(schema)), "Of `tool_called`: a JSON Schema that the arguments of a call fit.";
        #[serde(skip_serializing_if = "Option::is_none")] tools: Option<Vec<String>>, Optional(Own(names)), "Of `tools_in_order`: names of tools that are called in this order; others may be called between them.";
        #[serde(skip_serializing_if = "Option::is_none")] by: Option<EndedBy>, Optional(Word::of()), "Of `ended`: who ends the conversation.";
        #[serde(skip_serializing_if = "Option::is_none")] within: Option<i64>, Optional(Integer(1..=LINES as i64)), "Of `ended`: the caller says so many lines at most.";
        #[serde(skip_serializing_if = "Option::is_none")] ms: Option<i64>, Optional(Integer(1..=120_000)), "Of `latency`: how long each answer may take, in milliseconds.";
        #[serde(skip_serializing_if = "Option::is_none")] first_text_ms: Option<i64>, Optional(Integer(1..=120_000)), "Of `latency`: how long the first text of each answer may take, in milliseconds.";
        #[serde(skip_serializing_if = "Option::is_none")] schema: Option<Json>, Optional(Own(schema)), "Of `analysis`: a JSON Schema that the data extracted by the agent's analysis schema fits.";
        #[serde(skip_serializing_if = "Option::is_none")] rubric: Option<String>, Optional(LongText(4_000)), "Of `judge`: what a model decides, such as \"The agent never promises a refund\". `unsure` is no pass.";
    }
}

body! {
    /// What the caller says.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub CallerLine {
        say: String, Required(LongText(LINE_CHARS)), "The words.";
        interrupts_after_ms: Option<i64>, Optional(Integer(0..=60_000)), "By sound: the caller does not wait for the agent's end, but interrupts it when it has spoken for so long.";
        pause_ms: Option<i64>, Optional(Integer(PAUSE_MS.0..=PAUSE_MS.1)), "By sound: how long the agent has been quiet when the caller speaks (default 800).";
    }
}

/// The shortest and the longest pause before a line, in milliseconds. A shorter one could be a breath.
pub(super) const PAUSE_MS: (i64, i64) = (400, 60_000);

/// A line that says no more than its words is a text.
impl Serialize for CallerLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let how = [
            ("interrupts_after_ms", self.interrupts_after_ms),
            ("pause_ms", self.pause_ms),
        ];
        let how = how.into_iter().filter_map(|(name, ms)| Some((name, ms?)));
        let how: Vec<_> = how.collect();
        if how.is_empty() {
            return serializer.serialize_str(&self.say);
        }
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("say", &self.say)?;
        for (name, ms) in how {
            members.serialize_entry(name, &ms)?;
        }
        members.end()
    }
}

body! {
    /// A scenario: a conversation to be had with an agent, and what must be so.
    #[derive(Debug, Clone, PartialEq, Serialize)]
    pub Scenario {
        name: String, Required(Name(200)), "The name, unique for its agent.";
        suite: Option<String>, Optional(Name(64)), "The suite that it belongs to. An agent's settings may require one.";
        turns: Option<Vec<CallerLine>>, Optional(Own(lines)), "What the caller says, line by line: texts, or objects with `say`, and `interrupts_after_ms` or `pause_ms`. Either these, a `persona` or a `recording`.";
        persona: Option<String>, Optional(LongText(4_000)), "Who calls, as instructions for the model that plays the caller: the agent's own.";
        goal: Option<String>, Optional(LongText(2_000)), "What the caller of a `persona` wants; with it reached, or out of reach, the caller ends the conversation.";
        recording: Option<ConversationId>, Optional(Id::of()), "A recorded conversation whose caller is played again by sound, with the same pauses.";
        noise_db: Option<i64>, Optional(Integer(-80..=-10)), "By sound: how loud the noise behind the caller is, in dB below full scale; null: none.";
        max_turns: i64, Or(Integer(1..=LINES as i64), 12), "How many lines a `persona` says at most (default 12).";
        variables: Metadata, Or(Own(variables), Metadata::empty()), "The agent's dynamic variables, as `metadata` of POST /v1/calls.";
        tools: Vec<Mock>, Or(Own(mocks), Vec::new()), "What tools answer. A tool that is not named here does nothing, and its call fails.";
        checks: Vec<Check>, Required(Own(checks)), "What must be so.";
        runs: i64, Or(Integer(1..=20), 1), "How many conversations are held (default 1). All of them have to pass.";
        budget_s: i64, Or(Integer(1..=300), 60), "How long a conversation may take, in seconds (default 60).";
    }
}

body! {
    /// `POST /v1/agents/{id}/test-runs`.
    #[derive(Debug)]
    pub RunScenarios {
        version: Option<i64>, Optional(Integer(1..=i64::from(i32::MAX))), "The version of the agent (default: the latest, which may be a draft).";
        suite: Option<String>, Optional(Name(64)), "Only the stored scenarios of this suite (default: all of the agent's).";
        scenarios: Option<Vec<Scenario>>, Optional(Own(scenarios)), "Scenarios that are not stored, in place of those that are; 1 to 200.";
        sound: bool, Or(Flag, false), "Whether the conversations are held by sound, with the agent's ear and voice (default false: in writing). Those with a `recording` always are.";
        runs: Option<i64>, Optional(Integer(1..=20)), "How many conversations of each are held, in place of its own number.";
        parallel: i64, Or(Integer(1..=AT_ONCE as i64), 20), "How many conversations are held at once (default 20).";
    }
}

/// Scenarios of a run, and conversations at once, at most.
pub(crate) const SCENARIOS_AT_MOST: usize = 200;
pub(crate) const AT_ONCE: usize = 200;

fn answer(fields: &mut Fields<'_>, name: &str) -> Result<Json, FieldError> {
    let answer = fields.required(name)?;
    match answer.to_compact().len() > ANSWER_BYTES {
        true => Err(fields.fault(name, Fault::JsonBytes(ANSWER_BYTES))),
        false => Ok(answer.clone()),
    }
}

fn schema(fields: &mut Fields<'_>, name: &str) -> Result<Json, FieldError> {
    let schema = fields.required(name)?;
    if schema.as_object().is_none() {
        return Err(fields.fault(name, Fault::Schema));
    }
    let compact = schema.to_compact();
    if compact.len() > ANSWER_BYTES {
        return Err(fields.fault(name, Fault::SchemaBytes(ANSWER_BYTES)));
    }
    validator(&compact).map_err(|fault| fields.fault(name, fault))?;
    Ok(schema.clone())
}

fn validator(schema: &str) -> Result<SchemaValidator, Fault> {
    let schema = serde_json::from_str(schema).map_err(|_| Fault::SchemaNumber)?;
    SchemaValidator::of(&schema)
}

/// A validator of texts: regular expressions are bounded as those of schemas are, and fast enough for the longest reply.
pub(super) fn matching(pattern: &str) -> Result<SchemaValidator, Fault> {
    let validator = SchemaValidator::of(&json!({"pattern": pattern}))?;
    match validator.is_too_long(&" ".repeat(REPLY_BYTES)) {
        true => Err(Fault::SchemaWork),
        false => Ok(validator),
    }
}

fn variables(fields: &mut Fields<'_>, name: &str) -> Result<Metadata, FieldError> {
    let path = fields.path_of(name);
    Metadata::from_json(fields.required(name)?, &path)
}

/// The items of a list, each read by itself.
fn items<T>(
    fields: &mut Fields<'_>,
    name: &str,
    most: RangeInclusive<usize>,
    read: impl Fn(&Json, &str) -> Result<T, FieldError>,
) -> Result<Vec<T>, FieldError> {
    let path = fields.path_of(name);
    let items = fields.optional_array(name, most)?.unwrap_or_default();
    let items = items.iter().enumerate();
    items
        .map(|(at, item)| read(item, &item_path(&path, at)))
        .collect()
}

fn text(item: &Json, path: &str, most: usize) -> Result<String, FieldError> {
    let fault = |fault| FieldError::new(path, fault);
    let text = item.as_str().ok_or_else(|| fault(Fault::NotText))?.trim();
    match text.chars().count() {
        0 => Err(fault(Fault::Empty)),
        count if count > most => Err(fault(Fault::TooLong(most))),
        _ => Ok(text.to_owned()),
    }
}

fn lines(fields: &mut Fields<'_>, name: &str) -> Result<Vec<CallerLine>, FieldError> {
    items(fields, name, 1..=LINES, |item, path| match item {
        Json::Object(_) => CallerLine::read(Fields::of(item, path)?, &()),
        _ => Ok(CallerLine::of(text(item, path, LINE_CHARS)?)),
    })
}

fn names(fields: &mut Fields<'_>, name: &str) -> Result<Vec<String>, FieldError> {
    items(fields, name, 1..=MOCKS, |item, path| text(item, path, 64))
}

fn mocks(fields: &mut Fields<'_>, name: &str) -> Result<Vec<Mock>, FieldError> {
    items(fields, name, 0..=MOCKS, |item, path| {
        let mock = Mock::read(Fields::of(item, path)?, &())?;
        let given = [mock.answer.is_some(), mock.error.is_some(), mock.live];
        match given.into_iter().filter(|given| *given).count() {
            1 => Ok(mock),
            _ => Err(FieldError::new(
                path,
                Fault::OneOf("`answer`, `error`, `live`"),
            )),
        }
    })
}

fn checks(fields: &mut Fields<'_>, name: &str) -> Result<Vec<Check>, FieldError> {
    items(fields, name, 1..=CHECKS, |item, path| {
        let check = Check::read(Fields::of(item, path)?, &())?;
        check.complete(path)?;
        Ok(check)
    })
}

fn scenarios(fields: &mut Fields<'_>, name: &str) -> Result<Vec<Scenario>, FieldError> {
    items(fields, name, 1..=SCENARIOS_AT_MOST, |item, path| {
        Scenario::at(Fields::of(item, path)?, path)
    })
}

impl CallerLine {
    pub(super) const fn of(say: String) -> Self {
        Self {
            say,
            interrupts_after_ms: None,
            pause_ms: None,
        }
    }
}

impl Mock {
    pub(super) fn answering(name: String, answer: String) -> Self {
        Self {
            name,
            answer: Some(Json::String(answer)),
            error: None,
            delay_ms: 0,
            live: false,
        }
    }
}

impl Check {
    /// A check without more.
    pub(super) const fn of(kind: CheckKind) -> Self {
        Self {
            kind,
            text: None,
            pattern: None,
            language: None,
            turn: None,
            tool: None,
            arguments: None,
            tools: None,
            by: None,
            within: None,
            ms: None,
            first_text_ms: None,
            schema: None,
            rubric: None,
        }
    }

    /// Whether it has what its kind needs, and nothing of another.
    fn complete(&self, path: &str) -> Result<(), FieldError> {
        let given = [
            ("text", self.text.is_some()),
            ("pattern", self.pattern.is_some()),
            ("language", self.language.is_some()),
            ("turn", self.turn.is_some()),
            ("tool", self.tool.is_some()),
            ("arguments", self.arguments.is_some()),
            ("tools", self.tools.is_some()),
            ("by", self.by.is_some()),
            ("within", self.within.is_some()),
            ("ms", self.ms.is_some()),
            ("first_text_ms", self.first_text_ms.is_some()),
            ("schema", self.schema.is_some()),
            ("rubric", self.rubric.is_some()),
        ];
        // What one of must be there, and what may be.
        let (needed, allowed): (&[&str], &[&str]) = match self.kind {
            CheckKind::Said | CheckKind::NeverSaid => (&["text", "pattern", "language"], &["turn"]),
            CheckKind::ToolCalled => (&["tool"], &["arguments", "turn"]),
            CheckKind::ToolNeverCalled => (&["tool"], &["turn"]),
            CheckKind::ToolsInOrder => (&["tools"], &[]),
            CheckKind::Ended => (&["by", "within"], &[]),
            CheckKind::Latency => (&["ms", "first_text_ms"], &["turn"]),
            CheckKind::Analysis => (&["schema"], &[]),
            CheckKind::Honest => (&[], &[]),
            CheckKind::Judge => (&["rubric"], &[]),
        };
        let fault = |name: &str, fault| FieldError::new(member_path(path, name), fault);
        let foreign = given.iter().find(|(name, is_given)| {
            *is_given && !needed.contains(name) && !allowed.contains(name)
        });
        if let Some((name, _)) = foreign {
            return Err(fault(name, Fault::NotOfCheck(self.kind.as_str())));
        }
        let has = |name: &&str| given.iter().any(|(known, is)| known == name && *is);
        if let (false, Some(first)) = (needed.iter().any(has), needed.first()) {
            return Err(fault(first, Fault::RequiredOfKind(self.kind.as_str())));
        }
        let words = [
            self.text.is_some(),
            self.pattern.is_some(),
            self.language.is_some(),
        ];
        if words.into_iter().filter(|given| *given).count() > 1 {
            let one_of = Fault::OneOf("`text`, `pattern`, `language`");
            return Err(FieldError::new(path, one_of));
        }
        if let Some(pattern) = &self.pattern {
            matching(pattern).map_err(|error| fault("pattern", error))?;
        }
        Ok(())
    }
}

impl Scenario {
    /// Reads one; `path` is that of the whole.
    pub(super) fn at(fields: Fields<'_>, path: &str) -> Result<Self, FieldError> {
        let read = Self::read(fields, &())?;
        let member = |name: &str| match path {
            "" => name.to_owned(),
            path => member_path(path, name),
        };
        let given = [
            read.turns.is_some(),
            read.persona.is_some(),
            read.recording.is_some(),
        ];
        if given.into_iter().filter(|given| *given).count() != 1 {
            return Err(FieldError::new(member("turns"), Fault::OneCaller));
        }
        match read.goal.is_some() && read.persona.is_none() {
            true => Err(FieldError::new(member("goal"), Fault::OfPersona)),
            false => Ok(read),
        }
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// The first fault of a member, or the first unknown one.
    pub fn of_json(json: &Json) -> Result<Self, FieldError> {
        Self::at(Fields::of(json, "")?, "")
    }

    /// Whether it checks that nothing is claimed, for which the agent's guard has to look.
    pub(super) fn wants_honesty(&self) -> bool {
        self.checks.iter().any(|one| one.kind == CheckKind::Honest)
    }

    /// Whether it may end by a limit.
    pub(super) fn may_be_cut(&self) -> bool {
        self.checks.iter().any(|one| one.by == Some(EndedBy::Limit))
    }

    /// Its members.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::parse(self.to_stored().as_bytes()).unwrap_or(Json::Null)
    }

    /// What is stored.
    pub(super) fn to_stored(&self) -> String {
        // Serializing plain structs of texts, numbers and JSON cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The fingerprint of what it does, whatever its suite.
    pub(super) fn digest(&self) -> String {
        let same = Self {
            suite: None,
            ..self.clone()
        };
        hex(&same.to_stored())
    }
}

/// SHA-256, in hexadecimal digits.
pub(super) fn hex(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
