//! The CSV file of a batch. Reading never panics, and an accepted file reads the same from a plain rewriting of it.

#[expect(dead_code, reason = "the target needs less than the service")]
#[path = "../../../crates/services/src/csv_file/mod.rs"]
mod csv_file;
#[expect(dead_code, reason = "the target needs less than the service")]
#[path = "../../../crates/services/src/batches/recipients.rs"]
mod recipients;

pub(crate) fn run(data: &[u8]) {
    let Ok(rows) = recipients::from_csv(data, &[]) else {
        return;
    };
    assert!((1..=10_000).contains(&rows.len()));
    let mut names = vec!["to".to_owned()];
    names.extend(
        rows[0]
            .metadata
            .variables()
            .into_iter()
            .map(|(name, _)| name),
    );
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&names).expect("a row");
    for row in &rows {
        let values = row.metadata.variables().into_iter().map(|(_, value)| value);
        let cells = std::iter::once(row.to.as_str().to_owned()).chain(values);
        writer.write_record(cells).expect("as many cells as names");
    }
    let file = writer.into_inner().expect("a file");
    let again = recipients::from_csv(&file, &[]).expect("its own rewriting");
    assert_eq!(again.len(), rows.len());
    for (again, row) in again.iter().zip(&rows) {
        assert_eq!(again.to, row.to);
        assert_eq!(again.metadata.as_json_text(), row.metadata.as_json_text());
    }
}
