//! A model that is no model: its answers are a pure function of the prompt and the history. For demonstrations and
//! tests, in process and free.

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use offhook_engine::ports::{
    LanguageModel, Message, ModelDelta, ModelError, ModelRequest, Purpose, Role,
};

/// What makes a line of the prompt a reply.
const SAY: &str = "say:";

/// The most of the caller's words that a reply takes up, in characters.
const QUOTE_CHARS: usize = 60;

/// The scripted model.
///
/// Lines of the system prompt that begin with `say:` are its replies, in order, one for each time that the customer
/// had the floor; the last one is repeated. Without such lines it answers in a friendly way and takes up what the
/// caller said. A summary tells how many turns there were and what was said first and last.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scripted;

impl LanguageModel for Scripted {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelDelta, ModelError>> {
        let text = match request.purpose {
            Purpose::Reply => reply(&request.messages),
            Purpose::Summary => summary(&request.messages),
        };
        let pieces: Vec<String> = text.split_inclusive(' ').map(str::to_owned).collect();
        let deltas = pieces.into_iter().map(ModelDelta::Text);
        stream::iter(deltas.chain([ModelDelta::Finish]).map(Ok)).boxed()
    }
}

fn reply(messages: &[Message]) -> String {
    let replies: Vec<&str> = messages
        .iter()
        .filter(|message| message.role == Role::System)
        .flat_map(|message| message.content.lines())
        .filter_map(|line| line.trim().strip_prefix(SAY))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let turn = customer_turns(messages).saturating_sub(1);
    match replies.get(turn).or(replies.last()) {
        Some(line) => (*line).to_owned(),
        None => friendly(last_words(messages), turn),
    }
}

/// How often the customer had the floor: utterances without an answer between them are one turn.
fn customer_turns(messages: &[Message]) -> usize {
    let spoken = messages
        .iter()
        .filter(|message| message.role != Role::System);
    let mut before = Role::Assistant;
    spoken
        .filter(|message| {
            let begins = message.role == Role::User && before != Role::User;
            before = message.role;
            begins
        })
        .count()
}

fn last_words(messages: &[Message]) -> &str {
    messages
        .iter()
        .rev()
        .find(|message| message.role == Role::User)
        .map_or("", |message| message.content.trim())
}

fn friendly(words: &str, turn: usize) -> String {
    let lower = words.to_lowercase();
    let quote = quote(words);
    if lower.contains("bye") {
        return "Goodbye, and have a nice day!".to_owned();
    }
    if lower.contains("thank") {
        return "You are very welcome. Is there anything else I can do for you?".to_owned();
    }
    if quote.is_empty() {
        return "I am listening. How can I help you?".to_owned();
    }
    if words.ends_with('?') {
        return match turn % 2 {
            0 => format!("Good question. You asked: {quote}. I will gladly tell you more."),
            _ => format!("You asked: {quote}. Let me note that down for you."),
        };
    }
    match turn % 3 {
        0 => format!("I understand, you said: {quote}. What would suit you best?"),
        1 => format!("All right, I have noted: {quote}. What else should I know?"),
        _ => format!("Thank you, that helps: {quote}. Shall I go ahead?"),
    }
}

/// The caller's words without their last mark, cut at a word.
fn quote(words: &str) -> String {
    let words = words.trim_end_matches(|c: char| c.is_ascii_punctuation());
    let mut quote = String::new();
    for word in words.split_whitespace() {
        if quote.chars().count() + word.chars().count() > QUOTE_CHARS {
            break;
        }
        if !quote.is_empty() {
            quote.push(' ');
        }
        quote.push_str(word);
    }
    quote
}

/// A summary's request holds the transcript as its last message, a turn a line.
fn summary(messages: &[Message]) -> String {
    let lines: Vec<&str> = last_words(messages).lines().collect();
    let said = |line: Option<&&str>| {
        let line = line.copied().unwrap_or_default();
        quote(line.split_once(": ").map_or(line, |(_, words)| words))
    };
    format!(
        "The agent and the customer exchanged {} turns. The first was: {}. The last was: {}.",
        lines.len(),
        said(lines.first()),
        said(lines.last())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(prompt: &str, history: &[(Role, &str)]) -> Vec<Message> {
        let system = [(Role::System, prompt)];
        let all = system.iter().chain(history);
        all.map(|(role, text)| Message::new(*role, *text)).collect()
    }

    #[test]
    fn say_lines_are_the_replies_in_order_and_the_last_one_is_repeated() {
        use Role::{Assistant, User};
        let prompt = "You are Eva.\n  say: First.\nNothing to say: here.\nsay:Second.\nsay: ";
        let mut history = vec![(Assistant, "Hello.")];
        for expected in ["First.", "Second.", "Second."] {
            history.push((User, "Well"));
            assert_eq!(reply(&messages(prompt, &history)), expected);
            history.push((User, "and more"));
            assert_eq!(
                reply(&messages(prompt, &history)),
                expected,
                "the same turn"
            );
            history.push((Assistant, "…"));
        }
    }

    #[test]
    fn without_say_lines_it_takes_up_what_the_caller_said() {
        let said = |words| reply(&messages("You are Eva.", &[(Role::User, words)]));
        assert_eq!(
            said("I need a room for two."),
            "I understand, you said: I need a room for two. What would suit you best?"
        );
        assert_eq!(
            said("Who is this?"),
            "Good question. You asked: Who is this. I will gladly tell you more."
        );
        assert_eq!(
            said("Thank you!"),
            "You are very welcome. Is there anything else I can do for you?"
        );
        assert_eq!(said("Goodbye!"), "Goodbye, and have a nice day!");
        assert_eq!(said("?!"), "I am listening. How can I help you?");
        assert!(said(&"word ".repeat(500)).len() < 150);
    }

    #[test]
    fn a_summary_is_one_line_about_the_transcript() {
        let transcript = "Agent: Hello, Eva here.\nCustomer: Hi.\nAgent: Bye!\n";
        assert_eq!(
            summary(&messages("Sum up.", &[(Role::User, transcript)])),
            "The agent and the customer exchanged 3 turns. The first was: Hello, Eva here. The last was: Bye."
        );
    }
}
