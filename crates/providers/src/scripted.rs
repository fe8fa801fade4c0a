//! A simulated model: its answers are a pure function of the prompt and the history. It is for demonstrations and
//! tests, in process and free.

mod extraction;
mod script;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use offhook_engine::ports::{
    LanguageModel, Message, ModelDelta, ModelError, ModelRequest, Purpose, Role, Tokens, ToolCall,
};

use script::Script;

/// Characters of the caller's words that a reply quotes at most.
const QUOTE_CHARS: usize = 60;

/// The scripted model.
///
/// Lines of the system prompt that begin with one of these words are its script:
///
/// | line | meaning |
/// |---|---|
/// | `say: <words>` | a reply; there is one for each turn of the customer, and the last one is repeated |
/// | `call: <tool> <arguments>` | the reply above also calls this tool, with these arguments, or `{}` |
/// | `then: <words>` | what it says in the same turn after the tools have answered; further `call:` lines may follow |
///
/// A reply may consist of `call:` lines only, after an empty `say:`. `{result}` in a reply stands for the last tool's
/// answer. If tools have answered and no `then:` is left, it reads the last answer out. It skips tools that it may not
/// call.
///
/// Each of its words counts as a token.
///
/// Without a script it gives a friendly answer that quotes the caller. A summary says how many turns there were, and
/// what was said first and last. Extracted data is generated from the schema: texts are the customer's last words,
/// numbers the number of turns, choices the first one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scripted;

impl LanguageModel for Scripted {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelDelta, ModelError>> {
        let (text, calls) = match request.purpose {
            Purpose::Reply => reply(&request.messages, request.may_call),
            Purpose::Summary => (summary(&request.messages), Vec::new()),
            Purpose::Extraction => (extraction::data(&request.messages), Vec::new()),
        };
        let sent = request.messages.iter();
        let used = Tokens {
            input: sent.map(|message| words(&message.content)).sum(),
            output: words(&text),
        };
        let pieces: Vec<String> = text.split_inclusive(' ').map(str::to_owned).collect();
        let deltas = pieces.into_iter().map(ModelDelta::Text);
        let calls = calls.into_iter().map(ModelDelta::Call);
        stream::iter(
            deltas
                .chain(calls)
                .chain([ModelDelta::Used(used), ModelDelta::Finish])
                .map(Ok),
        )
        .boxed()
    }
}

fn words(text: &str) -> u32 {
    u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
}

fn reply(messages: &[Message], may_call: bool) -> (String, Vec<ToolCall>) {
    let prompt = messages
        .iter()
        .filter(|message| message.role == Role::System)
        .flat_map(|message| message.content.lines());
    let script = Script::read(prompt);
    let turn = customer_turns(messages).saturating_sub(1);
    let (steps, answer) = since_the_customer(messages);
    let scripted = script.reply(turn, steps);
    let (text, calls) = match (scripted, answer) {
        (Some(reply), _) => (reply.words(answer), reply.calls(messages.len())),
        (None, Some(answer)) => (format!("It says: {}", sentence(answer)), Vec::new()),
        (None, None) => (friendly(last_words(messages), turn), Vec::new()),
    };
    if may_call {
        return (text, calls);
    }
    // A reply without text and calls is invalid.
    let text = if text.is_empty() {
        "I have nothing to add.".to_owned()
    } else {
        text
    };
    (text, Vec::new())
}

/// The rounds of tool calls since the customer spoke last, and the last tool's answer.
fn since_the_customer(messages: &[Message]) -> (usize, Option<&str>) {
    let recent = || {
        let newest_first = messages.iter().rev();
        newest_first.take_while(|message| message.role != Role::User)
    };
    let steps = recent().filter(|message| !message.calls.is_empty()).count();
    let answer = recent().find(|message| message.role == Role::Tool);
    (steps, answer.map(|message| &*message.content))
}

fn sentence(text: &str) -> String {
    let text = quote(text);
    if text.is_empty() {
        "nothing.".to_owned()
    } else {
        format!("{text}.")
    }
}

/// The customer's turns; consecutive utterances without an answer between them count as one.
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

/// The caller's words without their final punctuation, cut at a word boundary.
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

/// Summarizes the transcript, which is the request's last message with one turn per line.
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

    fn words(messages: &[Message]) -> String {
        reply(messages, false).0
    }

    #[test]
    fn tools_are_called_step_by_step_and_only_when_allowed() {
        let prompt = "say: Let me see.\ncall: look {\"id\":7}\nthen: It is {result}.";
        let mut all = messages(prompt, &[(Role::User, "Where is it?")]);
        let (text, calls) = reply(&all, true);
        assert_eq!(text, "Let me see.");
        assert_eq!(
            (calls[0].name.as_str(), calls[0].arguments.as_str()),
            ("look", r#"{"id":7}"#)
        );
        assert_eq!(reply(&all, false), ("Let me see.".to_owned(), vec![]));
        all.push(Message::calling("Let me see.", calls.clone()));
        all.push(Message::answering(&calls[0], "here"));
        assert_eq!(reply(&all, true), ("It is here.".to_owned(), vec![]));
        let bare = messages("say:\ncall: look", &[(Role::User, "Well?")]);
        assert_eq!(reply(&bare, true).0, "");
        assert_eq!(reply(&bare, false).0, "I have nothing to add.");
    }

    #[test]
    fn what_a_tool_answered_is_read_out_without_a_script_for_it() {
        let mut all = messages("say: Well.\ncall: look", &[(Role::User, "Where is it?")]);
        let calls = reply(&all, true).1;
        all.push(Message::calling("", calls.clone()));
        all.push(Message::answering(&calls[0], "in the drawer."));
        assert_eq!(
            reply(&all, true),
            ("It says: in the drawer.".to_owned(), vec![])
        );
    }

    #[test]
    fn say_lines_are_the_replies_in_order_and_the_last_one_is_repeated() {
        use Role::{Assistant, User};
        let prompt = "You are Eva.\n  say: First.\nNothing to say: here.\nsay:Second.\nsay: ";
        let mut history = vec![(Assistant, "Hello.")];
        for expected in ["First.", "Second.", "Second."] {
            history.push((User, "Well"));
            assert_eq!(words(&messages(prompt, &history)), expected);
            history.push((User, "and more"));
            assert_eq!(
                words(&messages(prompt, &history)),
                expected,
                "the same turn"
            );
            history.push((Assistant, "…"));
        }
    }

    #[test]
    fn without_say_lines_it_takes_up_what_the_caller_said() {
        let said = |text| words(&messages("You are Eva.", &[(Role::User, text)]));
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
