//! Lists: `limit`, `cursor` and filters in, the list envelope out.

use offhook_domain::json::{Fault, FieldError};
use offhook_services::{Page, PageRequest};
use uuid::Uuid;

use super::cursor::{CursorKey, KeyedCursor, SortKey};
use super::query::{FromQuery, QueryReader};
use crate::prelude::*;

const MAX_LIMIT: u32 = 100;
const DEFAULT_LIMIT: u32 = 20;

/// The requested part of a list, and its filters.
#[derive(Debug)]
pub(crate) struct Listing<F, K = SortKey> {
    pub(crate) filters: F,
    pub(crate) limit: u32,
    pub(crate) after: Option<K>,
    path: String,
    filter_text: String,
}

impl<F: FromQuery, K: CursorKey> FromQuery for Listing<F, K> {
    /// Reads `limit` and `cursor` first, then the filters. A cursor of other filters is reported last.
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let limit = limit(query)?;
        let cursor = query.take("cursor")?;
        let cursor = cursor
            .map(|text| KeyedCursor::<K>::read(query.path(), &text).ok_or_else(foreign_cursor))
            .transpose()?;
        let filters = F::read(query)?;
        let filter_text = query.filters().to_owned();
        let after = cursor
            .map(|cursor| cursor.key(&filter_text).ok_or_else(foreign_cursor))
            .transpose()?;
        Ok(Self {
            filters,
            limit,
            after,
            path: query.path().to_owned(),
            filter_text,
        })
    }
}

fn limit(query: &mut QueryReader) -> Result<u32, FieldError> {
    let Some(text) = query.take("limit")? else {
        return Ok(DEFAULT_LIMIT);
    };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(limit) if digits && (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
        _ => Err(FieldError::new(
            "limit",
            Fault::NotInteger {
                low: 1,
                high: i64::from(MAX_LIMIT),
            },
        )),
    }
}

fn foreign_cursor() -> FieldError {
    FieldError::new("cursor", Fault::Cursor)
}

impl<F> Listing<F> {
    /// The page request for the services, whose rows have ids made from UUIDs.
    pub(crate) fn page_request<Id>(&self, id: impl Fn(Uuid) -> Id) -> PageRequest<Id> {
        PageRequest {
            after: self.after.map(|(at, uuid)| (at, id(uuid))),
            limit: self.limit,
        }
    }

    /// The list envelope for a page of rows that are all in memory and keep their order.
    pub(crate) fn answer_from<W: Serialize>(&self, rows: &[W]) -> Result<HttpResponse, ApiError> {
        let first = self.after.map_or(0, |(count, _)| {
            usize::try_from(count.micros()).unwrap_or(usize::MAX)
        });
        let rest = rows.get(first..).unwrap_or_default();
        let page = &rest[..rest.len().min(self.limit as usize)];
        let has_more = rest.len() > page.len();
        let next = i64::try_from(first + page.len()).unwrap_or(i64::MAX);
        let key = (offhook_domain::Timestamp::from_micros(next), Uuid::nil());
        reply::ok(&Envelope {
            data: page.iter().collect(),
            has_more,
            next_cursor: has_more.then(|| KeyedCursor::write(&self.path, &self.filter_text, &key)),
        })
    }
}

impl<F, K: CursorKey> Listing<F, K> {
    pub(crate) fn envelope<'a, T, W: Serialize>(
        &self,
        page: &'a Page<T>,
        key: impl Fn(&T) -> K,
        wire: impl Fn(&'a T) -> W,
    ) -> Envelope<W> {
        let last = page.items.last().filter(|_| page.has_more);
        Envelope {
            data: page.items.iter().map(wire).collect(),
            has_more: page.has_more,
            next_cursor: last
                .map(|row| KeyedCursor::write(&self.path, &self.filter_text, &key(row))),
        }
    }

    /// The response with a page in its envelope.
    pub(crate) fn answer<'a, T, W: Serialize>(
        &self,
        page: &'a Page<T>,
        key: impl Fn(&T) -> K,
        wire: impl Fn(&'a T) -> W,
    ) -> Result<HttpResponse, ApiError> {
        reply::ok(&self.envelope(page, key, wire))
    }
}

#[derive(Serialize)]
pub(crate) struct Envelope<W> {
    data: Vec<W>,
    has_more: bool,
    next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words;

    impl FromQuery for Words {
        fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
            query.text("q", 3).map(|_| Self)
        }
    }

    fn read(query: &str) -> Result<Listing<Words>, FieldError> {
        let mut reader = QueryReader::new("/v1/words", query);
        let listing = Listing::read(&mut reader)?;
        reader.finish()?;
        Ok(listing)
    }

    fn message_of(query: &str) -> String {
        read(query)
            .err()
            .map(|fault| fault.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn the_limit_is_an_integer_from_1_to_100_and_20_unless_said() {
        assert_eq!(read("").unwrap().limit, 20);
        assert_eq!(read("limit=1").unwrap().limit, 1);
        assert_eq!(read("limit=100").unwrap().limit, 100);
        for bad in [
            "0",
            "101",
            "x",
            "",
            "-1",
            "%2B5",
            "5.0",
            "99999999999",
            "1e1",
        ] {
            assert_eq!(
                message_of(&format!("limit={bad}")),
                "`limit`: must be an integer from 1 to 100",
                "{bad}"
            );
        }
    }

    #[test]
    fn of_several_faults_the_first_in_documented_order_is_named() {
        assert!(message_of("x=1&q=long&cursor=x&limit=0").starts_with("`limit`"));
        assert!(message_of("x=1&q=long&cursor=x").starts_with("`cursor`"));
        assert!(message_of("x=1&q=long").starts_with("`q`"));
        assert!(message_of("x=1").starts_with("`x`"));
    }

    #[test]
    fn a_cursor_works_with_its_filters_and_any_limit() {
        let key = (offhook_domain::Timestamp::from_micros(7), Uuid::nil());
        let filters = {
            let mut reader = QueryReader::new("/v1/words", "q=a");
            reader.text("q", 3).unwrap();
            reader.filters().to_owned()
        };
        let cursor = crate::request::cursor::Cursor::write("/v1/words", &filters, &key);
        let listing = read(&format!("limit=5&q=a&cursor={cursor}")).unwrap();
        assert_eq!(listing.after, Some(key));
        let message = "`cursor`: must be the next_cursor of this list with these filters";
        assert_eq!(message_of(&format!("q=b&cursor={cursor}")), message);
        assert_eq!(message_of(&format!("cursor={cursor}")), message);
    }
}
