//! ElevenLabs' agents: the operations on agents, numbers, calls and conversations that the legacy runtime uses, in
//! the shapes of its documentation of November 2026.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use ring::hmac;
use serde_json::{Value, json};

use crate::upstream::{Answer, ReceivedRequest, Upstream};

/// The API key of the initial workspace.
pub const KEY: &str = "xi_key_of_the_tests";

/// The initial agent.
pub const AGENT: &str = "agent_0001";

/// The initial agent's number, from a Twilio account.
pub const NUMBER: &str = "+15005560001";

/// A number without an agent, from a SIP trunk.
pub const TRUNK_NUMBER: &str = "+15005560002";

/// A recording in the provider's format: 1.5 s of audio in an MP3 file.
pub const RECORDING: &[u8] = include_bytes!("../../../media/tests/it/mono.mp3");

/// The Unix second at which every call begins.
pub const BEGAN_AT: i64 = 1_777_573_940;

/// A running fake.
pub struct ElevenLabs {
    upstream: Upstream,
    state: Arc<Mutex<State>>,
}

/// The fake's state.
#[derive(Default)]
pub struct State {
    /// Workspaces by API key.
    pub workspaces: BTreeMap<String, Workspace>,
    /// Every requested call, oldest first.
    pub calls: Vec<Call>,
    /// The largest page size, whatever the request asks for.
    pub page_size: usize,
    /// Whether a new call is hidden: in no list, and unreadable.
    pub hides_calls: bool,
    /// Whether it refuses to place calls, in the message of an otherwise successful response.
    pub refuses: bool,
    /// Whether its list ignores the parameter `user_id` and returns the conversations of all users.
    pub lists_everybody: bool,
    /// Whether its list is empty, though each conversation can be read.
    pub lists_none: bool,
    /// The response of `/audio`, with its media type.
    pub recording: Option<(&'static str, Vec<u8>)>,
    /// Whether announced recordings do not exist yet.
    pub hides_recordings: bool,
    /// Whether every callee answers at once and hangs up after half a minute.
    pub finishes: bool,
}

/// The contents of a workspace.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    /// Agents by id, each as `GET /v1/convai/agents/{id}` returns it.
    pub agents: BTreeMap<String, Value>,
    /// Numbers, each as `GET /v1/convai/phone-numbers` lists it.
    pub numbers: Vec<Value>,
}

/// A requested call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The id of its conversation.
    pub id: String,
    /// The API key of the request.
    pub key: String,
    /// The operation: `twilio` or `sip-trunk`.
    pub kind: String,
    /// The body of the request.
    pub request: Value,
    /// Whether the call is in no list and cannot be read.
    pub hidden: bool,
    /// As `GET /v1/convai/conversations/{id}` returns it.
    pub conversation: Value,
}

impl ElevenLabs {
    /// Starts with one workspace: one agent, its number, and another number.
    pub async fn start() -> Self {
        let mut state = State {
            page_size: 100,
            ..State::default()
        };
        let mut workspace = Workspace::default();
        workspace
            .agents
            .insert(AGENT.to_owned(), agent(AGENT, "Reception"));
        workspace.numbers = vec![
            number("phnum_1", NUMBER, "twilio", Some(AGENT)),
            number("phnum_2", TRUNK_NUMBER, "sip_trunk", None),
        ];
        state.workspaces.insert(KEY.to_owned(), workspace);
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        let upstream = Upstream::start(move |asked| shared.lock().answer(asked)).await;
        Self { upstream, state }
    }

    #[must_use]
    pub fn base_url(&self) -> String {
        self.upstream.base_url()
    }

