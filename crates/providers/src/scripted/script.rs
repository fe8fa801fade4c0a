//! The script in a prompt.

use offhook_engine::ports::ToolCall;

const SAY: &str = "say:";
const CALL: &str = "call:";
const THEN: &str = "then:";

/// The placeholder for the last tool's answer.
const RESULT: &str = "{result}";

/// The customer's turns, each answered in one or more steps.
pub(super) struct Script<'a>(Vec<Vec<Scripted<'a>>>);

#[derive(Default)]
pub(super) struct Scripted<'a> {
    words: &'a str,
    calls: Vec<&'a str>,
}

impl<'a> Script<'a> {
    /// Parses the script from a prompt's lines.
    pub(super) fn read(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut turns: Vec<Vec<Scripted<'a>>> = Vec::new();
        for line in lines.map(str::trim) {
            let turn = turns.last_mut();
            if let Some(words) = line.strip_prefix(SAY) {
                turns.push(vec![Scripted::saying(words)]);
            } else if let (Some(words), Some(turn)) = (line.strip_prefix(THEN), turn) {
                turn.push(Scripted::saying(words));
            } else if let Some(call) = line.strip_prefix(CALL)
                && let Some(step) = turns.last_mut().and_then(|turn| turn.last_mut())
            {
                step.calls.push(call.trim());
            }
        }
        for turn in &mut turns {
            turn.retain(|step| !step.words.is_empty() || !step.calls.is_empty());
        }
        turns.retain(|turn| !turn.is_empty());
        Self(turns)
    }

    /// The reply of a turn after this many rounds of tool calls.
    pub(super) fn reply(&self, turn: usize, steps: usize) -> Option<&Scripted<'a>> {
        self.0.get(turn).or(self.0.last())?.get(steps)
    }
}

impl<'a> Scripted<'a> {
    fn saying(words: &'a str) -> Self {
        Self {
            words: words.trim(),
            calls: Vec::new(),
        }
    }

    pub(super) fn words(&self, answer: Option<&str>) -> String {
        self.words.replace(RESULT, answer.unwrap_or_default())
    }

    /// The calls, with ids that are unique within the conversation.
    pub(super) fn calls(&self, messages: usize) -> Vec<ToolCall> {
        let call = |(at, call): (usize, &&str)| {
            let (name, arguments) = call.split_once(char::is_whitespace).unwrap_or((call, "{}"));
            ToolCall {
                id: format!("call_{messages}_{at}"),
                name: name.to_owned(),
                arguments: arguments.trim().to_owned(),
                vendor: None,
            }
        };
        self.calls.iter().enumerate().map(call).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(prompt: &str, turn: usize, steps: usize) -> Option<(String, Vec<String>)> {
        let script = Script::read(prompt.lines());
        let reply = script.reply(turn, steps)?;
        let calls = reply.calls(4).into_iter();
        let calls = calls.map(|call| format!("{} {} {}", call.id, call.name, call.arguments));
        Some((reply.words(Some("42")), calls.collect()))
    }

    #[test]
    fn a_turn_may_call_tools_and_go_on_with_what_they_answered() {
        let prompt = "You are Eva.\nsay: One moment.\ncall: look {\"id\": 7}\ncall: ring\nthen: It is {result}.\nthen: \n\
                      call: look {}\nsay: Bye.";
        let calls = vec![
            "call_4_0 look {\"id\": 7}".to_owned(),
            "call_4_1 ring {}".to_owned(),
        ];
        assert_eq!(reply(prompt, 0, 0), Some(("One moment.".to_owned(), calls)));
        assert_eq!(reply(prompt, 0, 1), Some(("It is 42.".to_owned(), vec![])));
        let bare = vec!["call_4_0 look {}".to_owned()];
        assert_eq!(reply(prompt, 0, 2), Some((String::new(), bare)));
        assert_eq!(reply(prompt, 0, 3), None);
        assert_eq!(reply(prompt, 5, 0), Some(("Bye.".to_owned(), vec![])));
    }

    #[test]
    fn without_say_there_is_no_script() {
        assert_eq!(reply("call: look\nthen: Well.", 0, 0), None);
        assert_eq!(reply("say:\nsay: ", 0, 0), None);
    }
}
