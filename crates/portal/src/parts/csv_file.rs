//! CSV files for spreadsheets.

/// Spreadsheets recognize UTF-8 by these first bytes.
pub(crate) const MARK: &str = "\u{feff}";

/// Lines of a file.
pub(crate) fn written(lines: impl IntoIterator<Item = Vec<String>>) -> Vec<u8> {
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
