//! A server on a trunk, the telephone at the other end, and agents that listen and speak with local programs.

use std::time::Duration;

use offhook_tests::{
    Account, Database, Listener, Options, Phone, PhoneCall, Receiver, Server, must, text,
    write_grammar,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long any step may take on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The account's number.
pub(super) const NUMBER: &str = "+15005550199";

/// The number that the tests call.
pub(super) const CUSTOMER: &str = "+5215512345678";

/// All that the service's recognizer understands. A pause would split a sentence into two utterances, so each of
/// these is spoken without one.
pub(super) const QUESTION: &[&str] = &[
    "when is my appointment",
    "what time do you open",
    "please stop talking",
    "please stop calling me",
    "goodbye",
];

/// All that the telephone's recognizer understands.
pub(super) const AGENT: &[&str] = &[
    GREETING,
    REPLY,
    "we open at nine in the morning",
    PARTING,
    "are you still there",
];

pub(super) const GREETING: &str = "hello this is the harbour hotel";

pub(super) const PARTING: &str = "we wish you a good evening";

pub(super) const REPLY: &str = "your appointment is on monday at ten";

/// An agent that speaks three times, and ignores answering machines.
pub(super) fn config() -> Value {
    json!({
        "system_prompt": "say: Your appointment is on Monday at ten.\nsay: We wish you a good evening.",
        "first_message": "Hello, this is the harbour hotel.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "stt": {"provider": "local", "model": "customer"},
        "voice": {"provider": "local", "voice_id": "rms"},
        "conversation": {
            "turns": {"voicemail": "ignore", "silence_timeout_s": 60},
        },
    })
}

/// Everything for a spoken call.
pub(super) struct Stage {
    pub(super) server: Server,
    pub(super) account: Account,
    pub(super) phone: Phone,
    pub(super) events: Receiver,
    listener: Listener,
    /// The grammars of the service's recognizer.
    _grammars: TempDir,
}

impl Stage {
    pub(super) async fn open() -> Self {
        Self::with(|options| options).await
    }

    /// With more settings.
    pub(super) async fn with(more: impl FnOnce(Options) -> Options) -> Self {
        let phone = Phone::start().await;
        let grammars = must("a folder", tempfile::tempdir());
        write_grammar(&grammars.path().join("customer.gram"), QUESTION);
        let options = Options::on(Database::Sqlite)
            .set("calls.carrier", "sip")
            .set("calls.allowed_prefixes", "+52")
            .set("sip.udp", "127.0.0.1:0")
            .set("sip.trunks.carrier.server", phone.address())
            .set("speech.local.kind", "exec")
            .set(
                "speech.local.listen.command",
                format!(
                    "/usr/bin/pocketsphinx_continuous,-infile,{{file}},-jsgf,{}/{{model}}.gram",
                    grammars.path().display()
                ),
            )
            .set(
                "speech.local.speak.command",
                "/usr/bin/flite,-voice,{voice},--setf,duration_stretch={stretch},-f,{text_file},-o,{wav_file}",
            );
        let server = Server::start(more(options)).await;
        let account = server.account("scale").await;
        server.add_number(&account.id, NUMBER, None).await;
        let events = Receiver::start().await;
        account.webhook(&events.url("/")).await;
        Self {
            server,
            account,
            phone,
            events,
            listener: Listener::of(AGENT),
            _grammars: grammars,
        }
    }

    /// The agent's next words, as the telephone's recognizer understands them.
    pub(super) async fn hears(&self, call: &PhoneCall) -> String {
        let heard = call.hears().await;
        self.listener.understands(&heard.samples).await
    }

    /// Waits for the end of a call; returns it.
    pub(super) async fn ended(&self, handle: &str) -> Value {
        self.account.ended_within(handle, PATIENCE).await
    }

    /// A call's conversation, and its turns as `role: text`, with ` --` after an interrupted one.
    pub(super) async fn transcript(&self, call: &Value) -> (Value, Vec<String>) {
        let target = format!("/v1/conversations/{}", text(&call["conversation_id"]));
        let conversation = self.account.read(&target).await;
        let turns = conversation["transcript"].as_array().into_iter().flatten();
        let turns = turns
            .map(|turn| {
                let cut = if turn["interrupted"] == true {
                    " --"
                } else {
                    ""
                };
                format!("{}: {}{cut}", text(&turn["role"]), text(&turn["text"]))
            })
            .collect();
        (conversation, turns)
    }
}

/// The words of one role.
pub(super) fn said<'a>(turns: &'a [String], role: &str) -> Vec<&'a str> {
    let beginning = format!("{role}: ");
    turns
        .iter()
        .filter_map(|turn| turn.strip_prefix(&beginning))
        .collect()
}
