//! A conversation as a file: JSON, text, or subtitles of its recording.

use std::fmt::Write as _;
use std::time::Duration;

use actix_web::HttpResponse;
use offhook_services::store::{Analysis, ConversationView, Moment};

use super::turns;
use super::wording;
use crate::prelude::*;
use crate::visit::layout::attachment;

/// Turns of one file.
const TURNS_AT_MOST: usize = 10_000;

/// Turns that are read at once.
const AT_ONCE: u32 = 1_000;

/// How long a subtitle is shown whose turn has no length.
const SHORTEST: Duration = Duration::from_secs(1);

async fn read(visitor: &Visitor) -> Result<(ConversationView, Vec<Moment>)> {
    let id: ConversationId = visitor.id("id")?;
    let (conversations, caller) = (visitor.services().conversations(), visitor.caller());
    let view = conversations.get(caller, id, false).await?;
    let view = view.ok_or_else(Trouble::not_found)?;
    let mut all: Vec<Moment> = Vec::new();
    loop {
        let after = all.last().map_or(0, |turn| turn.seq);
        let page = conversations.turns(caller, id, after, AT_ONCE).await?;
        let page = page.ok_or_else(Trouble::not_found)?;
        all.extend(page.items);
        if !page.has_more || all.len() >= TURNS_AT_MOST {
            return Ok((view, all));
        }
    }
}

fn file(id: ConversationId, content_type: &str, ending: &str, text: String) -> HttpResponse {
    let disposition = format!("attachment; filename=\"conversation-{id}.{ending}\"");
    attachment(content_type, disposition).body(text)
}

/// `GET /portal/conversations/{id}/transcript.json`
pub(super) async fn json(visit: Visit<Viewer>) -> Answer {
    let (view, turns) = read(&visit).await?;
    let analysis = visit.services().conversations().analysis(&view).await?;
    let text = in_json(&view, &turns, analysis.as_ref()).to_compact();
    Ok(file(view.conversation.id, "application/json", "json", text))
}

/// `GET /portal/conversations/{id}/transcript.txt`
pub(super) async fn text(visit: Visit<Viewer>) -> Answer {
    let (view, turns) = read(&visit).await?;
    let text = in_text(&view, &turns, visit.lang());
    Ok(file(
        view.conversation.id,
        "text/plain; charset=utf-8",
        "txt",
        text,
    ))
}

/// `GET /portal/conversations/{id}/transcript.srt`
pub(super) async fn subtitles(visit: Visit<Viewer>) -> Answer {
    let (view, turns) = read(&visit).await?;
    let conversation = &view.conversation;
    let begins = conversation.answered_at.unwrap_or(conversation.started_at);
    let text = in_subtitles(begins, &turns, visit.lang());
    Ok(file(
        conversation.id,
        "application/x-subrip; charset=utf-8",
        "srt",
        text,
    ))
}

fn in_json(view: &ConversationView, turns: &[Moment], analysis: Option<&Analysis>) -> Json {
    let conversation = &view.conversation;
    let text = |text: Option<String>| text.map_or(Json::Null, Json::String);
    let parsed = |text: &str| Json::parse(text.as_bytes()).unwrap_or(Json::Null);
    let when = |at: Option<Timestamp>| text(at.map(|at| at.to_string()));
    let number =
        |number: Option<i64>| number.map_or(Json::Null, |number| parsed(&number.to_string()));
    let is_over = conversation.state.is_terminal();
    let reason = match conversation.failure_reason {
        Some(reason) => Some(reason.as_str()),
        None => conversation
            .termination_reason
            .map(|reason| reason.as_str()),
    };
    let turns = turns.iter().map(|turn| {
        Json::object([
            ("role", text(turn.role.clone())),
            ("text", text(turn.content.clone())),
            ("started_at", when(Some(turn.at))),
            ("duration_ms", number(turn.duration_ms.map(i64::from))),
            ("interrupted", Json::Bool(turn.interrupted == Some(true))),
            (
                "latency",
                turn.latency.as_deref().map_or(Json::Null, parsed),
            ),
            ("source", turn.source.as_deref().map_or(Json::Null, parsed)),
        ])
    });
    let data = analysis.and_then(|analysis| analysis.data.as_deref());
    Json::object([
        ("id", Json::String(conversation.id.to_string())),
        ("agent", Json::String(view.agent_name.clone())),
        (
            "channel",
            text(conversation.channel.map(|channel| channel.to_string())),
        ),
        (
            "from",
            text(conversation.from_number.as_ref().map(ToString::to_string)),
        ),
        (
            "to",
            text(conversation.to_number.as_ref().map(ToString::to_string)),
        ),
        ("started_at", when(Some(conversation.started_at))),
        ("answered_at", when(conversation.answered_at)),
        ("ended_at", when(conversation.ended_at.filter(|_| is_over))),
        (
            "duration_seconds",
            number(conversation.duration_seconds.filter(|_| is_over)),
        ),
        (
            "outcome",
            text(conversation.outcome().map(|outcome| outcome.to_string())),
        ),
        (
            "reason",
            text(reason.filter(|_| is_over).map(str::to_owned)),
        ),
        ("credits", number(conversation.credits.filter(|_| is_over))),
        ("summary", text(conversation.summary.clone())),
        ("metadata", parsed(&conversation.metadata)),
        ("analysis", data.map_or(Json::Null, parsed)),
        ("turns", Json::Array(turns.collect())),
    ])
}

