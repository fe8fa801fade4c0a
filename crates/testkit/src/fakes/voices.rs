//! The catalogs of the three voice providers, all at one address: `provider_a` at `/v2/voices`, `/v1/shared-voices`,
//! `/v1/voices/add/{owner}/{voice}` and `/v1/voices/{voice}`, `provider_b` at `/voices`, `provider_c` at
//! `/v1/models`. Pages have at most 100 voices, like the providers' own.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::upstream::{Answer, Fault, ReceivedRequest, Upstream};

/// The most voices on a page.
const PAGE: usize = 100;

#[derive(Default)]
struct State {
    /// The voices that each API key lists.
    workspaces: HashMap<String, Vec<Value>>,
    /// The shared library.
    shared: Vec<Value>,
    /// How many more voices a workspace may add.
    room: usize,
    /// Whether pages say that more follow without a next-page token.
    hides_next: bool,
    /// Whether another page with new voices always follows.
    is_endless: bool,
    /// The fault of all requests after so many more responses.
    fails_after: Option<(usize, Fault)>,
}

/// A provider's catalog.
pub struct VoiceCatalog {
    upstream: Arc<Upstream>,
    state: Arc<Mutex<State>>,
}

impl VoiceCatalog {
    /// A catalog without voices, with room for ten.
    pub async fn start() -> Self {
        let state = State {
            room: 10,
            ..State::default()
        };
        let state = Arc::new(Mutex::new(state));
        let (shared, itself) = (state.clone(), Arc::<OnceLock<Weak<Upstream>>>::default());
        let known = itself.clone();
        let upstream = Upstream::start(move |asked| {
            let mut state = shared.lock();
            if let Some(fault) = state.count_down()
                && let Some(upstream) = known.get().and_then(Weak::upgrade)
            {
                upstream.fail("*", "/", fault, usize::MAX);
            }
            state.answer(asked)
        });
        let upstream = Arc::new(upstream.await);
        itself.get_or_init(|| Arc::downgrade(&upstream));
        Self { upstream, state }
    }

    /// Its HTTP server, for recorded requests and faults.
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Sets the voices that an API key lists, in the provider's own shape.
    pub fn set(&self, key: &str, voices: Vec<Value>) {
        self.state.lock().workspaces.insert(key.to_owned(), voices);
    }

    /// Sets the shared library.
    pub fn share(&self, voices: Vec<Value>) {
        self.state.lock().shared = voices;
    }

    /// Sets how many more voices may be added.
    pub fn have_room(&self, room: usize) {
        self.state.lock().room = room;
    }

    /// All voices that an API key lists.
    pub fn listed(&self, key: &str) -> Vec<Value> {
        let state = self.state.lock();
        state.workspaces.get(key).cloned().unwrap_or_default()
    }

    /// After so many responses, at least one, every request fails with this fault, until [`Upstream::behave`].
    pub fn fail_after(&self, answers: usize, fault: Fault) {
        self.state.lock().fails_after = Some((answers, fault));
    }

    /// From now on pages say that more follow without a next-page token.
    pub fn hide_next(&self) {
        self.state.lock().hides_next = true;
    }

    /// From now on another page always follows.
    pub fn never_end(&self) {
        self.state.lock().is_endless = true;
    }
}

impl State {
    /// The fault that begins after this response.
    fn count_down(&mut self) -> Option<Fault> {
        let (left, fault) = self.fails_after?;
        self.fails_after = (left > 1).then_some((left - 1, fault));
        (left <= 1).then_some(fault)
    }

    fn answer(&mut self, asked: &ReceivedRequest) -> Answer {
        let path: Vec<String> = asked
            .path
            .trim_matches('/')
            .split('/')
            .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
            .collect();
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let key = |name: &str, scheme: &str| {
            let value = asked.header(name)?.strip_prefix(scheme)?;
            self.workspaces
                .contains_key(value)
                .then(|| value.to_owned())
        };
        let (shape, key) = match path.as_slice() {
            ["voices"] => ('b', key("authorization", "Bearer ")),
            ["v1", "models"] => ('c', key("authorization", "Token ")),
            _ => ('a', key("xi-api-key", "")),
        };
        let Some(key) = key else {
            return refusal(401, "invalid_api_key");
        };
        match (shape, asked.method.as_str(), path.as_slice()) {
            ('b', "GET", _) => self.page_b(&key, asked),
            ('c', "GET", _) => {
                let voices = self.workspace(&key);
                Answer::json(200, &json!({"stt": [], "tts": voices}))
            }
            ('a', "GET", ["v2", "voices"]) => self.page_a(&key, asked),
            ('a', "GET", ["v1", "shared-voices"]) => self.page_of_library(asked),
            ('a', "POST", ["v1", "voices", "add", owner, voice]) => {
                self.add(&key, owner, voice, asked)
            }
            ('a', "GET", ["v1", "voices", voice]) => {
                let workspace = self.workspace(&key);
                match workspace.into_iter().find(|one| one["voice_id"] == *voice) {
                    Some(voice) => Answer::json(200, &voice),
                    None => refusal(400, "voice_not_found"),
                }
            }
            _ => refusal(404, "not_found"),
        }
    }

