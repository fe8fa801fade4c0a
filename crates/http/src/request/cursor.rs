//! The opaque `cursor` of lists: version, route, hash of the filters, the last row's sort key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use offhook_domain::Timestamp;
use ring::digest::{SHA256, digest};
use uuid::Uuid;

const VERSION: u8 = 1;

/// The sort key of a row: its time and id. Lists that are not sorted by time put a row number into the time.
pub(crate) type SortKey = (Timestamp, Uuid);

/// The longest text that fits a sort key, in bytes.
const LONGEST_TEXT: usize = 8 + 16;

/// The sort key of a list that is sorted by a short text without U+0000: the text's bytes.
pub(crate) fn text_key(text: &str) -> SortKey {
    let mut bytes = [0; LONGEST_TEXT];
    debug_assert!(text.len() <= LONGEST_TEXT, "{text} does not fit a cursor");
    for (to, from) in bytes.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    let (micros, id) = (&bytes[..8], &bytes[8..]);
    let micros = micros
        .iter()
        .fold(0, |all, byte| all << 8 | i64::from(*byte));
    let id = id.iter().fold(0, |all, byte| all << 8 | u128::from(*byte));
    (Timestamp::from_micros(micros), Uuid::from_u128(id))
}

/// The text of a key that [`text_key`] made.
pub(crate) fn key_text((micros, id): SortKey) -> String {
    let bytes = [micros.micros().to_be_bytes().as_slice(), id.as_bytes()].concat();
    let text = String::from_utf8_lossy(&bytes);
    text.trim_end_matches('\0').to_owned()
}

/// The sort key of a list.
pub(crate) trait CursorKey: Sized {
    /// Appends the key's bytes.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Reads the bytes; `None` if they are not a key of this kind.
    fn read(bytes: &[u8]) -> Option<Self>;
}

impl CursorKey for SortKey {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.0.micros().to_be_bytes());
        bytes.extend(self.1.as_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (micros, id) = bytes.split_first_chunk::<8>()?;
        let at = Timestamp::from_micros(i64::from_be_bytes(*micros));
        Some((at, Uuid::from_slice(id).ok()?))
    }
}

/// A cursor of this service and this route. Its filters are not checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyedCursor<K> {
    filters: [u8; 8],
    key: K,
}

#[cfg(test)]
pub(crate) type Cursor = KeyedCursor<SortKey>;

impl<K: CursorKey> KeyedCursor<K> {
    /// The cursor that continues after the row with `key`.
    pub(crate) fn write(path: &str, filters: &str, key: &K) -> String {
        let mut bytes = Vec::new();
        bytes.push(VERSION);
        bytes.extend(hash::<4>(path.as_bytes()));
        bytes.extend(hash::<8>(filters.as_bytes()));
        key.write(&mut bytes);
        bytes.extend(hash::<4>(&bytes));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a cursor; `None` if it was forged or belongs to another route.
    pub(crate) fn read(path: &str, text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (content, check) = bytes.split_last_chunk::<4>()?;
        if hash::<4>(content) != *check {
            return None;
        }
        let (version, rest) = content.split_first()?;
        let (endpoint, rest) = rest.split_first_chunk::<4>()?;
        let (filters, rest) = rest.split_first_chunk::<8>()?;
        if *version != VERSION || *endpoint != hash::<4>(path.as_bytes()) {
            return None;
        }
        Some(Self {
            filters: *filters,
            key: K::read(rest)?,
        })
    }

    /// Where the page begins; `None` if the filters differ from those of the previous page.
    pub(crate) fn key(self, filters: &str) -> Option<K> {
        (self.filters == hash::<8>(filters.as_bytes())).then_some(self.key)
    }
}

fn hash<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let digest = digest(&SHA256, bytes);
    std::array::from_fn(|at| digest.as_ref()[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: SortKey = (
        Timestamp::from_micros(1_777_550_400_123_456),
        Uuid::from_u128(0x0190_163d_8694_739b_aea5_966c_26f8_ad91),
    );

    #[test]
    fn a_cursor_brings_its_sort_key_back_to_the_microsecond() {
        let text = Cursor::write("/v1/calls", "status=failed", &KEY);
        let cursor = Cursor::read("/v1/calls", &text).unwrap();
        assert_eq!(cursor.clone().key("status=failed"), Some(KEY));
        assert_eq!(cursor.clone().key("status=completed"), None);
        assert_eq!(cursor.key(""), None);
    }

    #[test]
    fn a_cursor_of_another_endpoint_or_from_elsewhere_is_refused() {
        let text = Cursor::write("/v1/calls", "", &KEY);
        assert_eq!(Cursor::read("/v1/conversations", &text), None);
        for foreign in [
            "",
            "x",
            "eyJpZCI6MX0",
            "====",
            &text[1..],
            &format!("{text}="),
        ] {
            assert_eq!(Cursor::read("/v1/calls", foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_text_is_the_sort_key_that_it_was() {
        for text in ["", "a", "google_calendar", "abcdefghijklmnopqrstuvwx", "é"] {
            assert_eq!(key_text(text_key(text)), text);
        }
    }

    #[test]
    fn a_cursor_with_any_character_changed_is_refused() {
        let text = Cursor::write("/v1/calls", "", &KEY);
        for at in 0..text.len() {
            let other = if text.as_bytes()[at] == b'A' {
                "B"
            } else {
                "A"
            };
            let mut garbled = text.clone();
            garbled.replace_range(at..=at, other);
            assert_eq!(Cursor::read("/v1/calls", &garbled), None, "{at}");
        }
    }
}
