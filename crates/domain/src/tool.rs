//! Tools: the actions of an agent besides speaking.

mod read;

#[cfg(test)]
mod tests;

use crate::E164;
use crate::agent::vocabulary;
use crate::json::{Json, Result};

/// Tools per account at most.
pub const TOOLS_AT_MOST: i64 = 64;

/// The replacement for a header's value in responses.
pub const HIDDEN: &str = "***";

vocabulary! {
    /// What a tool does.
    ToolKind {
        /// Sends a request to a server of the account.
        Http => "http",
        /// Ends the call.
        EndCall => "end_call",
        /// Transfers the customer to one of its targets.
        Transfer => "transfer",
        /// Sends tones.
        Dtmf => "dtmf",
        /// Calls functions of a server that speaks the Model Context Protocol.
        Mcp => "mcp",
    }
}

vocabulary! {
    /// The HTTP method of a tool's request.
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
    /// Returns whether arguments go to the query, not to the body.
    #[must_use]
    pub const fn asks_by_query(self) -> bool {
        matches!(self, Self::Get | Self::Delete)
    }
}

/// A tool: all fields of its object except the id and the times. Header values are stored separately.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name for models; unique in the account.
    pub name: String,
    /// The description for models.
    pub description: String,
    /// The type of the tool.
    pub kind: ToolKind,
    /// The JSON Schema of its arguments.
    pub parameters: Json,
    /// The request of an `http` tool, or what is the same in each request of an `mcp` tool.
    pub http: Option<HttpRequest>,
    /// The targets of a `transfer` tool.
    pub targets: Option<Vec<TransferTarget>>,
    /// The functions of its server that an `mcp` tool offers.
    pub functions: Vec<String>,
    /// The server's words about each of them, in a tool that is pinned. They are stored, but not part of responses.
    pub described: Vec<Described>,
    /// The function of a connected application that an `http` tool calls, if it is one: `<toolkit>.<function>`. Only
    /// the service sets it; it is stored and pinned, but not part of responses.
    pub function: Option<String>,
}

/// The request of an `http` tool.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRequest {
    /// The HTTP method.
    pub method: HttpMethod,
    /// The URL, without placeholders.
    pub url: String,
    /// The names of the headers.
    pub headers: Vec<String>,
    /// The time limit, 100–10,000 ms.
    pub timeout_ms: i64,
}

/// A server's words about one of its functions.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// The description for models.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Json,
}

/// A target of a `transfer` tool.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferTarget {
    /// The name for models.
    pub name: String,
    /// The phone number.
    pub to: E164,
}

/// A header's name and value.
pub type Header = (String, String);

impl Tool {
    /// Parses a client's tool and the values of its headers. `kept` are the stored values: a header with the value
    /// `***` keeps its stored one. Returns the first error in the field order, then the first unknown field. The caller
    /// checks the URL, and whether `parameters` is a valid schema.
    pub fn from_json(json: &Json, kept: &[Header]) -> Result<(Self, Vec<Header>)> {
        read::tool(json, kept)
    }

    /// Applies a merge patch (RFC 7396), and returns the tool with the values of its headers. Returns errors like
    /// [`Tool::from_json`].
    pub fn merge(&self, patch: &Json, kept: &[Header]) -> Result<(Self, Vec<Header>)> {
        read::merged(self, patch, kept)
    }

    /// Parses the text from [`Tool::to_stored`]. Fails if the text is no tool.
    pub fn from_stored(text: &str) -> Result<Self, crate::JsonError> {
        Ok(read::stored(&Json::parse(text.as_bytes())?)?)
    }

    /// Returns the text to store: all fields, including the application's function.
    #[must_use]
    pub fn to_stored(&self) -> String {
        let mut json = self.to_json();
        if let (Json::Object(members), Some(function)) = (&mut json, &self.function) {
            members.push((read::FUNCTION.to_owned(), Json::from(function.as_str())));
        }
        if let (Json::Object(members), false) = (&mut json, self.described.is_empty()) {
            let described = self.described.iter().map(|function| {
                Json::object([
                    ("description", Json::from(function.description.as_str())),
                    ("parameters", function.parameters.clone()),
                ])
            });
            members.push((read::DESCRIBED.to_owned(), described.collect()));
        }
        json.to_compact()
    }

    /// Returns the name by which models call a function of the tool's server.
    #[must_use]
    pub fn name_of(&self, function: &str) -> String {
        read::name_of(&self.name, function)
    }

    /// Returns all fields except the id and the times, in order; header values are hidden.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let http = self.http.as_ref().map(|http| {
            let headers = http.headers.iter();
            let headers = headers.map(|name| (name.as_str(), Json::from(HIDDEN)));
            let mut members = vec![
                ("method", Json::from(http.method.as_str())),
                ("url", Json::from(http.url.as_str())),
                ("headers", Json::object(headers)),
                ("timeout_ms", Json::from(http.timeout_ms)),
            ];
            if self.kind == ToolKind::Mcp {
                let names = self.functions.iter().map(|name| Json::from(name.as_str()));
                members.splice(..1, []);
                members.push(("functions", names.collect()));
            }
            Json::object(members)
        });
        let (http, mcp) = match self.kind {
            ToolKind::Mcp => (None, http),
            _ => (http, None),
        };
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
            ("mcp", Json::from(mcp)),
        ])
    }
}
