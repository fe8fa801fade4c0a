//! Tools: what an agent may do besides speaking.

mod read;

#[cfg(test)]
mod tests;

use crate::E164;
use crate::agent::vocabulary;
use crate::json::{Json, Result};

/// Tools of an account at most.
pub const TOOLS_AT_MOST: i64 = 64;

/// What is shown in place of a header's value.
pub const HIDDEN: &str = "***";

vocabulary! {
    /// What a tool does.
    ToolKind {
        /// Asks a server of the account's.
        Http => "http",
        /// Ends the call.
        EndCall => "end_call",
        /// Hands the customer over to one of its targets.
        Transfer => "transfer",
        /// Sends tones.
        Dtmf => "dtmf",
    }
}

vocabulary! {
    /// How a tool asks.
    HttpMethod {
        /// Arguments go to the query.
        Get => "GET",
        /// Arguments go to the body.
        Post => "POST",
        /// Arguments go to the body.
        Put => "PUT",
        /// Arguments go to the body.
        Patch => "PATCH",
        /// Arguments go to the query.
        Delete => "DELETE",
    }
}

impl HttpMethod {
    /// Whether arguments go to the query, and not to the body.
    #[must_use]
    pub const fn asks_by_query(self) -> bool {
        matches!(self, Self::Get | Self::Delete)
    }
}

/// A tool: every member of its object but the id and the times. Header values are kept apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// What models call it by; unique in the account.
    pub name: String,
    /// What it is for, told to models.
    pub description: String,
    /// What it does.
    pub kind: ToolKind,
    /// The JSON Schema of its arguments.
    pub parameters: Json,
    /// Whom an `http` tool asks.
    pub http: Option<HttpRequest>,
    /// To whom a `transfer` tool hands over.
    pub targets: Option<Vec<TransferTarget>>,
    /// Which function of a connected application an `http` tool is, if it is one: `<toolkit>.<function>`. Only the
    /// service sets it; it is stored and pinned, and shown to nobody.
    pub function: Option<String>,
}

/// Whom an `http` tool asks, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRequest {
    /// The method.
    pub method: HttpMethod,
    /// The URL, fixed text.
    pub url: String,
    /// The names of the headers.
    pub headers: Vec<String>,
    /// How long an answer may take, 100–10,000 ms.
    pub timeout_ms: i64,
}

/// One of the numbers that a `transfer` tool may hand over to.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferTarget {
    /// What models call it by.
    pub name: String,
    /// Its number.
    pub to: E164,
}

/// A header's name and value.
pub type Header = (String, String);

impl Tool {
    /// Reads a tool that a client sent, and the values of its headers. `kept` are those that are known already: a
    /// header whose value is `***` keeps its own.
    ///
    /// # Errors
    /// The first fault in the object's order, then the first unknown field. What the URL may be, and whether
    /// `parameters` is a schema, is not judged here.
    pub fn from_json(json: &Json, kept: &[Header]) -> Result<(Self, Vec<Header>)> {
        read::tool(json, kept)
    }

    /// This tool changed by a merge patch (RFC 7396), and the values of its headers.
    ///
    /// # Errors
    /// As [`Tool::from_json`].
    pub fn merge(&self, patch: &Json, kept: &[Header]) -> Result<(Self, Vec<Header>)> {
        read::merged(self, patch, kept)
    }

    /// Reads the text that [`Tool::to_stored`] gave to storage.
    ///
    /// # Errors
    /// The text is no tool.
    pub fn from_stored(text: &str) -> Result<Self, crate::JsonError> {
        Ok(read::stored(&Json::parse(text.as_bytes())?)?)
    }

    /// The text that is stored: every member, the function of an application included.
    #[must_use]
    pub fn to_stored(&self) -> String {
        let mut json = self.to_json();
        if let (Json::Object(members), Some(function)) = (&mut json, &self.function) {
            members.push((read::FUNCTION.to_owned(), Json::from(function.as_str())));
        }
        json.to_compact()
    }

    /// Every member but the id and the times, in the object's order; header values are hidden.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let http = self.http.as_ref().map(|http| {
            let headers = http.headers.iter();
            let headers = headers.map(|name| (name.as_str(), Json::from(HIDDEN)));
            Json::object([
                ("method", Json::from(http.method.as_str())),
                ("url", Json::from(http.url.as_str())),
                ("headers", Json::object(headers)),
                ("timeout_ms", Json::from(http.timeout_ms)),
            ])
        });
        let transfer = self.targets.as_ref().map(|targets| {
            let target = |target: &TransferTarget| {
                Json::object([
                    ("name", Json::from(target.name.as_str())),
                    ("to", Json::from(target.to.as_str())),
                ])
            };
            Json::object([("targets", targets.iter().map(target).collect::<Json>())])
        });
        Json::object([
            ("name", Json::from(self.name.as_str())),
            ("description", Json::from(self.description.as_str())),
            ("kind", Json::from(self.kind.as_str())),
            ("parameters", self.parameters.clone()),
            ("http", Json::from(http)),
            ("transfer", Json::from(transfer)),
        ])
    }
}
