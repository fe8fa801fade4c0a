//! Google Sheets (API v4): looks up rows by the value of a column, and appends rows. The first row names the columns,
//! of which those up to Z are known.
//!
//! Values are written `RAW`: words of a customer that begin with `=` stay words, and become no formula that reads other
//! cells or fetches a URL (<https://developers.google.com/workspace/sheets/api/reference/rest/v4/ValueInputOption>).
//! The scope `drive.file` reaches only files that the client made or that were chosen in Google's own picker, so it
//! takes `spreadsheets` (<https://developers.google.com/workspace/sheets/api/scopes>). There is no idempotency key.

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use offhook_domain::ports::FunctionError;
use offhook_domain::tool::HttpMethod;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::form_urlencoded::byte_serialize;

use super::api::{Api, Fault, Result, message, read};
use super::calendar::GOOGLE;
use super::oauth::OAuth;
use super::{Definition, Function, cut};

const FIND_ROWS: &str = "find_rows";
const APPEND_ROW: &str = "append_row";

const PATH: &str = "spreadsheets";

/// Rows in an answer at most.
const ROWS: usize = 5;

/// Characters of each cell at most.
const CELL: usize = 100;

pub(super) const DEFINITION: Definition = Definition {
    toolkit: "google_sheets",
    name: "spreadsheet",
    oauth: OAuth {
        scopes: &["https://www.googleapis.com/auth/spreadsheets"],
        ..GOOGLE
    },
    api_url: "https://sheets.googleapis.com/v4",
    functions: &[
        Function {
            name: FIND_ROWS,
            description: "Looks up rows of a spreadsheet by the value of a column, or its first rows.",
            parameters: FIND_ROWS_SCHEMA,
            method: HttpMethod::Get,
            path: PATH,
        },
        Function {
            name: APPEND_ROW,
            description: "Appends a row to a spreadsheet. Use it once for each thing that is to be written down.",
            parameters: APPEND_ROW_SCHEMA,
            method: HttpMethod::Post,
            path: PATH,
        },
    ],
    call: |api, call| {
        async move {
            match call.function {
                FIND_ROWS => find_rows(api, read(call)?).await,
                APPEND_ROW => append_row(api, read(call)?).await,
                _ => Err(api.no_such_function()),
            }
        }
        .boxed()
    },
};

const FIND_ROWS_SCHEMA: &str = r#"{"type":"object","properties":{
"spreadsheet_id":{"type":"string","pattern":"^[A-Za-z0-9_-]{10,120}$","description":"The id between /d/ and /edit in the spreadsheet's address"},
"sheet":{"type":"string","minLength":1,"maxLength":100,"description":"The name of the sheet; the first one if left out"},
"column":{"type":"string","maxLength":200,"description":"The name of the column to search; the first rows if left out"},
"value":{"type":"string","maxLength":500,"description":"The whole value of that column's cell"}},
"required":["spreadsheet_id"],"additionalProperties":false}"#;

const APPEND_ROW_SCHEMA: &str = r#"{"type":"object","properties":{
"spreadsheet_id":{"type":"string","pattern":"^[A-Za-z0-9_-]{10,120}$","description":"The id between /d/ and /edit in the spreadsheet's address"},
"sheet":{"type":"string","minLength":1,"maxLength":100,"description":"The name of the sheet; the first one if left out"},
"values":{"type":"object","minProperties":1,"maxProperties":50,"additionalProperties":{"type":"string","maxLength":2000},"description":"Each column's name, with its value"}},
"required":["spreadsheet_id","values"],"additionalProperties":false}"#;

#[derive(Deserialize)]
struct Find {
    spreadsheet_id: String,
    sheet: Option<String>,
    column: Option<String>,
    value: Option<String>,
}

#[derive(Deserialize)]
struct Row {
    spreadsheet_id: String,
    sheet: Option<String>,
    values: BTreeMap<String, String>,
}

/// The answer of `GET spreadsheets/{id}/values:batchGet`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Values {
    value_ranges: Vec<Range>,
}

/// Its rows, without the empty ones at the end.
#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    values: Vec<Vec<String>>,
}

/// The answer of `POST spreadsheets/{id}/values/{range}:append`.
#[derive(Deserialize)]
struct Appended {
    updates: Map<String, Value>,
}

/// A sheet of a spreadsheet; the first one if it has no name.
#[derive(Clone, Copy)]
struct Sheet<'a> {
    api: Api<'a>,
    id: &'a str,
    name: Option<&'a str>,
}

