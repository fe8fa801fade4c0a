//! Google Sheets, API v4: the values of one spreadsheet. It follows
//! <https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values>.

use serde_json::{Value, json};

use super::oauth::{Authority, Fake};
use crate::upstream::{Answer, ReceivedRequest};

/// The path of its API.
pub const API_PATH: &str = "/v4";

/// The id of its spreadsheet.
pub const SPREADSHEET: &str = "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms";

/// The name of its sheet.
pub const SHEET: &str = "Zoe's leads";

const SCOPE: &str = "https://www.googleapis.com/auth/spreadsheets";

pub struct State {
    rows: Vec<Vec<String>>,
}

/// A running fake of Google Sheets.
pub type FakeSheets = Fake<State>;

/// The path of reads.
pub const READ_PATH: &str =
    "/v4/spreadsheets/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/values:batchGet";

/// The path for appending to the sheet.
pub const APPEND_PATH: &str = "/v4/spreadsheets/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/values/%27Zoe%27%27s%20leads%27%21A1:append";

impl FakeSheets {
    /// A spreadsheet with these rows, of which the first names the columns.
    pub async fn start(rows: &[&[&str]]) -> Self {
        let row = |row: &&[&str]| row.iter().map(|&cell| cell.to_owned()).collect();
        let state = State {
            rows: rows.iter().map(row).collect(),
        };
        let stranger = error(401, "UNAUTHENTICATED");
        Authority::of(&[SCOPE])
            .guard(state, stranger, answered)
            .await
    }

    /// Every row.
    pub fn rows(&self) -> Vec<Vec<String>> {
        self.state.lock().rows.clone()
    }
}

fn answered(asked: &ReceivedRequest, state: &mut State, authority: &Authority) -> Answer {
    if !authority.may(SCOPE) {
        return error(403, "PERMISSION_DENIED");
    }
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", READ_PATH) => {
            let asked = asked.parameters();
            let ranges = asked.iter().filter(|(name, _)| name == "ranges");
            let found = ranges.map(|(_, range)| cells(range, state));
            let found: Option<Vec<Value>> = found.collect();
            match found {
                Some(found) => Answer::json(200, &json!({"valueRanges": found})),
                None => error(400, "INVALID_ARGUMENT"),
            }
        }
        ("POST", APPEND_PATH) => {
            let body = asked.json();
            let cells = body["values"][0].as_array().cloned().unwrap_or_default();
            let is_raw = match asked.parameter("valueInputOption").as_deref() {
                Some("RAW") => true,
                Some("USER_ENTERED") => false,
                _ => return error(400, "INVALID_ARGUMENT"),
            };
            let entered = |cell: &Value| match cell.as_str().unwrap_or_default() {
                formula if !is_raw && formula.starts_with('=') => "#REF!".to_owned(),
                text => text.to_owned(),
            };
            state.rows.push(cells.iter().map(entered).collect());
            let number = state.rows.len();
            let updated = json!({"updatedRange": format!("{SHEET}!A{number}")});
            Answer::json(200, &json!({"updates": updated}))
        }
        _ => error(404, "NOT_FOUND"),
    }
}

/// The cells of `1:1`, or of a column from the second row on.
fn cells(range: &str, state: &State) -> Option<Value> {
    let (sheet, cells) = range.rsplit_once('!').unwrap_or(("", range));
    if !sheet.is_empty() && sheet != format!("'{}'", SHEET.replace('\'', "''")) {
        return None;
    }
    let (from, to) = cells.split_once(':')?;
    let found: Vec<Vec<String>> = match (from.parse::<usize>(), to.parse::<usize>()) {
        (Ok(from), Ok(to)) => {
            let rows = state.rows.iter().take(to).skip(from.checked_sub(1)?);
            rows.cloned().collect()
        }
        _ => {
            let at = usize::from(to.bytes().next()?.checked_sub(b'A')?);
            let rows = state.rows.iter().skip(1);
            rows.map(|row| row.get(at).cloned().into_iter().collect())
                .collect()
        }
    };
    // Google leaves out what is empty.
    Some(if found.is_empty() {
        json!({})
    } else {
        json!({"values": found})
    })
}

fn error(status: u16, name: &str) -> Answer {
    let words = crate::upstream::UPSTREAM_WORDS;
    Answer::json(
        status,
        &json!({"error": {"code": status, "status": name, "message": words}}),
    )
}