    fn workspace(&self, key: &str) -> Vec<Value> {
        self.workspaces.get(key).cloned().unwrap_or_default()
    }

    /// The page from `first` on, and whether more follow.
    fn page(
        &self,
        voices: Vec<Value>,
        first: usize,
        asked: &ReceivedRequest,
        name: &str,
    ) -> (Vec<Value>, bool) {
        let size = asked.parameter(name).and_then(|size| size.parse().ok());
        let size = size.unwrap_or(10_usize).clamp(1, PAGE);
        if self.is_endless {
            let voice = |number| json!({"voice_id": format!("endless-{number}"), "id": format!("endless-{number}")});
            return ((first..first + size).map(voice).collect(), true);
        }
        let misleads = self.hides_next && !voices.is_empty();
        let has_more = voices.len() > first + size || misleads;
        (
            voices.into_iter().skip(first).take(size).collect(),
            has_more,
        )
    }

    fn page_a(&self, key: &str, asked: &ReceivedRequest) -> Answer {
        let token = asked.parameter("next_page_token");
        let first = match &token {
            None => Some(0),
            Some(token) => token
                .strip_prefix("from ")
                .and_then(|from| from.parse().ok()),
        };
        let Some(first) = first else {
            return refusal(400, "invalid_page_token");
        };
        let (voices, has_more) = self.page(self.workspace(key), first, asked, "page_size");
        let next = format!("from {}", first + voices.len());
        let next = has_more.then_some(next).filter(|_| !self.hides_next);
        Answer::json(
            200,
            &json!({
                "voices": voices, "has_more": has_more, "total_count": null, "next_page_token": next,
            }),
        )
    }

    fn page_of_library(&self, asked: &ReceivedRequest) -> Answer {
        let number = asked.parameter("page").and_then(|page| page.parse().ok());
        let first = number.unwrap_or(0_usize) * PAGE;
        let (voices, has_more) = self.page(self.shared.clone(), first, asked, "page_size");
        Answer::json(
            200,
            &json!({"voices": voices, "has_more": has_more, "last_sort_id": "x"}),
        )
    }

    fn page_b(&self, key: &str, asked: &ReceivedRequest) -> Answer {
        if asked.header("cartesia-version").is_none() {
            return refusal(400, "version_missing");
        }
        let voices = self.workspace(key);
        let first = match asked.parameter("starting_after") {
            None => Some(0),
            Some(id) if self.is_endless => id
                .strip_prefix("endless-")
                .and_then(|number| number.parse::<usize>().ok())
                .map(|number| number + 1),
            Some(id) => voices
                .iter()
                .position(|voice| voice["id"] == id)
                .map(|at| at + 1),
        };
        let Some(first) = first else {
            return refusal(400, "no_such_voice");
        };
        let (mut voices, has_more) = self.page(voices, first, asked, "limit");
        if self.hides_next {
            voices.clear();
        }
        Answer::json(200, &json!({"data": voices, "has_more": has_more}))
    }

    fn add(&mut self, key: &str, owner: &str, voice: &str, asked: &ReceivedRequest) -> Answer {
        let is_it = |one: &&Value| one["public_owner_id"] == owner && one["voice_id"] == voice;
        let Some(found) = self.shared.iter().find(is_it).cloned() else {
            return refusal(400, "voice_not_found");
        };
        let name = asked.json()["new_name"].clone();
        let workspace = self.workspaces.entry(key.to_owned()).or_default();
        if !name.is_string() {
            return refusal(422, "new_name_missing");
        }
        if workspace.iter().any(|one| one["voice_id"] == voice) {
            return refusal(400, "voice_already_cloned");
        }
        if self.room == 0 {
            return refusal(400, "voice_limit_reached");
        }
        self.room -= 1;
        workspace.push(json!({
            "voice_id": voice, "name": name, "category": "professional",
            "labels": {"gender": found["gender"], "language": found["language"]},
            "sharing": {"rate": found["rate"], "fiat_rate": found["fiat_rate"]},
        }));
        Answer::json(200, &json!({"voice_id": voice}))
    }
}

fn refusal(status: u16, word: &str) -> Answer {
    let detail = json!({"detail": {"status": word, "message": crate::upstream::UPSTREAM_WORDS}});
    Answer::json(status, &detail)
}
