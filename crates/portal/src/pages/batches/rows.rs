//! The uploaded list of people: a CSV file of any dialect, converted to the form that batches take.

use std::collections::HashSet;

use offhook_services::RECIPIENTS_AT_MOST;
use offhook_services::csv_file::{CsvRows, delimiter};

use crate::parts::words::count;
use crate::prelude::*;

/// Rows shown in the review.
const SHOWN: usize = 10;

/// Faults that are named.
const NAMED: usize = 20;

/// The name that batches give to the phone number column.
const TO: &str = "to";

/// Usual names of the phone number column.
const USUAL: [&str; 10] = [
    "to",
    "phone",
    "phone_number",
    "number",
    "mobile",
    "telefono",
    "teléfono",
    "numero",
    "número",
    "celular",
];

/// A list of people.
pub(super) struct Rows {
    /// The names of the columns.
    pub(super) columns: Vec<String>,
    /// The row of the names, as spreadsheets count.
    head: usize,
    records: Vec<Record>,
}

/// A person of the list.
struct Record {
    /// As spreadsheets count.
    row: usize,
    cells: Vec<String>,
}

/// The findings of a review.
pub(super) struct Look {
    /// The first rows, each with what is wrong with its number.
    pub(super) first: Vec<(Vec<String>, Option<E164Error>)>,
    /// How many there are.
    pub(super) total: usize,
    /// The rows whose number cannot be called, as spreadsheets count, the first of them.
    pub(super) bad: Vec<usize>,
    /// How many these are.
    pub(super) bad_total: usize,
    /// How many rows repeat the number of an earlier row.
    pub(super) repeated: usize,
}

/// The most columns of a file: each is shown and offered as a variable.
const COLUMNS: usize = 200;

impl Rows {
    /// Reads a file with commas, semicolons or tabs between its cells.
    ///
    /// # Errors
    /// A sentence for the page.
    pub(super) fn read(file: &[u8], t: Lang) -> Result<Self, String> {
        let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
        let Ok(text) = std::str::from_utf8(file) else {
            return Err(not_utf8(t).to_owned());
        };
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .delimiter(delimiter(file))
            .from_reader(text.as_bytes());
        let unreadable = |_| {
            text!(
                t,
                "The file cannot be read as CSV.",
                "El archivo no se puede leer como CSV."
            )
        };
        let columns = reader.headers().map_err(unreadable)?;
        let mut numbers = CsvRows::of(file);
        let head = numbers.row_of(columns.as_byte_record());
        let columns: Vec<String> = columns.iter().map(|name| name.trim().to_owned()).collect();
        if columns.len() > COLUMNS {
            return Err(text!(
                t,
                "The first row has {} columns; the limit is {COLUMNS}.",
                "La primera fila tiene {} columnas; el límite es {COLUMNS}.",
                columns.len()
            ));
        }
        let mut records = Vec::new();
        let mut uneven = Vec::new();
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            if records.len() == RECIPIENTS_AT_MOST {
                let most = count(i64::try_from(RECIPIENTS_AT_MOST).unwrap_or(i64::MAX));
                return Err(text!(
                    t,
                    "The list has more than {most} people. Split it and create a batch for each part.",
                    "La lista tiene más de {most} personas. Divídela y crea un lote por cada parte."
                ));
            }
            let row = numbers.row_of(record.as_byte_record());
            if record.len() != columns.len() && uneven.len() < NAMED {
                uneven.push(row.to_string());
            }
            let cells = record.iter().map(str::to_owned).collect();
            records.push(Record { row, cells });
        }
        if !uneven.is_empty() {
            let rows = uneven.join(", ");
            return Err(text!(
                t,
                "These rows have more or fewer cells than the first row: {rows}.",
                "Estas filas tienen más o menos celdas que la primera fila: {rows}."
            ));
        }
        if records.is_empty() {
            return Err(text!(
                t,
                "The file has no people. The first row names the columns; each row after it is a person to call.",
                "El archivo no tiene personas. La primera fila nombra las columnas; cada fila siguiente es una persona por llamar."
            ));
        }
        Ok(Self {
            columns,
            head,
            records,
        })
    }

    /// The column that most likely holds the numbers.
    pub(super) fn likely(&self) -> usize {
        let of_name = |name: &str| {
            let mut columns = self.columns.iter();
            columns.position(|column| column.to_lowercase() == name)
        };
        let is_number = |cell: &String| number(cell).parse::<E164>().is_ok();
        let of_content = || self.records.first()?.cells.iter().position(is_number);
        let named = USUAL.into_iter().find_map(of_name);
        named.or_else(of_content).unwrap_or(0)
    }

    /// The columns that can become variables besides the numbers in column `to`: each has a unique name.
    pub(super) fn variables(&self, to: usize) -> Vec<usize> {
        let mut names = HashSet::from(["", TO]);
        let columns = self.columns.iter().enumerate();
        let named = columns.filter(|(at, name)| *at != to && names.insert(name));
        named.map(|(at, _)| at).collect()
    }

    /// Reviews the list, with the numbers in column `to`.
    pub(super) fn look(&self, to: usize) -> Look {
        let mut seen = HashSet::new();
        let mut look = Look {
            first: Vec::new(),
            total: self.records.len(),
            bad: Vec::new(),
            bad_total: 0,
            repeated: 0,
        };
        for (at, record) in self.records.iter().enumerate() {
            let number = record.number(to);
            let fault = number.parse::<E164>().err();
            if fault.is_some() {
                look.bad_total += 1;
                if look.bad.len() < NAMED {
                    look.bad.push(record.row);
                }
            } else if !seen.insert(number) {
                look.repeated += 1;
            }
            if at < SHOWN {
                look.first.push((record.cells.clone(), fault));
            }
        }
        look
    }

    /// The list as batches take it: the numbers in a column `to`, and of the others those that are `kept`. Rows keep their
    /// position, so that a refusal names the same row as the uploaded file.
    pub(super) fn sent(&self, to: usize, kept: &[usize]) -> Vec<u8> {
        let mut sent = Vec::new();
        let mut next = 1;
        let others = |row: &[String]| -> Vec<String> {
            let cells = kept.iter().filter(|at| **at != to);
            cells.filter_map(|at| row.get(*at).cloned()).collect()
        };
        let mut add = |row: usize, first: String, rest: Vec<String>| {
            sent.resize(sent.len() + row.saturating_sub(next), b'\n');
            next = row + 1;
            let mut writer = csv::Writer::from_writer(&mut sent);
            // Writing to memory does not fail.
            let _ = writer.write_record(std::iter::once(first).chain(rest));
        };
        add(self.head, TO.to_owned(), others(&self.columns));
        for record in &self.records {
            add(record.row, record.number(to), others(&record.cells));
        }
        sent
    }
}