    /// Its HTTP server, for faults and recorded requests.
    #[must_use]
    pub const fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Every requested call, oldest first.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// The calls whose user is this handle of ours.
    #[must_use]
    pub fn calls_of(&self, handle: &str) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.conversation["user_id"] == handle);
        calls
    }

    /// Begins a conversation that no request placed: with this agent and `metadata.phone_call`, or in a page.
    pub fn begins(&self, id: &str, agent: &str, phone_call: Value, text_only: bool) {
        let conversation = json!({
            "agent_id": agent,
            "conversation_id": id,
            "status": "initiated",
            "user_id": null,
            "transcript": [],
            "has_audio": false,
            "metadata": {
                "start_time_unix_secs": BEGAN_AT,
                "accepted_time_unix_secs": BEGAN_AT,
                "call_duration_secs": 0,
                "termination_reason": "",
                "error": null,
                "phone_call": phone_call,
                "text_only": text_only,
            },
            "analysis": null,
            "conversation_initiation_client_data": {"dynamic_variables": {"system__call_sid": "CA1"}},
        });
        self.state().calls.push(Call {
            id: id.to_owned(),
            key: KEY.to_owned(),
            kind: String::new(),
            request: Value::Null,
            hidden: false,
            conversation,
        });
    }

    /// Answers the call and adds these turns: role, words, second.
    pub fn talk(&self, id: &str, said: &[(&str, &str, i64)]) {
        let turns: Vec<Value> = said
            .iter()
            .map(|(role, words, at)| json!({"role": role, "message": words, "time_in_call_secs": at, "interrupted": false}))
            .collect();
        self.change(id, |conversation| {
            conversation["status"] = json!("in-progress");
            conversation["transcript"] = json!(turns);
        });
    }

    /// Ends an answered call after `seconds`, with a summary and this reason.
    pub fn end(&self, id: &str, seconds: i64, reason: &str) {
        let has_audio = self.state().recording.is_some();
        self.change(id, |conversation| {
            conversation["status"] = json!("done");
            conversation["has_audio"] = json!(has_audio);
            let metadata = &mut conversation["metadata"];
            metadata["call_duration_secs"] = json!(seconds);
            metadata["cost"] = json!(seconds * 9);
            metadata["termination_reason"] = json!(reason);
            if metadata["phone_call"].is_object() {
                metadata["phone_call"]["call_result"] = json!("answered");
            }
            conversation["analysis"] = json!({
                "call_successful": "success",
                "transcript_summary": "They spoke of an appointment.",
            });
        });
    }

    /// Fails an unanswered call with this `call_result`.
    pub fn fail(&self, id: &str, result: &str) {
        self.change(id, |conversation| {
            conversation["status"] = json!("failed");
            conversation["metadata"]["phone_call"]["call_result"] = json!(result);
        });
    }

    /// Sets only the status, such as `processing`.
    pub fn set_status(&self, id: &str, status: &str) {
        self.change(id, |conversation| conversation["status"] = json!(status));
    }

    /// Hides every call, as if the provider had accepted and then lost it.
    pub fn forget(&self) {
        for call in &mut self.state().calls {
            call.hidden = true;
        }
    }

    /// Makes the hidden calls visible.
    pub fn appear(&self) {
        let mut state = self.state();
        state.hides_calls = false;
        for call in &mut state.calls {
            call.hidden = false;
        }
    }

    /// Changes a call's conversation.
    ///
    /// # Panics
    /// If there is no call with this id.
    pub fn change(&self, id: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        let call = state.calls.iter_mut().find(|call| call.id == id);
        let call = call.unwrap_or_else(|| panic!("no call {id}"));
        change(&mut call.conversation);
    }

    /// The body of the webhook for an ended call.
    #[must_use]
    pub fn transcription(&self, id: &str) -> String {
        let call = self.calls().into_iter().find(|call| call.id == id);
        let data = call.map_or(Value::Null, |call| call.conversation);
        json!({"type": "post_call_transcription", "event_timestamp": BEGAN_AT, "data": data})
            .to_string()
    }

    /// The body of the webhook for a call that did not start. It only holds the provider's id of the call.
    #[must_use]
    pub fn initiation_failure(&self, id: &str, reason: &str) -> String {
        json!({
            "type": "call_initiation_failure",
            "event_timestamp": BEGAN_AT,
            "data": {
                "agent_id": AGENT,
                "conversation_id": id,
                "failure_reason": reason,
                "metadata": {"type": "twilio", "body": {"CallStatus": reason}},
            },
        })
        .to_string()
    }
}

/// The value of `ElevenLabs-Signature` for a body sent at this Unix second.
#[must_use]
pub fn signature(secret: &str, at: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{at}.{body}").as_bytes());
    format!("t={at},v0={}", hex::encode(tag))
}

