//! Records the API's responses in the tests: each pair of status code and error code of each operation. A full run
//! compares them with the OpenAPI document (`scripts/seen`).

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use parking_lot::Mutex;
use serde_json::Value;

/// The variable with the directory where each test process writes a file of lines `OPERATION STATUS CODE`. The code
/// is `-` if the response is not an error. Without the variable nothing is written.
pub const SEEN_VARIABLE: &str = "OFFHOOK_TEST_SEEN";

static DIRECTORY: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os(SEEN_VARIABLE).map(PathBuf::from));
static WRITTEN: LazyLock<Mutex<BTreeSet<String>>> = LazyLock::new(Mutex::default);

/// The API as its OpenAPI document describes it.
#[derive(Debug)]
pub struct Interface(Value);

impl Interface {
    pub const fn new(document: Value) -> Self {
        Self(document)
    }

    pub const fn document(&self) -> &Value {
        &self.0
    }

    /// Each operation: its method in upper case, its path with `{id}` for ids, and its description.
    pub fn operations(&self) -> impl Iterator<Item = (String, &str, &Value)> {
        let paths = self.0["paths"].as_object().into_iter().flatten();
        paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods
                .map(move |(method, operation)| (method.to_uppercase(), path.as_str(), operation))
        })
    }

    /// The operation of a request, if there is one. Fixed paths come before those with an id in the same place.
    pub fn operation(&self, method: &str, path: &str) -> Option<&Value> {
        let paths = self.0["paths"].as_object()?;
        let fixed = paths.iter().find(|(pattern, _)| *pattern == path);
        let found = fixed.or_else(|| paths.iter().find(|(pattern, _)| matches(pattern, path)));
        found?.1.get(method.to_lowercase())
    }

    /// Records the response to a request.
    ///
    /// # Panics
    /// If the directory of [`SEEN_VARIABLE`] cannot be written to.
    pub fn saw(&self, method: &str, target: &str, status: u16, body: &[u8]) {
        let Some(directory) = &*DIRECTORY else {
            return;
        };
        let path = target.split('?').next().unwrap_or_default();
        let Some(operation) = self.operation(method, path) else {
            return;
        };
        let id = operation["operationId"].as_str().unwrap_or_default();
        let code = error_code(status, body);
        let line = format!("{id} {status} {}\n", code.as_deref().unwrap_or("-"));
        let mut written = WRITTEN.lock();
        if written.insert(line.clone()) {
            let mut open = std::fs::OpenOptions::new();
            let file = open.append(true).create(true);
            let file = file.open(directory.join(std::process::id().to_string()));
            let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
            written.unwrap_or_else(|error| panic!("{SEEN_VARIABLE}: {error}"));
        }
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let (mut ours, mut theirs) = (pattern.split('/'), path.split('/'));
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return true,
            (Some(part), Some(value)) if part.starts_with('{') && !value.is_empty() => {}
            (Some(part), Some(value)) if part == value => {}
            _ => return false,
        }
    }
}

fn error_code(status: u16, body: &[u8]) -> Option<String> {
    let body: Value = (status >= 400).then(|| serde_json::from_slice(body).ok())??;
    body["error"].as_str().map(str::to_owned)
}
