//! Maps a record of a CSV file to its row in a spreadsheet.

use csv::{ByteRecord, Position};

/// Counts the rows of a CSV file as spreadsheets do: a blank line is a row, and a line break within a cell does not
/// start one.
pub struct CsvRows<'a> {
    file: &'a [u8],
    /// Where the last record begins, in bytes, and its row.
    begins: usize,
    row: usize,
    /// The line breaks within its cells.
    within: usize,
}

impl<'a> CsvRows<'a> {
    /// The bytes must be the ones the reader gets.
    pub const fn of(file: &'a [u8]) -> Self {
        Self {
            file,
            begins: 0,
            row: 1,
            within: 0,
        }
    }

    /// The row of the next record. Call it once per record, in order, starting with the column names.
    pub fn row_of(&mut self, record: &ByteRecord) -> usize {
        let read = record.position().map_or(0, Position::byte);
        let read = usize::try_from(read).unwrap_or(usize::MAX);
        // The reader skips blank lines only when it reads the record after them.
        let ahead = self.file.get(read..).unwrap_or_default();
        let blank = ahead.iter().take_while(|byte| is_break(**byte)).count();
        let begins = read.saturating_add(blank);
        let passed = self.file.get(self.begins..begins).unwrap_or_default();
        self.row += breaks(passed).saturating_sub(self.within);
        self.begins = begins;
        self.within = record.iter().map(breaks).sum();
        self.row
    }
}

const fn is_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Counts the line ends: `\n`, `\r` or both.
fn breaks(text: &[u8]) -> usize {
    let mut before = 0;
    let ends = text.iter().filter(|byte| {
        let is_second = before == b'\r' && **byte == b'\n';
        before = **byte;
        is_break(**byte) && !is_second
    });
    ends.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(file: &str) -> Vec<usize> {
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .has_headers(false)
            .from_reader(file.as_bytes());
        let mut rows = CsvRows::of(file.as_bytes());
        let records = reader.byte_records();
        records
            .map(|record| rows.row_of(&record.unwrap()))
            .collect()
    }

    #[test]
    fn blank_lines_are_rows_and_line_breaks_within_cells_are_none() {
        for (file, expected) in [
            ("", vec![]),
            ("to\na\nb", vec![1, 2, 3]),
            ("to\na\n\n\nb\n", vec![1, 2, 5]),
            ("\n\nto\na\n\n", vec![3, 4]),
            (
                "to,\"no\nte\"\na,\"\n\"\"\n\"\n\nb,\"x\n\"\nc,\n",
                vec![1, 2, 4, 5],
            ),
            ("to\n\"\n\"\n\"\"\nc", vec![1, 2, 3, 4]),
        ] {
            for end in ["\n", "\r\n", "\r"] {
                let file = file.replace('\n', end);
                assert_eq!(rows(&file), expected, "{file:?}");
            }
        }
    }
}