/// An agent as a read by its id returns it.
#[must_use]
pub fn agent(id: &str, name: &str) -> Value {
    json!({
        "agent_id": id,
        "name": name,
        "conversation_config": {
            "agent": {
                "first_message": "Hello {{lead}}.",
                "language": "en",
                "prompt": {"prompt": "You answer for the front desk.", "llm": "gemini-2.0-flash", "temperature": 0.0},
            },
            "tts": {"voice_id": "voice_1", "model_id": "eleven_flash_v2"},
            "conversation": {"max_duration_seconds": 600},
        },
        "metadata": {"created_at_unix_secs": BEGAN_AT},
        "platform_settings": {},
        "tags": [],
    })
}

/// A number as it is listed.
#[must_use]
pub fn number(id: &str, number: &str, provider: &str, agent: Option<&str>) -> Value {
    json!({
        "phone_number_id": id,
        "phone_number": number,
        "label": "Desk",
        "provider": provider,
        "supports_inbound": true,
        "supports_outbound": true,
        "assigned_agent": agent.map(|agent| json!({"agent_id": agent, "agent_name": "Reception"})),
    })
}

fn not_found() -> Answer {
    let detail =
        json!({"detail": {"status": "not_found", "message": "There is no such document."}});
    Answer::json(404, &detail)
}

impl State {
    fn answer(&mut self, asked: &ReceivedRequest) -> Answer {
        let key = asked.header("xi-api-key").unwrap_or_default().to_owned();
        if !self.workspaces.contains_key(&key) {
            let detail =
                json!({"detail": {"status": "invalid_api_key", "message": "Invalid API key"}});
            return Answer::json(401, &detail);
        }
        let path = asked.path.strip_prefix("/v1/convai/").unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        match (asked.method.as_str(), parts.as_slice()) {
            ("GET", ["agents"]) => self.agents(&key, asked),
            ("GET", ["agents", id]) => self.agent(&key, id),
            ("PATCH", ["agents", id]) => self.rename(&key, id, asked),
            ("GET", ["phone-numbers"]) => self.numbers(&key),
            ("POST", [kind @ ("twilio" | "sip-trunk"), "outbound-call"]) => {
                self.place(&key, kind, asked)
            }
            ("GET", ["conversations"]) => self.conversations(&key, asked),
            ("GET", ["conversations", id]) => self.conversation(&key, id),
            ("GET", ["conversations", id, "audio"]) => self.audio(&key, id),
            _ => not_found(),
        }
    }

    fn agents(&self, key: &str, asked: &ReceivedRequest) -> Answer {
        let all: Vec<&Value> = self.workspaces[key].agents.values().collect();
        let (page, next) = self.page(all.len(), asked);
        let agents: Vec<Value> = all[page]
            .iter()
            .map(|agent| json!({"agent_id": agent["agent_id"], "name": agent["name"], "tags": []}))
            .collect();
        let has_more = next.is_some();
        Answer::json(
            200,
            &json!({"agents": agents, "next_cursor": next, "has_more": has_more}),
        )
    }

    /// The range of rows on the page out of `count`, and the cursor of the next page.
    fn page(
        &self,
        count: usize,
        asked: &ReceivedRequest,
    ) -> (std::ops::Range<usize>, Option<String>) {
        let asked_for = |name| {
            asked
                .parameter(name)
                .and_then(|text| text.parse::<usize>().ok())
        };
        let from = asked_for("cursor").unwrap_or(0).min(count);
        let size = asked_for("page_size").unwrap_or(30).min(self.page_size);
        let to = (from + size).min(count);
        (from..to, (to < count).then(|| to.to_string()))
    }

    fn agent(&self, key: &str, id: &str) -> Answer {
        let agent = self.workspaces[key].agents.get(id);
        agent.map_or_else(not_found, |agent| Answer::json(200, agent))
    }

    fn rename(&mut self, key: &str, id: &str, asked: &ReceivedRequest) -> Answer {
        let workspace = self.workspaces.get_mut(key);
        let Some(agent) = workspace.and_then(|workspace| workspace.agents.get_mut(id)) else {
            return not_found();
        };
        agent["name"] = asked.json()["name"].clone();
        Answer::json(200, agent)
    }

    fn numbers(&self, key: &str) -> Answer {
        Answer::json(200, &json!(self.workspaces[key].numbers))
    }

