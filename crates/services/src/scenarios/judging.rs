//! Whether what was said and done is what a scenario wants.

use std::sync::Arc;

use offhook_domain::json::Json;
use offhook_domain::{CheckKind, CheckResult, EndedBy, SaidLanguage, TurnRole};
use offhook_engine::ports::{Message, Role};
use offhook_engine::{Misfit, NoData, extract};
use serde::Serialize;
use serde_json::{Value, json};
use whichlang::{Lang, detect_language};

use super::format::{Check, Scenario, matching};
use super::play::{Played, Stood};
use crate::analyses::Judge;
use crate::tools::schema::SchemaValidator;

/// Letters of a text whose language is told.
const LETTERS: usize = 12;

/// Characters of a text that a result quotes.
const QUOTED: usize = 200;

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    pub kind: CheckKind,
    pub result: CheckResult,
    /// What was found, or why it is not so; of `judge`, the model's words.
    pub detail: String,
}

type Verdict = (CheckResult, String);

fn verdict(passes: bool, detail: impl Into<String>) -> Verdict {
    let result = if passes {
        CheckResult::Pass
    } else {
        CheckResult::Fail
    };
    (result, detail.into())
}

/// Judges a conversation by all checks of its scenario. `analysis` is the agent's analysis schema, if it has one.
pub(super) async fn judge(
    scenario: &Scenario,
    stood: &Stood,
    analysis: Option<&str>,
) -> Vec<Judged> {
    let mut all = Vec::with_capacity(scenario.checks.len());
    for check in &scenario.checks {
        let (result, detail) = match check.kind {
            CheckKind::Analysis => extracted(check, stood, analysis).await,
            CheckKind::Judge => decided(check, stood).await,
            _ => looked_at(check, stood),
        };
        let kind = check.kind;
        all.push(Judged {
            kind,
            result,
            detail,
        });
    }
    all
}

/// The checks that need no model.
fn looked_at(check: &Check, stood: &Stood) -> Verdict {
    let played = &stood.played;
    let named = check.tools.iter().flatten().chain(&check.tool);
    if let Some(name) = named.into_iter().find(|name| !stood.tools.contains(*name)) {
        // That it is not called says nothing.
        let detail = format!("The agent has no tool `{name}`.");
        return (CheckResult::Error, detail);
    }
    let in_turn = |turn: usize| {
        check
            .turn
            .is_none_or(|only| usize::try_from(only) == Ok(turn))
    };
    let called = |name: &str| {
        let used = played.tools.iter();
        used.filter(|used| used.name == name && in_turn(used.turn))
            .collect::<Vec<_>>()
    };
    match check.kind {
        CheckKind::Said | CheckKind::NeverSaid => {
            let pattern = check
                .pattern
                .as_deref()
                .and_then(|pattern| matching(pattern).ok());
            let words = check.text.as_deref().map(str::to_lowercase);
            let is_said = |text: &str| match (&words, &pattern) {
                (Some(words), _) => text.to_lowercase().contains(words),
                (None, Some(pattern)) => pattern.faults(&Value::from(text), 1).is_empty(),
                (None, None) => check.language.is_some() && language(text) == check.language,
            };
            let found = played.transcript.iter().find(|line| {
                line.role == TurnRole::Agent && in_turn(line.turn) && is_said(&line.text)
            });
            let is_wanted = check.kind == CheckKind::Said;
            match found {
                Some(line) => verdict(is_wanted, format!("Said: {}", quoted(&line.text))),
                None => {
                    let language = check.language.map(|language| language.as_str());
                    let wanted = [check.text.as_deref(), check.pattern.as_deref(), language];
                    let wanted = wanted.into_iter().flatten().next().unwrap_or_default();
                    verdict(!is_wanted, format!("Not said: {}", quoted(wanted)))
                }
            }
        }
        CheckKind::ToolCalled => {
            let name = check.tool.as_deref().unwrap_or_default();
            let calls = called(name);
            let fault = |arguments: &str| match &check.arguments {
                Some(schema) => misfit(schema, arguments),
                None => None,
            };
            let faults: Vec<Option<String>> =
                calls.iter().map(|call| fault(&call.arguments)).collect();
            match faults.iter().position(Option::is_none) {
                Some(at) => verdict(
                    true,
                    format!("Called with {}", quoted(&calls[at].arguments)),
                ),
                None => match faults.into_iter().flatten().next() {
                    Some(fault) => verdict(false, format!("Called, but {fault}")),
                    None => verdict(false, format!("`{name}` was not called.")),
                },
            }
        }
        CheckKind::ToolNeverCalled => {
            let name = check.tool.as_deref().unwrap_or_default();
            match called(name).first() {
                Some(call) => verdict(false, format!("Called with {}", quoted(&call.arguments))),
                None => verdict(true, "Not called."),
            }
        }
        CheckKind::ToolsInOrder => {
            let mut wanted = check.tools.iter().flatten().peekable();
            for used in &played.tools {
                wanted.next_if(|name| **name == used.name);
            }
            match wanted.next() {
                None => verdict(true, "Called in this order."),
                Some(name) => verdict(false, format!("`{name}` was not called in its place.")),
            }
        }
        CheckKind::Ended => {
            let by = check.by.is_none_or(|by| by == played.ended_by);
            let within = check
                .within
                .is_none_or(|most| i64::try_from(played.lines).is_ok_and(|lines| lines <= most));
            let ended = played.ended_by;
            let whom = match ended {
                EndedBy::Limit => "Cut off by a limit",
                EndedBy::Agent => "Ended by the agent",
                EndedBy::Caller => "Ended by the caller",
            };
            verdict(
                by && within,
                format!("{whom} after {} lines of the caller.", played.lines),
            )
        }
        CheckKind::Latency => latency(check, played),
        CheckKind::Honest => match played.claims_replaced {
            0 => verdict(true, "Nothing was claimed that no tool had done."),
            count => verdict(
                false,
                format!("{count} claims of what no tool had done were replaced."),
            ),
        },
        CheckKind::Analysis | CheckKind::Judge => {
            (CheckResult::Error, "It needs a model.".to_owned())
        }
    }
}

