//! The public interface, as a client uses it.

use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use reqwest::RequestBuilder;
use reqwest::header::ACCEPT;
use serde_json::Value;

/// How long one request may take.
const LIMIT: Duration = Duration::from_secs(15);

/// A client with its key.
pub(crate) struct Api {
    http: reqwest::Client,
    base: String,
    key: String,
}

impl Api {
    pub(crate) fn new(base: String, key: String) -> anyhow::Result<Self> {
        Ok(Self {
            http: crate::parts::http_client()?,
            base,
            key,
        })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let request = self.http.get(format!("{}{path}", self.base));
        self.exchange(request).await
    }

    /// `doing` is what an error says that this was for.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: Value,
        doing: &'static str,
    ) -> anyhow::Result<Value> {
        let request = self.http.post(format!("{}{path}", self.base));
        self.exchange(request.json(&body)).await.context(doing)
    }

    pub(crate) async fn put(
        &self,
        path: &str,
        body: Value,
        doing: &'static str,
    ) -> anyhow::Result<Value> {
        let request = self.http.put(format!("{}{path}", self.base));
        self.exchange(request.json(&body)).await.context(doing)
    }

    /// What is at a path, as it is.
    pub(crate) async fn bytes(&self, path: &str) -> anyhow::Result<Bytes> {
        let request = self.http.get(format!("{}{path}", self.base));
        let response = request.bearer_auth(&self.key).timeout(LIMIT).send().await?;
        Ok(accepted(response).await?.bytes().await?)
    }

    /// Opens a stream of server-sent events.
    pub(crate) async fn stream(&self, path: &str) -> anyhow::Result<reqwest::Response> {
        let request = self.http.get(format!("{}{path}", self.base));
        let request = request.header(ACCEPT, "text/event-stream");
        accepted(request.bearer_auth(&self.key).send().await?).await
    }

    async fn exchange(&self, request: RequestBuilder) -> anyhow::Result<Value> {
        let response = request.bearer_auth(&self.key).timeout(LIMIT).send().await?;
        let body = accepted(response).await?.bytes().await?;
        serde_json::from_slice(&body).context("the answer is not JSON")
    }
}

/// The error's own words for anything but success.
async fn accepted(response: reqwest::Response) -> anyhow::Result<reqwest::Response> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = response.bytes().await.unwrap_or_default();
    let envelope: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (code, message) = (envelope["error"].as_str(), envelope["message"].as_str());
    bail!(
        "{} {}: {}",
        status.as_u16(),
        code.unwrap_or("?"),
        message.unwrap_or("?")
    );
}