pub(in crate::pages) const fn not_utf8(t: Lang) -> &'static str {
    t.t(
        "The file is not in UTF-8. Save it as \"CSV UTF-8\" and choose it again.",
        "El archivo no está en UTF-8. Guárdalo como \"CSV UTF-8\" y elígelo de nuevo.",
    )
}

impl Record {
    /// The number in the column `to`.
    fn number(&self, to: usize) -> String {
        number(self.cells.get(to).map_or("", String::as_str))
    }
}

/// A number without the separators that people and spreadsheets add, and without the apostrophe of downloaded results.
fn number(cell: &str) -> String {
    let cell = cell.trim();
    let cell = cell.strip_prefix('\'').unwrap_or(cell);
    let is_number = |sign: &char| !matches!(sign, ' ' | '-' | '(' | ')' | '.' | '\u{a0}');
    cell.chars().filter(is_number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(file: &str) -> Rows {
        Rows::read(file.as_bytes(), Lang::En)
            .map_err(|message| panic!("{message}"))
            .unwrap()
    }

    fn refused(file: &[u8]) -> String {
        Rows::read(file, Lang::En).err().unwrap_or_default()
    }

    #[test]
    fn a_spreadsheet_of_any_make_becomes_what_batches_take() {
        let rows = rows(
            "\u{feff}Nombre;Teléfono;Nota;Interno\n\"Ana; A\";+52 155 1234-5678;hola, sí;x\nBea;'+5215512345679;;y\n",
        );
        assert_eq!(rows.likely(), 1);
        let sent = String::from_utf8(rows.sent(1, &[0, 1, 2])).unwrap();
        assert_eq!(
            sent,
            "to,Nombre,Nota\n+5215512345678,Ana; A,\"hola, sí\"\n+5215512345679,Bea,\n"
        );
    }

    #[test]
    fn the_column_of_numbers_is_found_by_what_it_holds() {
        assert_eq!(rows("a,b\nAna,+5215512345678\n").likely(), 1);
        assert_eq!(rows("a,b\nAna,Bea\n").likely(), 0);
    }

    #[test]
    fn bad_and_repeated_numbers_are_seen_before_anybody_is_called() {
        let look = rows("to\n+5215512345678\n12\n+52 155 12345678\n").look(0);
        assert_eq!(
            (look.total, look.bad, look.bad_total, look.repeated),
            (3, vec![3], 1, 1)
        );
        assert_eq!(look.first.len(), 3);
        assert!(look.first[1].1.is_some());
    }

    #[test]
    fn rows_are_named_as_spreadsheets_count_them_and_sent_where_they_were() {
        let file = "to,note\n+5215512345678,\"one\ntwo\"\n\n\n12,\n";
        let look = rows(file).look(0);
        assert_eq!(look.bad, [5]);
        assert_eq!(String::from_utf8(rows(file).sent(0, &[1])).unwrap(), file);
        assert!(refused(b"to,name\n\n+5215512345678\n").ends_with("than the first row: 3."));
    }

    #[test]
    fn more_people_than_a_batch_takes_are_too_many() {
        let list = |people: usize| format!("to\n{}", "+5215512345678\n".repeat(people));
        assert_eq!(rows(&list(10_000)).look(0).total, 10_000);
        assert_eq!(
            refused(list(10_001).as_bytes()),
            "The list has more than 10,000 people. Split it and create a batch for each part."
        );
    }

    #[test]
    fn what_is_no_list_is_refused_in_plain_words() {
        assert!(refused(b"to\n").starts_with("The file has no people."));
        assert!(refused(b"").starts_with("The file has no people."));
        assert!(refused(b"to\n\xff\xfe\n").starts_with("The file is not in UTF-8."));
        assert_eq!(
            refused(b"to,name\n+5215512345678,Ana\n+5215512345679\n"),
            "These rows have more or fewer cells than the first row: 3."
        );
    }
}
