//! The recipients of a batch, from JSON or a CSV file. Errors name every bad row.

use offhook_domain::json::{Fault, FieldError, Fields, Json, RowFault};
use offhook_domain::{E164, Metadata};

use super::csv_file::{self, Rows};

pub const RECIPIENTS_AT_MOST: usize = 10_000;

/// The column or member with the number.
const TO: &str = "to";

pub(super) struct Row {
    pub(super) to: E164,
    pub(super) metadata: Metadata,
}

pub(super) fn from_json(
    fields: &mut Fields<'_>,
    prefixes: &[String],
) -> Result<Vec<Row>, FieldError> {
    fields.required("recipients")?;
    let items = fields.optional_array("recipients", 1..=RECIPIENTS_AT_MOST)?;
    let mut rows = Rows::default();
    for (at, item) in items.unwrap_or_default().iter().enumerate() {
        let path = format!("recipients[{at}]");
        rows.add(recipient(item, &path, prefixes).map_err(|fault| RowFault::Item(Box::new(fault))));
    }
    rows.finish("recipients")
}

fn recipient(item: &Json, path: &str, prefixes: &[String]) -> Result<Row, FieldError> {
    let mut fields = Fields::of(item, path)?;
    let to = fields.required_string(TO, 1..=64)?;
    let to = number(to, prefixes).map_err(|fault| fields.fault(TO, fault))?;
    let metadata = match fields.present("metadata") {
        Some(json) => Metadata::from_json(json, &fields.path_of("metadata"))?,
        None => Metadata::empty(),
    };
    fields.finish()?;
    Ok(Row { to, metadata })
}

fn number(text: &str, prefixes: &[String]) -> Result<E164, Fault> {
    let to: E164 = text.parse().map_err(Fault::Phone)?;
    if !prefixes.is_empty() && !prefixes.iter().any(|p| to.as_str().starts_with(p.as_str())) {
        return Err(Fault::Prefixes(prefixes.join(", ")));
    }
    Ok(to)
}

pub(super) fn from_csv(file: &[u8], prefixes: &[String]) -> Result<Vec<Row>, FieldError> {
    csv_file::read(file, (TO, RECIPIENTS_AT_MOST), |record| {
        let to = number(record.cell(TO), prefixes);
        let to = to.map_err(|fault| record.of_cell(FieldError::new(TO, fault)))?;
        let members = record.others(&[TO]);
        let members = members.map(|(name, cell)| (name.to_owned(), Json::String(cell.to_owned())));
        let json = Json::Object(members.collect());
        let metadata =
            Metadata::from_json(&json, "").map_err(|fault| match fault.path.as_str() {
                "" => record.of_metadata(fault.fault),
                _ => record.of_cell(fault),
            })?;
        Ok(Row { to, metadata })
    })
}

#[cfg(test)]
mod tests {
    use offhook_domain::messages::Message as _;

    use super::*;

    fn csv(file: &str) -> Result<Vec<Row>, String> {
        from_csv(file.as_bytes(), &[]).map_err(|fault| fault.to_string())
    }

    fn refused(file: &str) -> String {
        csv(file).err().unwrap_or_default()
    }

    #[test]
    fn a_column_is_a_variable() {
        let rows =
            csv("\u{feff}name,to,note\n\"Ana, \"\"A\"\"\",+5215512345678,\nBea,+5215512345679,x\n");
        let rows = rows.unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].to.as_str(), "+5215512345678");
        assert_eq!(
            rows[0].metadata.as_json_text(),
            r#"{"name":"Ana, \"A\"","note":""}"#
        );
    }

    #[test]
    fn every_bad_row_is_named_and_beyond_a_hundred_they_are_counted() {
        assert_eq!(
            refused("to,name\n5215512345678,Ana\n+5215512345679,Bea\n+52155,Eva,x\n"),
            "`file`: 2 bad rows; row 2: `to`: must begin with `+` and the country code, such as +5215512345678; row \
             4: has 3 cells in place of 2"
        );
        let many = format!("to\n{}", "x\n".repeat(150));
        let message = refused(&many);
        assert!(
            message.starts_with("`file`: 150 bad rows; row 2: "),
            "{message}"
        );
        assert!(message.contains("; row 101: "), "{message}");
        assert!(!message.contains("; row 102: "), "{message}");
        assert!(message.ends_with("; and 50 more"), "{message}");
    }

    #[test]
    fn bad_rows_are_named_in_spanish_too() {
        let long = format!("to,note\n12,\n+5215512345678,{}\n", "x".repeat(2_001));
        let fault = from_csv(long.as_bytes(), &[]).err().unwrap();
        assert_eq!(
            fault.spanish(),
            "`file`: 2 filas con errores; fila 2: `to`: debe comenzar con `+` y el código del país, como \
             +5215512345678; fila 3: `note`: tiene más de 2000 caracteres"
        );
    }

    #[test]
    fn a_bad_row_is_named_as_spreadsheets_count() {
        let message = refused("to\n+5215512345678\n\n\n12\n");
        assert!(
            message.starts_with("`file`: 1 bad row; row 5: "),
            "{message}"
        );
        let message = refused("\nto,note\n+5215512345678,\"one\ntwo\"\n12,\n");
        assert!(
            message.starts_with("`file`: 1 bad row; row 4: "),
            "{message}"
        );
        let file = b"to\n+5215512345678\n\n\xff\n";
        let message = from_csv(file, &[]).err().map(|fault| fault.to_string());
        assert_eq!(
            message.as_deref(),
            Some("`file`: 1 bad row; row 4: is not UTF-8")
        );
    }

    #[test]
    fn no_cell_and_no_name_of_a_column_has_a_zero() {
        for (file, message) in [
            (
                "to,a\0b\n+5215512345678,x\n",
                "the first row must not contain U+0000",
            ),
            (
                "to,a\n+5215512345678,x\0\n",
                "1 bad row; row 2: must not contain U+0000",
            ),
        ] {
            assert_eq!(refused(file), format!("`file`: {message}"));
        }
    }

    #[test]
    fn a_file_without_recipients_or_names_is_refused() {
        for (file, message) in [
            (
                "",
                "`file`: the first row must name the columns, one of them `to`",
            ),
            (
                "number\n+5215512345678\n",
                "`file`: the first row must name the columns, one of them `to`",
            ),
            ("to\n", "`file`: must not be empty"),
            (
                "to,,x\n",
                "`file`: each column needs a name of its own in the first row",
            ),
            (
                "to,x,x\n",
                "`file`: each column needs a name of its own in the first row",
            ),
        ] {
            assert_eq!(refused(file), message);
        }
        let many = format!("to\n{}", "+5215512345678\n".repeat(10_001));
        assert_eq!(refused(&many), "`file`: more than 10000 rows");
    }
}