impl Sheet<'_> {
    /// Cells in A1 notation, such as `2:2`.
    fn range(&self, cells: &str) -> String {
        match self.name {
            Some(name) => format!("'{}'!{cells}", name.replace('\'', "''")),
            None => cells.to_owned(),
        }
    }

    /// The rows of each of these ranges.
    async fn rows(&self, cells: &[String]) -> Result<Vec<Vec<Vec<String>>>> {
        let ranges: Vec<String> = cells.iter().map(|cells| self.range(cells)).collect();
        let mut query = vec![("fields", "valueRanges.values")];
        query.extend(ranges.iter().map(|range| ("ranges", range.as_str())));
        let path = format!("{PATH}/{}/values:batchGet", self.id);
        let found: Result<Values, Fault> = self.api.get(&path, &query).await;
        let found = found.map_err(|fault| self.api.not_read(fault))?;
        let rows = found.value_ranges.into_iter().map(|range| range.values);
        Ok(rows.collect())
    }

    /// The names of the columns A to Z.
    async fn columns(&self) -> Result<Vec<String>> {
        let first = self.rows(&["1:1".to_owned()]).await?;
        let names = first.into_iter().flatten().next().unwrap_or_default();
        Ok(names.into_iter().take(26).collect())
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

fn no_column(name: &str, columns: &[String]) -> FunctionError {
    let columns: Vec<&str> = columns.iter().map(|name| cut(name, CELL)).collect();
    let columns = columns.join(", ");
    message(&format!(
        "There is no column {}: nothing was done. The columns are: {columns}.",
        cut(name, CELL)
    ))
}

async fn find_rows(api: Api<'_>, find: Find) -> Result<String> {
    let sheet = Sheet {
        api,
        id: &find.spreadsheet_id,
        name: find.sheet.as_deref(),
    };
    let columns = sheet.columns().await?;
    let (total, ranges) = match (&find.column, &find.value) {
        (Some(column), Some(value)) => {
            let mut letters = ('A'..='Z').zip(&columns);
            let found = letters.find(|(_, name)| is_same(name, column));
            let (letter, _) = found.ok_or_else(|| no_column(column, &columns))?;
            let cells = sheet.rows(&[format!("{letter}2:{letter}")]).await?;
            let cells = cells.iter().flatten().zip(2..);
            let found = cells.filter(|(cells, _)| cells.iter().any(|cell| is_same(cell, value)));
            let rows: Vec<String> = found.map(|(_, row)| format!("{row}:{row}")).collect();
            (Some(rows.len()), rows.into_iter().take(ROWS).collect())
        }
        (None, None) => (None, vec![format!("2:{}", ROWS + 1)]),
        _ => return Err(message("Give both `column` and `value`, or neither.")),
    };
    let rows = match ranges.is_empty() {
        true => Vec::new(),
        false => sheet.rows(&ranges).await?,
    };
    let row = |cells: &Vec<String>| {
        let cells = columns.iter().zip(cells);
        let told = cells.map(|(name, cell)| (cut(name, CELL).to_owned(), cut(cell, CELL).into()));
        told.collect::<Map<String, Value>>()
    };
    let rows: Vec<_> = rows.iter().flatten().map(row).collect();
    // Not known of the first rows.
    Ok(json!({"total": total, "rows": rows}).to_string())
}

async fn append_row(api: Api<'_>, row: Row) -> Result<String> {
    let sheet = Sheet {
        api,
        id: &row.spreadsheet_id,
        name: row.sheet.as_deref(),
    };
    let columns = sheet.columns().await?;
    let is_known = |name: &&String| columns.iter().any(|column| is_same(column, name));
    if let Some(name) = row.values.keys().find(|name| !is_known(name)) {
        return Err(no_column(name, &columns));
    }
    let cell = |column: &String| {
        let mut values = row.values.iter();
        let value = values.find(|(name, _)| is_same(name, column));
        value.map_or("", |(_, value)| value)
    };
    let cells: Vec<_> = columns.iter().map(cell).collect();
    let range: String = byte_serialize(sheet.range("A1").as_bytes()).collect();
    // In a path, a space is no plus sign.
    let path = format!(
        "{PATH}/{}/values/{}:append",
        sheet.id,
        range.replace('+', "%20")
    );
    let query = [
        ("valueInputOption", "RAW"),
        ("insertDataOption", "INSERT_ROWS"),
        ("fields", "updates.updatedRange"),
    ];
    let made: Result<Appended, Fault> = api.post(&path, &query, &json!({"values": [cells]})).await;
    let made = made.map_err(|fault| api.not_done("written", &fault))?;
    let range = made.updates.get("updatedRange").and_then(Value::as_str);
    let range = range.map(|range| cut(range, CELL));
    Ok(json!({"appended": true, "range": range}).to_string())
}
