//! CSV files: those that clients send, whose errors name every bad row, and those that are made for spreadsheets.

mod csv_rows;

use offhook_domain::json::{Fault, FieldError, RowFault};
use offhook_domain::messages::Listed;

pub use csv_rows::CsvRows;

/// The form field that holds the CSV file.
pub(crate) const FILE: &str = "file";

/// Bad rows that an error names.
const NAMED_AT_MOST: usize = 100;

/// The rows read so far, and the errors in the others.
pub(crate) struct Rows<T> {
    good: Vec<T>,
    bad: usize,
    named: Vec<RowFault>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self {
            good: Vec::new(),
            bad: 0,
            named: Vec::new(),
        }
    }
}

impl<T> Rows<T> {
    pub(crate) fn add(&mut self, row: Result<T, RowFault>) {
        match row {
            Ok(row) => self.good.push(row),
            Err(fault) => {
                self.bad += 1;
                if self.bad <= NAMED_AT_MOST {
                    self.named.push(fault);
                }
            }
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.good.is_empty() && self.bad == 0
    }

    /// The good rows, how many are bad, and what is wrong with the first of those.
    pub(crate) fn into_parts(self) -> (Vec<T>, usize, Vec<RowFault>) {
        (self.good, self.bad, self.named)
    }

    /// The rows, if there are any and none is bad.
    pub(crate) fn finish(self, field: &str) -> Result<Vec<T>, FieldError> {
        let (rows, count) = (Listed(self.named), self.bad);
        let fault = match count {
            0 if self.good.is_empty() => Fault::Empty,
            0 => return Ok(self.good),
            1 => Fault::BadRow(rows),
            2..=NAMED_AT_MOST => Fault::BadRows { count, rows },
            _ => Fault::MoreBadRows {
                count,
                rows,
                more: count - NAMED_AT_MOST,
            },
        };
        Err(FieldError::new(field, fault))
    }
}

/// A row of a file.
pub(crate) struct Record<'a> {
    /// As spreadsheets count.
    row: usize,
    columns: &'a csv::StringRecord,
    cells: &'a csv::StringRecord,
}

impl Record<'_> {
    /// The cell of a column, without spaces around it; empty if the file lacks the column.
    pub(crate) fn cell(&self, column: &str) -> &str {
        let at = self.columns.iter().position(|name| name == column);
        at.and_then(|at| self.cells.get(at))
            .unwrap_or_default()
            .trim()
    }

    /// The columns but these, with their cells.
    pub(crate) fn others(&self, known: &[&str]) -> impl Iterator<Item = (&str, &str)> {
        let cells = self.columns.iter().zip(self.cells);
        cells.filter(move |(column, _)| !known.contains(column))
    }

    /// A fault of one of its cells.
    pub(crate) fn of_cell(&self, fault: FieldError) -> RowFault {
        RowFault::Cell {
            row: self.row,
            fault: Box::new(fault),
        }
    }

    /// The fault of what its other columns hold.
    pub(crate) const fn of_metadata(&self, fault: Fault) -> RowFault {
        RowFault::Metadata {
            row: self.row,
            fault,
        }
    }
}

/// Reads a file of at most so many rows, whose first one names the columns, among them `needed`.
pub(crate) fn read<T>(
    file: &[u8],
    known: (&'static str, usize),
    read: impl FnMut(&Record<'_>) -> Result<T, RowFault>,
) -> Result<Vec<T>, FieldError> {
    read_rows(file, known, read)?.finish(FILE)
}

/// As [`read`], with the bad rows beside the good ones.
pub(crate) fn read_rows<T>(
    file: &[u8],
    (needed, most): (&'static str, usize),
    mut read: impl FnMut(&Record<'_>) -> Result<T, RowFault>,
) -> Result<Rows<T>, FieldError> {
    let fault = |fault: Fault| FieldError::new(FILE, fault);
    let file = file.strip_prefix(MARK.as_bytes()).unwrap_or(file);
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(true)
        .delimiter(delimiter(file))
        .from_reader(file);
    let columns = reader
        .headers()
        .map_err(|_| fault(Fault::ColumnsInUtf8))?
        .clone();
    if columns.iter().any(|column| column.contains('\0')) {
        return Err(fault(Fault::ColumnZero));
    }
    if !columns.iter().any(|column| column == needed) {
        return Err(fault(Fault::NoColumn(needed)));
    }
    for (at, column) in columns.iter().enumerate() {
        if column.is_empty() || columns.iter().take(at).any(|other| other == column) {
            return Err(fault(Fault::ColumnNames));
        }
    }
    let mut numbers = CsvRows::of(file);
    numbers.row_of(columns.as_byte_record());
    let mut rows = Rows::default();
    for (at, record) in reader.byte_records().enumerate() {
        if at >= most {
            return Err(fault(Fault::TooManyRows(most)));
        }
        let record = record.map_err(|_| fault(Fault::NotCsv))?;
        let row = numbers.row_of(&record);
        let fault = |fault| RowFault::Row { row, fault };
        let cells = csv::StringRecord::from_byte_record(record);
        rows.add(match cells {
            Err(_) => Err(fault(Fault::RowNotUtf8)),
            Ok(cells) if cells.len() != columns.len() => Err(fault(Fault::Cells {
                count: cells.len(),
                columns: columns.len(),
            })),
            Ok(cells) if cells.iter().any(|cell| cell.contains('\0')) => Err(fault(Fault::Zero)),
            Ok(cells) => read(&Record {
                row,
                columns: &columns,
                cells: &cells,
            }),
        });
    }
    Ok(rows)
}

/// The sign between a file's cells: the one that its first row has most of. Spreadsheets of some countries write semicolons,
/// and what is copied from one has tabs.
#[must_use]
pub fn delimiter(file: &[u8]) -> u8 {
    let mut lines = file.split(|byte| matches!(byte, b'\r' | b'\n'));
    let first = lines.next().unwrap_or_default();
    let of = |sign: &u8| first.iter().filter(|byte| *byte == sign).count();
    // Of signs that are as many, the last one.
    [b'\t', b';', b',']
        .into_iter()
        .max_by_key(of)
        .unwrap_or(b',')
}

/// Spreadsheets recognize UTF-8 by these first bytes.
pub const MARK: &str = "\u{feff}";

/// Lines of a file.
#[must_use]
pub fn written(lines: impl IntoIterator<Item = Vec<String>>) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        // Writing to memory does not fail.
        let _ = writer.write_record(line.into_iter().map(harmless));
    }
    writer.into_inner().unwrap_or_default()
}

/// A cell that no spreadsheet takes for a formula. A list of recipients that is uploaded loses the apostrophe again.
fn harmless(cell: String) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        return format!("'{cell}");
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_taken_for_a_formula() {
        let cells = [
            "=1+1",
            "+5215512345678",
            "-2",
            "@a",
            "\tx",
            "plain",
            "a=b",
            "'=1",
        ];
        let written = written([cells.map(str::to_owned).to_vec()]);
        assert_eq!(
            String::from_utf8(written).unwrap(),
            "'=1+1,'+5215512345678,'-2,'@a,'\tx,plain,a=b,'=1\n"
        );
    }
}