fn in_text(view: &ConversationView, turns: &[Moment], lang: Lang) -> String {
    let conversation = &view.conversation;
    let customer = wording::customer(conversation, lang);
    let mut text = format!(
        "{} · {customer} · {}\n",
        view.agent_name, conversation.started_at
    );
    if let Some(summary) = conversation
        .summary
        .as_deref()
        .filter(|text| !text.is_empty())
    {
        let _ = writeln!(text, "\n{summary}");
    }
    text.push('\n');
    for turn in turns {
        let role = turns::who(turn.role.as_deref().unwrap_or(""), lang);
        let said = turn.content.as_deref().unwrap_or("");
        let at = match conversation.answered_at.filter(|_| conversation.voice) {
            Some(begins) => words::length(turn.at.since(begins)),
            None => turn.at.to_string(),
        };
        let _ = writeln!(text, "[{at}] {role}: {said}");
    }
    text
}

/// SubRip. Tools are not heard, so they have no subtitle.
fn in_subtitles(begins: Timestamp, turns: &[Moment], lang: Lang) -> String {
    let spoken = turns
        .iter()
        .filter(|turn| turn.role.as_deref() != Some("tool"));
    let mut text = String::new();
    for (number, turn) in spoken.enumerate() {
        let from = turn.at.since(begins);
        let length = u64::try_from(turn.duration_ms.unwrap_or(0)).unwrap_or(0);
        let to = from + Duration::from_millis(length).max(SHORTEST);
        let role = turns::who(turn.role.as_deref().unwrap_or(""), lang);
        // An empty line would end the subtitle.
        let said = turn.content.as_deref().unwrap_or("");
        let said: Vec<&str> = said
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let (number, said) = (number + 1, said.join("\n"));
        let _ = write!(
            text,
            "{number}\n{} --> {}\n{role}: {said}\n\n",
            clock(from),
            clock(to)
        );
    }
    text
}

/// `00:01:05,250`
fn clock(at: Duration) -> String {
    let seconds = at.as_secs();
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!(
        "{hours:02}:{minutes:02}:{rest:02},{:03}",
        at.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subtitle_stands_where_its_turn_is_heard() {
        let turn = |role: &str, at, text: &str| Moment {
            seq: 1,
            at: Timestamp::from_micros(at),
            state: None,
            role: Some(role.to_owned()),
            content: Some(text.to_owned()),
            duration_ms: Some(1_500),
            interrupted: None,
            latency: None,
            source: None,
        };
        let turns = [
            turn("agent", 2_250_000, "Hello.\n\nWho is it?"),
            turn("tool", 3_000_000, "look({}) → no"),
            turn("user", 66_000_000, "Ana"),
        ];
        assert_eq!(
            in_subtitles(Timestamp::from_micros(1_000_000), &turns, Lang::En),
            "1\n00:00:01,250 --> 00:00:02,750\nAgent: Hello.\nWho is it?\n\n\
             2\n00:01:05,000 --> 00:01:06,500\nCustomer: Ana\n\n"
        );
    }
}