/// The language of a text that is long enough to tell.
fn language(text: &str) -> Option<SaidLanguage> {
    let letters = text.chars().filter(|letter| letter.is_alphabetic());
    // A sign of Chinese, Japanese or Korean says as much as a word.
    let weights = letters.map(|letter| if letter > '\u{2e7f}' { 3 } else { 1 });
    if weights.sum::<usize>() < LETTERS {
        return None;
    }
    Some(match detect_language(text) {
        Lang::Ara => SaidLanguage::Arabic,
        Lang::Cmn => SaidLanguage::Chinese,
        Lang::Deu => SaidLanguage::German,
        Lang::Eng => SaidLanguage::English,
        Lang::Fra => SaidLanguage::French,
        Lang::Hin => SaidLanguage::Hindi,
        Lang::Ita => SaidLanguage::Italian,
        Lang::Jpn => SaidLanguage::Japanese,
        Lang::Kor => SaidLanguage::Korean,
        Lang::Nld => SaidLanguage::Dutch,
        Lang::Por => SaidLanguage::Portuguese,
        Lang::Rus => SaidLanguage::Russian,
        Lang::Spa => SaidLanguage::Spanish,
        Lang::Swe => SaidLanguage::Swedish,
        Lang::Tur => SaidLanguage::Turkish,
        Lang::Vie => SaidLanguage::Vietnamese,
    })
}

fn latency(check: &Check, played: &Played) -> Verdict {
    let looked: Vec<_> = played
        .answers
        .iter()
        .filter(|answer| {
            check
                .turn
                .is_none_or(|only| usize::try_from(only) == Ok(answer.turn))
        })
        .collect();
    if looked.is_empty() {
        return verdict(false, "There was no such answer.");
    }
    let slowest = looked.iter().map(|answer| answer.ms).max().unwrap_or(0);
    let first = looked.iter().filter_map(|answer| answer.first_text_ms);
    let first = first.max();
    let fits = |most: Option<i64>, took: Option<u32>| {
        most.is_none_or(|most| took.is_some_and(|took| i64::from(took) <= most))
    };
    let passes = fits(check.ms, Some(slowest)) && fits(check.first_text_ms, first);
    let first = first.map_or_else(String::new, |first| format!(", the first text {first} ms"));
    verdict(
        passes,
        format!("The slowest answer took {slowest} ms{first}."),
    )
}

