//! `/v1/voices`.

use std::str::FromStr;

use offhook_services::{VoiceFilter, VoicePlace};

use crate::prelude::*;
use crate::request::ask::AgentsRead;
use crate::request::cursor::CursorKey;
use crate::wire::voice::VoiceBody;

/// The longest search text in characters.
const MAX_Q_CHARS: usize = 100;

pub(crate) fn routes() -> Vec<Endpoint> {
    vec![Endpoint::at("/v1/voices").get(list)]
}

/// `^[a-zA-Z]{2,3}$`
struct Language(String);

impl FromStr for Language {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_code =
            (2..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic());
        is_code.then(|| Self(text.to_owned())).ok_or(())
    }
}

impl FromQuery for VoiceFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let provider = query.choice("provider", VoiceProvider::choices)?;
        let language = query.choice::<Language>("language", || {
            "a language code of two or three letters, such as `es`".to_owned()
        })?;
        Ok(Self {
            provider,
            language: language.map(|language| language.0),
            gender: query.choice::<VoiceGender>("gender", VoiceGender::choices)?,
            q: query.text("q", MAX_Q_CHARS)?,
            recommended: query.one_of("recommended", &[true, false])?,
        })
    }
}

impl CursorKey for VoicePlace {
    fn write(&self, bytes: &mut Vec<u8>) {
        let provider = VoiceProvider::ALL.iter().position(|p| *p == self.provider);
        bytes.push(self.group);
        bytes.push(provider.and_then(|at| u8::try_from(at).ok()).unwrap_or(0));
        bytes.extend(self.name_folded.as_bytes());
        bytes.push(0);
        bytes.extend(self.voice_id.as_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let [group, provider, rest @ ..] = bytes else {
            return None;
        };
        // A case-folded name contains no NUL byte.
        let end = rest.iter().position(|byte| *byte == 0)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some(Self {
            group: *group,
            provider: *VoiceProvider::ALL.get(usize::from(*provider))?,
            name_folded: text(&rest[..end])?,
            voice_id: text(&rest[end + 1..])?,
        })
    }
}

/// `GET /v1/voices`
async fn list(ask: Ask<AgentsRead, (), Listing<VoiceFilter, VoicePlace>>) -> Reply {
    let listing = &ask.query;
    let voices = ask.services().voices();
    let (filters, after) = (&listing.filters, listing.after.as_ref());
    let page = voices.list(ask.account(), filters, after, listing.limit);
    listing.answer(&page.await?, |voice| voice.place.clone(), VoiceBody)
}
