//! Server-sent events: parses the `data` fields, as model services and this service use them.

/// The longest line. Deltas are short, and an endless line must not fill the memory.
const MAX_LINE_BYTES: usize = 256 * 1024;

/// Parses an event stream from pieces of any size. Lines may end with LF, CRLF or CR; comments and other fields are
/// skipped.
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    data: Option<String>,
    id: Option<String>,
    last_id: Option<String>,
    after_cr: bool,
}

/// The stream is no text, or has an endless line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotEvents;

impl Events {
    /// Adds a piece, and calls `found` with the data of each completed event.
    pub fn push(&mut self, piece: &[u8], mut found: impl FnMut(String)) -> Result<(), NotEvents> {
        for &byte in piece {
            let second_half_of_crlf = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            match byte {
                _ if second_half_of_crlf => {}
                b'\n' | b'\r' => self.end_line(&mut found)?,
                _ if self.line.len() >= MAX_LINE_BYTES => return Err(NotEvents),
                _ => self.line.push(byte),
            }
        }
        Ok(())
    }

    /// The id of the newest event that had one: what `Last-Event-ID` tells when the stream is opened again.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Forgets an event that broke off; what follows is a new stream.
    pub fn begin_again(&mut self) {
        let last_id = self.last_id.take();
        *self = Self {
            last_id,
            ..Self::default()
        };
    }

    /// Ends the stream: some services omit the last blank line.
    pub fn finish(&mut self, mut found: impl FnMut(String)) -> Result<(), NotEvents> {
        if !self.line.is_empty() {
            self.end_line(&mut found)?;
        }
        self.end_line(&mut found)
    }

    fn end_line(&mut self, found: &mut impl FnMut(String)) -> Result<(), NotEvents> {
        if self.line.is_empty() {
            self.last_id = self.id.take().or(self.last_id.take());
            if let Some(data) = self.data.take() {
                found(data);
            }
            return Ok(());
        }
        let line = std::str::from_utf8(&self.line).map_err(|_| NotEvents)?;
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        if let Some(value) = line.strip_prefix("data:") {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) if data.len() + value.len() > MAX_LINE_BYTES => return Err(NotEvents),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        if let Some(id) = line.strip_prefix("id:") {
            self.id = Some(id.strip_prefix(' ').unwrap_or(id).to_owned());
        }
        self.line.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Result<Vec<String>, NotEvents> {
        let (mut events, mut all) = (Events::default(), Vec::new());
        for piece in pieces {
            events.push(piece, |data| all.push(data))?;
        }
        events.finish(|data| all.push(data))?;
        Ok(all)
    }

    #[test]
    fn events_are_the_same_however_their_lines_end_and_their_bytes_arrive() {
        for end in ["\n", "\r\n", "\r"] {
            let text = [
                "data: {\"é\":1}",
                "",
                ": comment",
                "event: x",
                "data:two",
                "data: lines",
                "",
                "",
            ];
            let text = text.join(end);
            let expected = vec!["{\"é\":1}".to_owned(), "two\nlines".to_owned()];
            assert_eq!(events(&[text.as_bytes()]), Ok(expected.clone()));
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(events(&bytes), Ok(expected));
        }
    }

    #[test]
    fn a_stream_is_opened_again_behind_its_last_id() {
        let mut events = Events::default();
        assert_eq!(events.last_id(), None);
        events
            .push(b"id: 7\ndata: a\n\nid: 8\ndata: b", |_| {})
            .unwrap();
        events.begin_again();
        let mut all = Vec::new();
        events.push(b"data: c\n\n", |data| all.push(data)).unwrap();
        assert_eq!((events.last_id(), all), (Some("7"), vec!["c".to_owned()]));
    }

    #[test]
    fn a_last_event_without_its_blank_line_counts() {
        assert_eq!(events(&[b"data: [DONE]"]), Ok(vec!["[DONE]".to_owned()]));
    }

    #[test]
    fn endless_lines_and_other_encodings_are_refused() {
        assert_eq!(events(&[&vec![b'x'; MAX_LINE_BYTES + 1]]), Err(NotEvents));
        assert_eq!(events(&[b"data: \xff\n\n"]), Err(NotEvents));
        let many = b"data: 1234567\n".repeat(MAX_LINE_BYTES / 7);
        assert_eq!(events(&[&many]), Err(NotEvents));
    }
}
