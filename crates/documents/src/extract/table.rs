//! Tables: each row becomes a line with its column names, so that a passage is understandable without the first line.

use std::fmt::Write as _;

use csv::{ReaderBuilder, StringRecord};

use crate::MAX_TEXT_BYTES;
use offhook_domain::DocumentFault;

/// Column delimiters; the most frequent one in the first line is used.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

pub(super) fn text(content: &str) -> Result<String, DocumentFault> {
    let first = content.lines().next().unwrap_or_default().as_bytes();
    let count = |delimiter: &u8| first.iter().filter(|byte| *byte == delimiter).count();
    // `max_by_key` returns the last maximum, and the comma must win a tie.
    let delimiter = DELIMITERS.iter().rev().max_by_key(|d| count(d));
    let mut rows = ReaderBuilder::new()
        .delimiter(delimiter.copied().unwrap_or(b','))
        .flexible(true)
        .from_reader(content.as_bytes());
    let broken = |_| DocumentFault::Table;
    let names = rows.headers().map_err(broken)?.clone();
    let mut text = String::new();
    let mut row = StringRecord::new();
    while rows.read_record(&mut row).map_err(broken)? {
        line(&names, &row, &mut text);
        if text.len() > MAX_TEXT_BYTES {
            return Err(DocumentFault::TooLong);
        }
    }
    if text.is_empty() {
        // The only line.
        text = names.iter().collect::<Vec<_>>().join(", ");
    }
    Ok(text)
}

fn line(names: &StringRecord, row: &StringRecord, text: &mut String) {
    let before = text.len();
    for (at, value) in row.iter().enumerate() {
        let value = value.trim();
        if value.is_empty() {
            continue;
        }
        if text.len() > before {
            text.push_str("; ");
        }
        match names.get(at).map(str::trim).filter(|name| !name.is_empty()) {
            // Writing to a String cannot fail.
            Some(name) => drop(write!(text, "{name}: {value}")),
            None => text.push_str(value),
        }
    }
    if text.len() > before {
        text.push_str(".\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_names_its_columns() {
        let table = "room,price\nDouble,900\n\"Suite, sea\",\"1,500\"\nStudio\n,\n";
        assert_eq!(
            text(table).unwrap(),
            "room: Double; price: 900.\nroom: Suite, sea; price: 1,500.\nroom: Studio.\n"
        );
        assert_eq!(text("a;b\n1;2\n").unwrap(), "a: 1; b: 2.\n");
        assert_eq!(text("only,names").unwrap(), "only, names");
        assert_eq!(text("").unwrap(), "");
    }
}