/// Why a JSON text does not fit a schema.
fn misfit(schema: &Json, text: &str) -> Option<String> {
    let schema = serde_json::from_str(&schema.to_compact()).ok()?;
    let Ok(validator) = SchemaValidator::of(&schema) else {
        return Some("the schema cannot be used".to_owned());
    };
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Some("it is no JSON".to_owned());
    };
    if validator.is_too_long(text) {
        return Some("it is too long for the schema".to_owned());
    }
    let fault = validator.faults(&value, 1).into_iter().next()?;
    Some(match fault.place.as_str() {
        "" => fault.to_string(),
        place => format!("{place}: {fault}"),
    })
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The conversation as models read it, with what tools answered.
fn transcript(played: &Played) -> Vec<Message> {
    let lines = played.transcript.iter();
    let told = lines.map(|line| match line.role {
        TurnRole::User => Message::new(Role::User, line.text.clone()),
        TurnRole::Agent => Message::new(Role::Assistant, line.text.clone()),
        TurnRole::Tool => Message::new(Role::Assistant, format!("[used a tool: {}]", line.text)),
    });
    told.collect()
}

async fn extracted(check: &Check, stood: &Stood, analysis: Option<&str>) -> Verdict {
    let Some(definition) = analysis else {
        return (
            CheckResult::Error,
            "The agent has no analysis schema.".to_owned(),
        );
    };
    let Ok(judge) = Judge::of(definition) else {
        return (
            CheckResult::Error,
            "The agent's analysis schema cannot be used.".to_owned(),
        );
    };
    let spoken = transcript(&stood.played);
    let data = extract(
        &stood.models,
        &stood.latencies,
        &stood.agent.llm,
        definition,
        &spoken,
        |answer| judge.read(answer),
    );
    match data.await {
        Err(NoData::NoReply) => (CheckResult::Error, NoData::NoReply.to_string()),
        Err(error) => verdict(false, error.to_string()),
        Ok(data) => match check
            .schema
            .as_ref()
            .and_then(|schema| misfit(schema, &data))
        {
            None => verdict(true, quoted(&data)),
            Some(fault) => verdict(false, format!("{fault}, in {}", quoted(&data))),
        },
    }
}

/// Has a model decide.
async fn decided(check: &Check, stood: &Stood) -> Verdict {
    let rubric = check.rubric.as_deref().unwrap_or_default();
    // A model that only fills in the first choice says that it does not know.
    let schema = json!({
        "type": "object",
        "description": format!(
            "A verdict on the agent in this conversation, which was a test. `pass` if this holds, `fail` if it does not, \
             `unsure` if the conversation does not tell: {rubric}"
        ),
        "properties": {
            "verdict": {"enum": ["unsure", "pass", "fail"]},
            "reason": {"type": "string", "description": "One sentence that quotes what decides."},
        },
        "required": ["verdict", "reason"],
    })
    .to_string();
    let read = |answer: &str| {
        let text = answer
            .trim()
            .trim_start_matches("```json")
            .trim_matches('`')
            .trim();
        let value: Option<Value> = serde_json::from_str(text).ok();
        let member = |name: &str| value.as_ref()?.get(name)?.as_str().map(str::to_owned);
        let result = match member("verdict").as_deref() {
            Some("pass") => Some(CheckResult::Pass),
            Some("fail") => Some(CheckResult::Fail),
            Some("unsure") => Some(CheckResult::Unsure),
            _ => None,
        };
        result.zip(member("reason")).ok_or_else(|| Misfit {
            for_the_model: "The answer is no JSON object with `verdict` and `reason`.".to_owned(),
            for_people: "The model gave no verdict.".to_owned(),
        })
    };
    let spoken: Arc<[Message]> = transcript(&stood.played).into();
    let decided = extract(
        &stood.models,
        &stood.latencies,
        &stood.agent.llm,
        &schema,
        &spoken,
        read,
    );
    match decided.await {
        Ok((result, reason)) => (result, quoted(&reason)),
        Err(error) => (CheckResult::Error, error.to_string()),
    }
}