    fn place(&mut self, key: &str, kind: &str, asked: &ReceivedRequest) -> Answer {
        let request = asked.json();
        let workspace = &self.workspaces[key];
        let agent = request["agent_id"].as_str().unwrap_or_default();
        let number = workspace
            .numbers
            .iter()
            .find(|number| number["phone_number_id"] == request["agent_phone_number_id"]);
        let Some(number) = number.filter(|_| workspace.agents.contains_key(agent)) else {
            return not_found();
        };
        if number["provider"] != kind.replace('-', "_") {
            let detail = json!({"detail": [{"loc": ["body"], "msg": "of another kind", "type": "value_error"}]});
            return Answer::json(422, &detail);
        }
        if self.refuses {
            let refusal =
                json!({"success": false, "message": "No capacity", "conversation_id": null});
            return Answer::json(200, &refusal);
        }
        let id = format!("conv_{:04}", self.calls.len() + 1);
        let (status, lasted, result) = match self.finishes {
            true => ("done", 30, json!("answered")),
            false => ("initiated", 0, Value::Null),
        };
        let client_data = &request["conversation_initiation_client_data"];
        let conversation = json!({
            "agent_id": agent,
            "conversation_id": id,
            "status": status,
            "user_id": client_data["user_id"],
            "transcript": [],
            "metadata": {
                "start_time_unix_secs": BEGAN_AT,
                "accepted_time_unix_secs": null,
                "call_duration_secs": lasted,
                "cost": null,
                "termination_reason": "",
                "error": null,
                "phone_call": {
                    "type": kind.replace('-', "_"),
                    "direction": "outbound",
                    "agent_number": number["phone_number"],
                    "external_number": request["to_number"],
                    "phone_number_id": number["phone_number_id"],
                    "call_result": result,
                },
            },
            "analysis": null,
            "conversation_initiation_client_data": client_data,
            "has_audio": false,
            "has_user_audio": false,
            "has_response_audio": false,
        });
        self.calls.push(Call {
            id: id.clone(),
            key: key.to_owned(),
            kind: kind.to_owned(),
            request,
            hidden: self.hides_calls,
            conversation,
        });
        let sid = if kind == "twilio" {
            "callSid"
        } else {
            "sip_call_id"
        };
        Answer::json(
            200,
            &json!({"success": true, "message": "Success", "conversation_id": id, sid: "CA1"}),
        )
    }

    fn known(&self, key: &str) -> impl Iterator<Item = &Call> {
        let calls = self.calls.iter().rev();
        calls.filter(move |call| call.key == key && !call.hidden)
    }

    fn conversations(&self, key: &str, asked: &ReceivedRequest) -> Answer {
        let user = asked.parameter("user_id").filter(|_| !self.lists_everybody);
        let of = |call: &&Call| {
            user.as_ref()
                .is_none_or(|user| call.conversation["user_id"] == **user)
        };
        let mut all: Vec<Value> = self.known(key).filter(of).map(summary).collect();
        if self.lists_none {
            all.clear();
        }
        let (page, next) = self.page(all.len(), asked);
        let has_more = next.is_some();
        Answer::json(
            200,
            &json!({"conversations": all[page], "next_cursor": next, "has_more": has_more}),
        )
    }

    fn conversation(&self, key: &str, id: &str) -> Answer {
        let call = self.known(key).find(|call| call.id == id);
        call.map_or_else(not_found, |call| Answer::json(200, &call.conversation))
    }

    fn audio(&self, key: &str, id: &str) -> Answer {
        let is_known = self.known(key).any(|call| call.id == id);
        match &self.recording {
            Some((kind, bytes)) if is_known && !self.hides_recordings => {
                Answer::bytes(200, kind, bytes.clone())
            }
            _ => not_found(),
        }
    }
}

fn summary(call: &Call) -> Value {
    let conversation = &call.conversation;
    json!({
        "agent_id": conversation["agent_id"],
        "conversation_id": call.id,
        "start_time_unix_secs": BEGAN_AT,
        "call_duration_secs": conversation["metadata"]["call_duration_secs"],
        "message_count": conversation["transcript"].as_array().map_or(0, Vec::len),
        "status": conversation["status"],
        "call_successful": "unknown",
    })
}
