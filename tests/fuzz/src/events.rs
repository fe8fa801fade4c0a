//! Server-sent events of a model service. First byte: where the stream is cut; the pieces change nothing.

#[path = "../../../crates/providers/src/sse.rs"]
mod sse;

use sse::{Events, NotEvents};

pub(crate) fn run(data: &[u8]) {
    let Some((&first, stream)) = data.split_first() else {
        return;
    };
    let (left, right) = stream.split_at(usize::from(first).min(stream.len()));
    assert_eq!(read(&[left, right]), read(&[stream]));
}

/// The data of each event and the last id. An event that broke off before `begin_again` is none.
fn read(pieces: &[&[u8]]) -> Result<(Vec<String>, Option<String>), NotEvents> {
    let (mut events, mut all) = (Events::default(), Vec::new());
    events.push(b"data: broken", |data| all.push(data))?;
    events.begin_again();
    for piece in pieces {
        events.push(piece, |data| all.push(data))?;
    }
    events.finish(|data| all.push(data))?;
    Ok((all, events.last_id().map(str::to_owned)))
}
